import { closedText, droppedTexts as dropped } from "turnpike-host/display";
import type { AdminOutput, EscalationRecord } from "turnpike-host/admin-contract";
import { instantText } from "../../shared/instants.ts";
import { principalText } from "../../shared/words.ts";

/** An escalation with everything that its answer depends on. */
export type ShownEscalation = AdminOutput<"showEscalation">;

/** Who answered an escalation, and what they said. `me` is the credential of who reads this. */
export function outcomeText(escalation: EscalationRecord, me: string | undefined): string {
  const { status, decidedAt, decidedBy, approvals = [], answer, expiresAt, closed } = escalation;
  const at = decidedAt === undefined ? "" : ` at ${instantText(decidedAt)}`;
  const people = approvals.map(({ by }) => principalText(by)).join(" and ");
  const operator = decidedBy === undefined ? "An operator" : `The operator with credential ${decidedBy}`;
  const who = decidedBy !== undefined && decidedBy === me ? "You" : operator;
  switch (status) {
    case "approved":
      return `${people === "" || who === "You" ? who : people} approved it${at}.`;
    case "denied":
      return `${who} denied it${at}: ${answer ?? "no reason was given"}`;
    case "expired":
      if (closed !== undefined)
        return `Closed at ${instantText(closed.at)}: ${closedText(closed)}. It cannot be answered any more.`;
      return `It was not answered before ${instantText(expiresAt)}. The agent has to request it again.`;
    case "withdrawn":
      return withdrawnText(escalation);
    case "pending":
      return "It waits for an answer.";
  }
}

function withdrawnText({ withdrawal }: EscalationRecord): string {
  if (withdrawal === undefined) return "The approval was withdrawn.";
  const { by, at, reason } = withdrawal;
  const why = reason === undefined ? "." : `: ${reason}`;
  return `The approval was withdrawn at ${instantText(at)} by ${principalText(by)}${why}`;
}

/** The state of an escalation in a word. */
export function stateWord({ status, closed }: EscalationRecord): string {
  return closed === undefined ? status : "closed";
}

/** The approvals that no longer count, and why. */
export function droppedTexts(escalation: EscalationRecord): string[] {
  return dropped(escalation, instantText);
}

/** How many people have to approve it, and who has. */
export function approvalsText({ escalation, approvalsNeeded }: ShownEscalation): string | undefined {
  const { approvals = [] } = escalation;
  if (approvalsNeeded <= 1) return undefined;
  const given = approvals.map(({ by, at }) => `${principalText(by)} approved it at ${instantText(at)}.`);
  const left = Math.max(0, approvalsNeeded - approvals.length);
  const open = left === 0 ? [] : [`${left === approvalsNeeded ? "No one has so far" : `${left} more is needed`}.`];
  return [
    `${approvalsNeeded} different people have to approve it.`,
    ...given,
    ...open,
    ...droppedTexts(escalation),
  ].join(" ");
}
