import type { Grant } from "turnpike/contracts";
import {
  actText,
  capabilityText,
  constraintsText,
  droppedTexts,
  grantText,
  nameText,
  closedText,
  partiesNote,
  requestText,
  visibleText,
  wantsText,
  whoText,
} from "../display/index.ts";
import type { AdminOutput, EscalationRecord } from "../admin-contract/index.ts";
import { argumentsText, shortText, wrapText } from "./act-text.ts";
import { sameHost, type OperatorFlags } from "./connection.ts";
import { hintLine } from "./format.ts";
import { terminalColumns } from "./table.ts";
import { eventLine, stateText } from "./timeline.ts";

type ShownEscalation = AdminOutput<"showEscalation">;

/** Which escalation is shown, and how much of it. */
export interface ShowFlags extends OperatorFlags {
  tenant: string;
  full?: boolean;
}

/** The terms of what an approval would allow: owner, authority, purpose, and what else was requested. */
export function termsText({ reviewer, authority, purpose, requestedAuthority }: EscalationRecord): string {
  const { purposes: _purposes, ...others } = requestedAuthority?.constraints ?? {};
  const terms = [
    `of ${whoText(requestedAuthority?.owner ?? reviewer)}`,
    `by ${whoText(authority)}`,
    `for ${nameText(purpose)}`,
    constraintsText(others),
  ];
  return terms.filter(Boolean).join(", ");
}

/** Who may do what now, or that another person has to approve, too; of an act, its arguments. */
export function approvedText(answer: AdminOutput<"approveEscalation">): string {
  const { approval } = answer.escalation;
  const table = approval === undefined ? "" : argumentsText(approval.act, { isFull: true, columns: columnsOf() });
  return [becameText(answer), ...(table === "" ? [] : [table])].join("\n");
}

/** The same without them. */
export function becameText({ escalation, grant }: AdminOutput<"approveEscalation">): string {
  const { status, requester, approval, permitExpiresAt = "it expires" } = escalation;
  if (status === "pending") {
    const dropped = droppedTexts(escalation).map((text) => visibleText(text));
    return ["Your approval is recorded. One more person has to approve, too.", ...dropped].join("\n");
  }
  const who = `Approved. ${whoText(requester)} may`;
  if (grant !== undefined)
    return visibleText(`${who} ${grantText(grant)}, ${constraintsText(grant.constraints)} (${nameText(grant.id)}).`);
  const does = approval === undefined ? "go on" : actText(approval.act);
  return visibleText(`${who} ${does} with exactly these arguments once, until ${permitExpiresAt}.`);
}

/** An escalation for the person who has to answer it: all that it asks for, and what it rests on. */
export function escalationText(shown: ShownEscalation, flags: ShowFlags): string {
  const { escalation } = shown;
  const { status, permitExpiresAt } = escalation;
  const isFull = flags.full === true;
  const isOpen = status === "pending";
  const parts = [
    [
      sentence(statusText(escalation), isFull),
      ...(permitExpiresAt === undefined || status !== "approved"
        ? []
        : [`The approval is good for one use, until ${permitExpiresAt}.`]),
    ].join("\n"),
    requestedText(shown, isFull),
    ...(isOpen ? [approvalsText(shown)] : []),
    ...turnPart(shown, isFull),
    ...(isOpen ? [answerCommands(shown, flags)] : []),
    ...(status === "approved" ? [withdrawCommand(escalation, flags)] : []),
  ];
  return parts.join("\n\n");
}

/** What an approval is to: who wants what, why, with which arguments, and the grant that it rests on. */
export function requestedText({ escalation, grant }: ShownEscalation, isFull: boolean): string {
  const { requester, approval, requestedAuthority, reason } = escalation;
  const say = (text: string): string => sentence(text, isFull);
  const parties = partiesNote(escalation);
  const wants = approval === undefined && requestedAuthority !== undefined ? "be allowed to " : "";
  const parts = [
    [
      say(`${whoText(requester)} wants to ${wants}${wantsText(escalation)}`),
      say(termsText(escalation)),
      say(`Because: ${reason}`),
      ...(parties === "" ? [] : [say(parties)]),
    ].join("\n"),
    ...(approval === undefined ? [] : [argumentPart(approval.act, isFull)]),
    ...(approval === undefined ? [] : [say(`It needs ${requestText(approval.request)}.`)]),
    ...(grant === undefined ? [] : [grantPart(grant, isFull)]),
  ];
  return parts.join("\n\n");
}

/** Whether not all of what an approval is to is shown, unless all of it is asked for. */
export function isCut(shown: ShownEscalation): boolean {
  return requestedText(shown, false) !== requestedText(shown, true);
}

/** A foreign text on lines that fit, cut where it is long unless all of it is asked for. */
function sentence(text: string, isFull: boolean): string {
  return wrapText(isFull ? visibleText(text) : shortText(text), columnsOf());
}

function columnsOf(): number {
  return terminalColumns() ?? usualColumns;
}

function statusText(escalation: EscalationRecord): string {
  const { id, namespaceId, status, expiresAt, decidedAt = "", answer = "", approvals = [], closed } = escalation;
  const by = approvals.length === 0 ? "" : ` by ${approvals.map((one) => whoText(one.by)).join(" and ")}`;
  const became: Readonly<Record<EscalationRecord["status"], string>> = {
    pending: `waits until ${expiresAt}.`,
    approved: `was approved ${decidedAt}${by}.`,
    denied: `was denied ${decidedAt}: ${answer}`,
    expired: closed === undefined ? `expired ${expiresAt}.` : `was closed ${closed.at}: ${closedText(closed)}.`,
    withdrawn: `was approved ${decidedAt}${by}, and the approval was withdrawn ${withdrawnText(escalation)}`,
  };
  return `${id} of ${namespaceId} ${became[status]}`;
}

function withdrawnText({ withdrawal }: EscalationRecord): string {
  if (withdrawal === undefined) return "since.";
  const { by, at, reason } = withdrawal;
  return `${at} by ${whoText(by)}${reason === undefined ? "." : `: ${reason}`}`;
}

type Approval = NonNullable<EscalationRecord["approval"]>;

function argumentPart(act: Approval["act"], isFull: boolean): string {
  const table = argumentsText(act, { isFull, columns: columnsOf() });
  return table === "" ? "It has no arguments." : `With exactly these arguments:\n${table}`;
}

const usualColumns = 100;

/** What the grant says that an act rests on, or that an approval issued. */
function grantPart({ id, issuer, capabilities, constraints, revokedAt }: Grant, isFull: boolean): string {
  const revoked = revokedAt === undefined ? "" : `, revoked ${revokedAt}`;
  const terms = constraintsText(constraints);
  return [
    sentence(
      `The grant ${nameText(id)} of ${whoText(issuer)}${revoked} says: ${terms === "" ? "no other terms" : terms}`,
      isFull,
    ),
    ...capabilities.map((capability) => `  ${sentence(capabilityText(capability), isFull)}`),
  ].join("\n");
}

/** Who approved so far, and how many have to. */
function approvalsText({ escalation, approvalsNeeded }: ShownEscalation): string {
  const { approvals = [] } = escalation;
  const needed = approvalsNeeded === 1 ? "One person has to approve." : `${approvalsNeeded} people have to approve.`;
  const given = approvals.map(({ by, at }) => `${whoText(by)} approved ${at}.`);
  const said = [...(given.length === 0 ? ["No one has so far."] : given), ...droppedTexts(escalation)];
  return [needed, ...said.map((text) => visibleText(text))].join(" ");
}

/** The last events of the turn that asked. */
function turnPart({ turn }: ShownEscalation, isFull: boolean): string[] {
  if (turn === undefined) return [];
  const { state, events } = turn;
  const shown = isFull ? events : events.slice(-lastEvents);
  const left = events.length - shown.length;
  const lines = shown.map((event) => eventLine(event, state.startedAt));
  return [
    [
      `Its turn so far: ${stateText(state)}`,
      ...(left === 0 ? [] : [`  ... ${left} earlier: --full shows all.`]),
      ...lines,
    ].join("\n"),
  ];
}

const lastEvents = 10;

/**
 * The answers name the hash of the request. If the escalation changes meanwhile, it is not answered. Where not all of it is
 * shown, there is no command that approves it: an approval is to all of it.
 */
function answerCommands(shown: ShownEscalation, flags: ShowFlags): string {
  const { id, ask } = shown.escalation;
  const isFull = flags.full === true;
  const where = [id, ...sameHost(flags), "--tenant", flags.tenant];
  const lineOf = (verb: string, ...more: string[]): string => `  ${hintLine(["escalation", verb, ...where, ...more])}`;
  const deny = lineOf("deny", "--ask", ask, "--reason", "...");
  if (!isFull && isCut(shown))
    return [
      "Not all of it is shown above. Read the rest before you approve:",
      lineOf("show", "--full"),
      "Or deny it:",
      deny,
    ].join("\n");
  const approve = lineOf("approve", "--ask", ask, ...(isFull && isCut(shown) ? ["--full"] : []));
  return ["Approve or deny exactly this:", approve, deny].join("\n");
}

function withdrawCommand({ id, ask }: EscalationRecord, flags: ShowFlags): string {
  const about = [id, ...sameHost(flags), "--tenant", flags.tenant, "--ask", ask];
  return `Withdraw the approval, unless it was used:\n  ${hintLine(["escalation", "withdraw", ...about])}`;
}
