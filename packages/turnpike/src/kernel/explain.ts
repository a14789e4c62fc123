import type { AccessContext, AuthorizationDecision, AuthorizeRequest } from "../contracts/index.ts";
import { acceptAsked, decideOn, type Gate } from "./authorize.ts";
import { acceptContext } from "./context.ts";
import type { ChainVerdict } from "./chain.ts";
import type { Decision } from "./decide.ts";
import { failedCondition, type Condition } from "./diagnose.ts";
import { peek } from "./spend.ts";

/** One grant and what a decision found about it. */
export interface GrantExplanation {
  grantId: string;
  /** The first condition that it failed. Absent for the grant that carried the act, and for grants that were not needed. */
  failed?: Condition;
  /** The walk up its delegation chain, when it was walked. */
  chain?: ChainVerdict;
}

/** A decision and everything that was checked for it. For operators, because it names grants that the caller may not know of. */
export interface Explanation {
  decision: Pick<AuthorizationDecision, "allowed" | "reasonCode" | "matchedGrantId">;
  grants: readonly GrantExplanation[];
  policy: "not-asked" | "kept" | "denied" | "unavailable";
}

/** Decides like `authorize` and returns everything that it checked. Consumes and records nothing. */
export async function explain(
  gate: Gate,
  context: AccessContext,
  request: AuthorizeRequest,
  signal: AbortSignal,
): Promise<Explanation> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return unexplained("invalid_context");
  const { accepted, spends } = acceptAsked(trusted, request);
  if (accepted === undefined) return unexplained("invalid_request");
  const view = await gate.view(trusted, signal);
  if (view === undefined) return unexplained("authority_unavailable");

  const decision = await decideOn(gate.ports, { context: trusted, request: accepted, view, spends }, peek, signal);
  const grants = view.current.grants.map((grant) => {
    const failed = failedCondition(grant, trusted, accepted, decision, view);
    const chain = decision.findings.get(grant)?.chain;
    return { grantId: grant.grant.id, ...(failed && { failed }), ...(chain && { chain }) };
  });
  return { decision: verdict(decision), grants, policy: decision.policy?.kind ?? "not-asked" };
}

function unexplained(reasonCode: string): Explanation {
  return { decision: { allowed: false, reasonCode }, grants: [], policy: "not-asked" };
}

function verdict(decision: Decision): Explanation["decision"] {
  if (decision.kind === "deny") return { allowed: false, reasonCode: decision.reason };
  return { allowed: true, reasonCode: "allowed", matchedGrantId: decision.grant.grant.id };
}
