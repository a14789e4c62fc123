import type { AccessContext, AuthorizationRequest, JsonObject } from "../contracts/index.ts";
import { inactivity, type CompiledGrant, type Inactivity } from "./active.ts";
import type { AuthorityView } from "./authority.ts";
import { instantOf } from "./candidates.ts";
import type { Decision } from "./decide.ts";
import { nearestMismatch, type Mismatch } from "./match.ts";
import type { Refusal } from "./refusal.ts";

/** The first condition that prevents a grant from carrying an act. */
export type Condition = Inactivity | Mismatch | Refusal | "not-admitted";

/** How many grants a denial in the audit log names, first those that covered the act. It counts the others. */
const maxNamed = 32;

/** The grants that were checked and the first condition that each failed, for the operator. */
export function denialMetadata(
  view: AuthorityView,
  context: AccessContext,
  request: AuthorizationRequest,
  decision: Decision,
): JsonObject {
  const tried = [...decision.findings.keys()];
  // Compared by id, because inside a turn the tried object may be a copy with the fewer uses of the admission.
  const ids = new Set(tried.map(({ grant }) => grant.id));
  const grants = [...tried, ...view.current.grants.filter(({ grant }) => !ids.has(grant.id))];
  const named = grants.slice(0, maxNamed).map((grant) => {
    const failed = failedCondition(grant, context, request, decision, view);
    const chain = decision.findings.get(grant)?.chain;
    return {
      grantId: grant.grant.id,
      ...(failed && { failed }),
      ...(chain?.kind === "invalid" && { rule: chain.rule }),
    };
  });
  return { grants: named, ...(grants.length > maxNamed && { omitted: grants.length - maxNamed }) };
}

/** The first condition the grant failed; undefined when it carried the act, or was never needed. */
export function failedCondition(
  grant: CompiledGrant,
  context: AccessContext,
  request: AuthorizationRequest,
  decision: Decision,
  { admitted }: AuthorityView,
): Condition | undefined {
  const { now, purpose } = instantOf(context);
  const known =
    inactivity(grant, now, purpose) ??
    nearestMismatch(grant.grant.capabilities, request, context.owner) ??
    decision.findings.get(grant)?.refusal;
  if (known !== undefined || decision.kind === "allow" || admitted === undefined) return known;
  return decision.findings.has(grant) ? undefined : "not-admitted";
}
