import type { AccessContext, AuthorizationRequest, JsonObject } from "../contracts/index.ts";
import { inactivity, type CompiledGrant, type Inactivity } from "./active.ts";
import type { AuthorityView } from "./authority.ts";
import { momentOf } from "./candidates.ts";
import type { Decision } from "./decide.ts";
import { nearestMismatch, type Mismatch } from "./match.ts";
import type { Refusal } from "./refusal.ts";

/** The first condition that keeps a grant from carrying an act. */
export type Condition = Inactivity | Mismatch | Refusal | "not-admitted";

/** A trail is read by people: a denial names this many grants, those that covered the act first, and counts the rest. */
const maxNamed = 32;

/** For the operator: the grants that were looked at, and the first condition each failed. */
export function denialMetadata(
  view: AuthorityView,
  context: AccessContext,
  request: AuthorizationRequest,
  decision: Decision,
): JsonObject {
  const tried = [...decision.findings.keys()];
  // By id: inside a turn a grant is tried as it was admitted, which may be with fewer uses than it has now.
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
  const { now, purpose } = momentOf(context);
  const known =
    inactivity(grant, now, purpose) ??
    nearestMismatch(grant.grant.capabilities, request, context.owner) ??
    decision.findings.get(grant)?.refusal;
  if (known !== undefined || decision.kind === "allow" || admitted === undefined) return known;
  return decision.findings.has(grant) ? undefined : "not-admitted";
}
