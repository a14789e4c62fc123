import type { AdminOutput, EscalationRecord } from "turnpike-host/management";
import { momentText } from "../../base/moments.ts";
import { principalText } from "../../base/words.ts";

/** A question with everything that its answer depends on. */
export type ShownQuestion = AdminOutput<"showEscalation">;

/** Who answered an escalation, and what they said. `me` is the credential of who reads this. */
export function outcomeText(escalation: EscalationRecord, me: string | undefined): string {
  const { status, decidedAt, decidedBy, approvals = [], answer, expiresAt } = escalation;
  const at = decidedAt === undefined ? "" : ` at ${momentText(decidedAt)}`;
  const people = approvals.map(({ by }) => principalText(by)).join(" and ");
  const operator = decidedBy === undefined ? "Somebody" : `The operator with credential ${decidedBy}`;
  const who = decidedBy !== undefined && decidedBy === me ? "You" : operator;
  switch (status) {
    case "approved":
      return `${people === "" || who === "You" ? who : people} approved it${at}.`;
    case "denied":
      return `${who} denied it${at}: ${answer ?? "no reason was given"}`;
    case "expired":
      return `Nobody answered it before ${momentText(expiresAt)}. The agent has to request it again.`;
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
  return `The approval was withdrawn at ${momentText(at)} by ${principalText(by)}${why}`;
}

const dropReasons: Readonly<Record<NonNullable<EscalationRecord["dropped"]>[number]["why"], string>> = {
  credential_unknown: "it is not known with which credential it was given",
  credential_revoked: "the credential that it was given with was revoked",
  credential_expired: "the credential that it was given with has expired",
  not_a_reviewer: "the credential that it was given with is no reviewer's of this tenant",
  takes_part: "they tried the act, or asked about it, themselves",
};

/** The approvals that no longer count, and why. */
export function droppedTexts({ dropped = [] }: EscalationRecord): string[] {
  return dropped.map(
    ({ by, at, why }) => `The yes of ${principalText(by)} at ${momentText(at)} no longer counts: ${dropReasons[why]}.`,
  );
}

/** How many people have to say yes, and who has. */
export function approvalsText({ escalation, approvalsNeeded }: ShownQuestion): string | undefined {
  const { approvals = [] } = escalation;
  if (approvalsNeeded <= 1) return undefined;
  const given = approvals.map(({ by, at }) => `${principalText(by)} said yes at ${momentText(at)}.`);
  const left = Math.max(0, approvalsNeeded - approvals.length);
  const open = left === 0 ? [] : [`${left === approvalsNeeded ? "Nobody has so far" : `${left} more is needed`}.`];
  return [`${approvalsNeeded} different people have to say yes.`, ...given, ...open, ...droppedTexts(escalation)].join(
    " ",
  );
}
