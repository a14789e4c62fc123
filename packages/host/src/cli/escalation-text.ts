import type { Grant } from "turnpike/contracts";
import { visibleText } from "../base/index.ts";
import type { AdminOutput, EscalationRecord } from "../management/index.ts";
import { actText, argumentsText, shortText, wrapText } from "./act-text.ts";
import { sameHost, type OperatorFlags } from "./connection.ts";
import { capabilityText, commandLine, constraintsText, principalText, resourceText } from "./format.ts";
import { terminalColumns } from "./table.ts";
import { eventLine, stateText } from "./timeline.ts";

type ShownEscalation = AdminOutput<"showEscalation">;

/** Which escalation is shown, and how much of it. */
export interface ShowFlags extends OperatorFlags {
  tenant: string;
  full?: boolean;
}

/** What an escalation requests, in short form. */
export function wantsText({ approval, requestedAuthority }: EscalationRecord): string {
  if (approval !== undefined) return actText(approval.act);
  return requestedAuthority?.capabilities.map(capabilityText).join("; ") ?? "-";
}

/** The terms of what an approval would allow: owner, authority, purpose, and what else was requested. */
export function termsText({ reviewer, authority, purpose, requestedAuthority }: EscalationRecord): string {
  const { purposes: _purposes, ...others } = requestedAuthority?.constraints ?? {};
  const terms = [
    `of ${principalText(reviewer)}`,
    `by ${principalText(authority)}`,
    `for ${purpose}`,
    constraintsText(others),
  ];
  return terms.filter(Boolean).join(", ");
}

/** Who may do what now, or that somebody else has to say yes, too. */
export function approvedText({ escalation, grant }: AdminOutput<"approveEscalation">): string {
  const { status, requester, approval, permitExpiresAt = "it expires" } = escalation;
  if (status === "pending") return "Your yes is recorded. One more person has to say yes, too.";
  const who = `Approved. ${principalText(requester)} may`;
  if (grant !== undefined) {
    const may = grant.capabilities.map(capabilityText).join("; ");
    return visibleText(`${who} ${may}, ${constraintsText(grant.constraints)} (${grant.id}).`);
  }
  const does = approval === undefined ? "go on" : actText(approval.act);
  return visibleText(`${who} ${does} with exactly these arguments once, until ${permitExpiresAt}.`);
}

/** An escalation for the person who has to answer it: all that it asks for, and what it rests on. */
export function escalationText(shown: ShownEscalation, flags: ShowFlags): string {
  const { escalation, grant } = shown;
  const { requester, approval, reason, status, permitExpiresAt } = escalation;
  const isFull = flags.full === true;
  const columns = terminalColumns() ?? usualColumns;
  const say = (text: string): string => wrapText(isFull ? visibleText(text) : shortText(text), columns);
  const isOpen = status === "pending";
  const wants = [
    say(
      `${principalText(requester)} wants to ${approval === undefined ? "be allowed to " : ""}${wantsText(escalation)}`,
    ),
    say(termsText(escalation)),
    say(`Because: ${reason}`),
  ];
  const parts = [
    [
      say(statusText(escalation)),
      ...(permitExpiresAt === undefined ? [] : [`The yes is good for one use, until ${permitExpiresAt}.`]),
    ].join("\n"),
    wants.join("\n"),
    ...(approval === undefined ? [] : [argumentPart(approval.act, { isFull, columns })]),
    ...(approval === undefined ? [] : [say(`It needs ${needsText(approval.request)}.`)]),
    ...(grant === undefined ? [] : [grantText(grant, say)]),
    ...(isOpen ? [approvalsText(shown)] : []),
    ...turnPart(shown, isFull),
    ...(isOpen && !isFull && isCut(approval?.act, columns) ? [cutWarning] : []),
    ...(isOpen ? [answerCommands(escalation, flags)] : []),
  ];
  return parts.join("\n\n");
}

function statusText(escalation: EscalationRecord): string {
  const { id, namespaceId, status, expiresAt, decidedAt = "", answer = "", approvals = [] } = escalation;
  const by = approvals.length === 0 ? "" : ` by ${approvals.map((one) => principalText(one.by)).join(" and ")}`;
  const became: Readonly<Record<EscalationRecord["status"], string>> = {
    pending: `waits until ${expiresAt}.`,
    approved: `was approved ${decidedAt}${by}.`,
    denied: `was denied ${decidedAt}: ${answer}`,
    expired: `expired ${expiresAt}.`,
  };
  return `${id} of ${namespaceId} ${became[status]}`;
}

type Approval = NonNullable<EscalationRecord["approval"]>;

function argumentPart(act: Approval["act"], shown: Parameters<typeof argumentsText>[1]): string {
  const table = argumentsText(act, shown);
  return table === "" ? "It has no arguments." : `With exactly these arguments:\n${table}`;
}

/** Whether the arguments of an act are longer than what is shown of them. */
function isCut(act: Approval["act"] | undefined, columns: number): boolean {
  if (act === undefined) return false;
  return argumentsText(act, { isFull: false, columns }) !== argumentsText(act, { isFull: true, columns });
}

// A yes is for all arguments, so whoever scrolled past the cut is told again where they decide.
const cutWarning = "Not all arguments are shown above. Read the rest before you say yes: add --full.";

const usualColumns = 100;

function needsText({ action, resource }: Approval["request"]): string {
  return `${action} ${resourceText(resource)}`;
}

/** What the grant says that an act rests on, or that an approval issued. */
function grantText({ id, issuer, capabilities, constraints, revokedAt }: Grant, say: (text: string) => string): string {
  const revoked = revokedAt === undefined ? "" : `, revoked ${revokedAt}`;
  const terms = constraintsText(constraints);
  const lines = [
    `The grant ${id} of ${principalText(issuer)}${revoked} says: ${terms === "" ? "no other terms" : terms}`,
  ];
  return [...lines, ...capabilities.map((capability) => `  ${capabilityText(capability)}`)].map(say).join("\n");
}

/** Who said yes so far, and how many have to. */
function approvalsText({ escalation: { approvals = [] }, approvalsNeeded }: ShownEscalation): string {
  const needed = approvalsNeeded === 1 ? "One person has to say yes." : `${approvalsNeeded} people have to say yes.`;
  const given = approvals.map(({ by, at }) => visibleText(`${principalText(by)} said yes ${at}.`));
  return [needed, ...(given.length === 0 ? ["Nobody has so far."] : given)].join(" ");
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

/** The answers name the hash of the request. If the escalation changes meanwhile, it is not answered. */
function answerCommands({ id, ask }: EscalationRecord, flags: ShowFlags): string {
  const about = [id, ...sameHost(flags), "--tenant", flags.tenant, "--ask", ask];
  return [
    "Say yes or no to exactly this:",
    `  ${commandLine(["turnpike", "escalation", "approve", ...about])}`,
    `  ${commandLine(["turnpike", "escalation", "deny", ...about, "--reason", "..."])}`,
  ].join("\n");
}
