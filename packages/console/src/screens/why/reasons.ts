import type { AdminExplanation } from "turnpike-host/admin-contract";
import type { Grant, PrincipalRef } from "turnpike/contracts";
import { instantText } from "../../shared/instants.ts";
import { aboutText, capabilityText, decidedText, listText, principalText } from "../../shared/words.ts";

/** Why a grant that covers an act does not carry it, for an operator who never saw the code. */
const refusals: Readonly<Record<string, string>> = {
  "not-admitted": "It was not there when the turn began, and a turn never gains what came later.",
  delegation_chain_invalid: "Something above it no longer holds.",
  delegation_chain_unverified: "The grants above it could not be read.",
  host_policy_denied: "The policy of this host says no.",
  host_policy_unavailable: "The policy of this host gave no answer.",
  grant_exhausted: "It has been used as often as it may be.",
  usage_store_unavailable: "Its uses could not be counted.",
  approval_required: "A person has to approve exactly this act.",
  approval_denied: "A person denied this act.",
  approval_expired: "This act was not approved in time.",
  permit_store_unavailable: "What people said about this act could not be read.",
};

/** What else a decision can mean, and what to do about it. */
const reasons: Readonly<Record<string, string>> = {
  allowed: "A grant covers it.",
  no_matching_grant: "No grant covers it.",
  authority_unavailable: "The grants could not be read. Try again.",
  audit_unavailable: "It could not be written to the audit log. Try again.",
  invalid_request: "That act is not possible.",
  invalid_context: "The context is invalid.",
  tool_unavailable: "The tool was not there for this actor.",
};

function reasonText(code: string): string {
  const refusal = refusals[code];
  return reasons[code] ?? (refusal === undefined ? `The host says: ${code}.` : `A grant covers it, but: ${refusal}`);
}

/** The verdict in one large word, the tone of it, and the reason in a sentence. */
export function verdictOf({ allowed, reasonCode }: AdminExplanation["decision"]): {
  word: string;
  tone: "good" | "bad" | "wait";
  reason: string;
} {
  const reason = reasonText(reasonCode);
  if (allowed) return { word: "Allowed", tone: "good", reason };
  return reasonCode === "approval_required"
    ? { word: "Waits for an approval", tone: "wait", reason }
    : { word: "Denied", tone: "bad", reason };
}

/** Who would do what, as one sentence that the verdict answers. */
export function actText({ decision, access, request, recorded }: AdminExplanation): string {
  const { actor, owner, authority, purpose } = access;
  if (request === undefined)
    return `${principalText(actor)} may not call ${recorded?.tool ?? "this tool"}, for ${purpose}.`;
  const [who, whose, by] = [principalText(actor), principalText(owner), principalText(authority)];
  const act = decidedText(request, owner);
  const grants = by === whose ? "" : `, on grants of ${by}`;
  const isByYes = decision.reasonCode === "approval_required";
  const verb = decision.allowed || isByYes ? "may" : "may not";
  return `${who} ${verb} ${act}${grants}, for ${purpose}${isByYes ? ", once a person approves it" : ""}.`;
}

type Considered = AdminExplanation["grants"][number];

/** Why a grant stopped where it did, in a sentence about this grant and this act. */
export function becauseText({ grant, failed, rule }: Considered, explanation: AdminExplanation): string {
  const { request, access } = explanation;
  const { purposes = [], notBefore, expiresAt } = grant.constraints;
  const near = grant.capabilities.filter(({ resource }) => resource.namespace === request?.resource.namespace);
  switch (failed) {
    case undefined:
      return grant.id === explanation.decision.matchedGrantId ? "It allows this." : "It was not needed.";
    case "not-issued":
      return `It is issued only at ${instantText(grant.issuedAt)}.`;
    case "not-yet-valid":
      return `It begins only at ${instantText(notBefore ?? grant.issuedAt)}.`;
    case "expired":
      return `It ended at ${instantText(expiresAt ?? grant.issuedAt)}.`;
    case "revoked":
      return `It was revoked${grant.revokedAt === undefined ? "" : ` at ${instantText(grant.revokedAt)}`}.`;
    case "purpose":
      return `It is for ${listText(purposes, "or")} alone, not for ${access.purpose}.`;
    case "namespace":
      return `It is about ${listText(distinct(grant.capabilities, ({ resource }) => resource.namespace))}, not about ${request?.resource.namespace}.`;
    case "owner":
      return `It is about what is ${listText(distinct(near, ({ resource }) => ownerText(resource.owner ?? access.owner)))}, not ${ownerText(request?.resource.owner ?? access.owner)}.`;
    case "action":
      return `There it allows to ${listText([...new Set(near.flatMap(({ actions }) => actions))])}, not to ${request?.action}.`;
    case "path":
      return `It covers ${listText(near.map(capabilityText))}, and ${request && aboutText({ resource: request.resource })} lies outside of that.`;
    default:
      return `${refusals[failed] ?? `The host says: ${failed}.`}${rule === undefined ? "" : ` (${rule})`}`;
  }
}

function distinct(capabilities: Grant["capabilities"], of: (one: Grant["capabilities"][number]) => string): string[] {
  return [...new Set(capabilities.map(of))];
}

function ownerText(owner: PrincipalRef): string {
  return `${principalText(owner)}'s`;
}
