import type { AccessContext, AuthorizationRequest, Escalation, EscalationInput } from "../contracts/index.ts";
import { deepFreeze } from "../internal/index.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { authorizeEffect, namesContextOwner } from "./authorize.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { carryOutEffect } from "./effect.ts";
import { mintAuthorityRequest } from "./required-authority.ts";
import type { Question } from "./ports.ts";
import { enterTurn, type RunningTurn } from "./running-turn.ts";
import type { ShutReason } from "./turn-entry.ts";

/** What became of the wish to escalate. */
export type EscalationOutcome =
  | { kind: "pending"; escalation: Escalation; question?: Question | undefined }
  | { kind: "refused"; reason: ShutReason | NotKeptReason | "tool_unavailable" };

/** Why an escalation that was allowed is not in the queue. */
type NotKeptReason = "escalation_unavailable" | "too_many_escalations";

const toEscalate: AuthorizationRequest = deepFreeze({
  action: "request",
  resource: { namespace: "service", path: ["escalation"] },
});
/** The tool namespace of the affordance to escalate. */
const escalationNamespace = "service";

/**
 * Consumes the capability to escalate, and puts the escalation to the owner into the queue. Nothing is thrown once the
 * queue was asked to keep it, because it may have.
 */
export async function escalate(
  turn: RunningTurn,
  moment: AccessContext,
  { reason, requestedAuthority: wanted }: EscalationInput,
  signal: AbortSignal,
): Promise<EscalationOutcome> {
  const { ports } = turn.gate;
  signal.throwIfAborted();
  if (!turn.isOpen) return refused("tool_unavailable");
  const entry = await enterTurn(turn, moment, signal);
  if (entry.kind === "shut") return refused(entry.reason);
  if (isSwitchedOff(escalationNamespace, turn.context, entry.context)) {
    const hidden: AuditFacts = { type: "authorization.checked", outcome: "denied", reason: "tool_unavailable" };
    const metadata = { hidden: "namespace-disabled" };
    await recordOutcome(ports, moment, () => ({ ...hidden, ...toEscalate, metadata }), signal);
    return refused("tool_unavailable");
  }
  const isOwners = wanted?.capabilities.every(({ resource }) => namesContextOwner(resource, moment)) ?? true;
  const request = isOwners ? toEscalate : undefined;
  const decision = await authorizeEffect(ports, { context: moment, request, view: entry.view }, { signal });
  if (decision.kind === "deny") return refusedIn(turn, decision.reason);

  const requestedAuthority = wanted && mintAuthorityRequest(moment, wanted);
  const { owner: reviewer, now: requestedAt } = moment;
  const requested: AuditFacts = {
    type: "escalation.requested",
    outcome: "escalated",
    receiver: reviewer,
    ...(requestedAuthority && { metadata: { authorityRequestId: requestedAuthority.id } }),
  };
  signal.throwIfAborted();
  if (!(await record(ports, moment, () => requested, signal))) return refusedIn(turn, "audit_unavailable");
  const pending: Escalation = { status: "pending", reason, requestedAt, reviewer };
  const escalation = { ...pending, ...(requestedAuthority && { requestedAuthority }) };
  const asked = await enqueue(ports, moment, escalation, signal);
  if (asked.kind === "kept")
    return { kind: "pending", escalation, ...(asked.question && { question: asked.question }) };
  const { reason: notKept, mayBeKept } = asked;
  turn.mayHaveTakenEffect ||= mayBeKept;
  // The trail says that the owner was asked, which has to be taken back.
  await recordOutcome(ports, moment, () => ({ ...requested, outcome: "failed", reason: notKept }), signal);
  return refused(notKept);
}

/** An escalation that is not in the queue, as far as anybody knows: a queue that was too slow may have it after all. */
type Enqueued =
  | { kind: "kept"; question: Question | undefined }
  | { kind: "not kept"; reason: NotKeptReason; mayBeKept: boolean };

/** Adds to the queue like any effect: a caller that goes leaves the queue a moment to say whether it kept it. */
async function enqueue(
  ports: Ports,
  context: AccessContext,
  escalation: Escalation,
  signal: AbortSignal,
): Promise<Enqueued> {
  const { escalations } = ports;
  if (escalations === undefined) return { kind: "kept", question: undefined };
  const end = await carryOutEffect(ports, { signal }, () => escalations.add(context, escalation));
  if (end.kind === "returned") {
    if (end.value === "full") return { kind: "not kept", reason: "too_many_escalations", mayBeKept: false };
    return { kind: "kept", question: questionOf(end.value) };
  }
  reportPortError(ports, end.error, { port: "escalations" });
  return { kind: "not kept", reason: "escalation_unavailable", mayBeKept: end.isLate };
}

/** What the queue said of an escalation that it keeps; undefined when nobody can wait for it. */
function questionOf(answer: unknown): Question | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, expiresAt } = answer as Partial<Question>;
  return typeof id === "string" && typeof expiresAt === "string" ? { id, expiresAt } : undefined;
}

function refused(reason: (EscalationOutcome & { kind: "refused" })["reason"]): EscalationOutcome {
  return { kind: "refused", reason };
}

/** INVARIANT: a turn of which a decision could not be recorded is over, also one that would wait for the answer. */
function refusedIn(turn: RunningTurn, reason: ShutReason): EscalationOutcome {
  if (reason === "audit_unavailable") turn.mustEnd ??= reason;
  return refused(reason);
}

function isSwitchedOff(namespace: string, admitted: AccessContext, now: AccessContext): boolean {
  return admitted.enabledToolNamespaces.includes(namespace) && !now.enabledToolNamespaces.includes(namespace);
}
