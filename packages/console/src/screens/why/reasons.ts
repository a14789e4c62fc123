import type { AdminExplanation } from "turnpike-host/admin-contract";
import { refusalText } from "turnpike-host/display";
import { decidedText, principalText } from "../../shared/words.ts";

/** What a decision can mean besides the refusals of a grant that covers the act, and what to do about it. */
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
  const refusal = refusalText(code);
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
