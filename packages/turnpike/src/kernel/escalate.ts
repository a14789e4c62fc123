import type { AccessContext, AuthorizationRequest, Escalation, EscalationInput } from "../contracts/index.ts";
import { deepFreeze } from "../internal/index.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { authorizeEffect, namesContextOwner } from "./authorize.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { carryOutEffect } from "./effect.ts";
import { mintAuthorityRequest } from "./required-authority.ts";
import type { EscalationRef } from "./ports.ts";
import { checkTurnCall, type RunningTurn } from "./running-turn.ts";
import type { BlockedReason } from "./call-check.ts";

/** The outcome of an attempt to escalate. */
export type EscalationOutcome =
  | { kind: "pending"; escalation: Escalation; reference?: EscalationRef | undefined }
  | { kind: "refused"; reason: BlockedReason | NotStoredReason | "tool_unavailable" };

/** Why an escalation that was allowed is not in the queue. */
type NotStoredReason = "escalation_unavailable" | "too_many_escalations";

const toEscalate: AuthorizationRequest = deepFreeze({
  action: "request",
  resource: { namespace: "service", path: ["escalation"] },
});
/** The tool namespace of the affordance to escalate. */
const escalationNamespace = "service";

/**
 * Consumes the capability to escalate, and puts the escalation to the owner into the queue. Nothing is thrown once the
 * queue was asked to store it, because it may have.
 */
export async function escalate(
  turn: RunningTurn,
  instant: AccessContext,
  { reason, requestedAuthority: wanted }: EscalationInput,
  signal: AbortSignal,
): Promise<EscalationOutcome> {
  const { ports } = turn.gate;
  signal.throwIfAborted();
  if (!turn.isOpen) return refused("tool_unavailable");
  const check = await checkTurnCall(turn, instant, signal);
  if (check.kind === "blocked") return refused(check.reason);
  if (isSwitchedOff(escalationNamespace, turn.context, check.context)) {
    const hidden: AuditFacts = { type: "authorization.checked", outcome: "denied", reason: "tool_unavailable" };
    const metadata = { hidden: "namespace-disabled" };
    await recordOutcome(ports, instant, () => ({ ...hidden, ...toEscalate, metadata }), signal);
    return refused("tool_unavailable");
  }
  const isOwners = wanted?.capabilities.every(({ resource }) => namesContextOwner(resource, instant)) ?? true;
  const request = isOwners ? toEscalate : undefined;
  const decision = await authorizeEffect(ports, { context: instant, request, view: check.view }, { signal });
  if (decision.kind === "deny") return refusedIn(turn, decision.reason);

  const requestedAuthority = wanted && mintAuthorityRequest(instant, wanted);
  const { owner: reviewer, now: requestedAt } = instant;
  const requested: AuditFacts = {
    type: "escalation.requested",
    outcome: "escalated",
    receiver: reviewer,
    ...(requestedAuthority && { metadata: { authorityRequestId: requestedAuthority.id } }),
  };
  signal.throwIfAborted();
  if (!(await record(ports, instant, () => requested, signal))) return refusedIn(turn, "audit_unavailable");
  const pending: Escalation = { status: "pending", reason, requestedAt, reviewer };
  const escalation = { ...pending, ...(requestedAuthority && { requestedAuthority }) };
  const asked = await enqueue(ports, instant, escalation, signal);
  if (asked.kind === "stored")
    return { kind: "pending", escalation, ...(asked.reference && { reference: asked.reference }) };
  const { reason: notStored, mayBeStored } = asked;
  turn.mayHaveTakenEffect ||= mayBeStored;
  // The audit log says that the owner was asked, so a failed event has to follow.
  await recordOutcome(ports, instant, () => ({ ...requested, outcome: "failed", reason: notStored }), signal);
  return refused(notStored);
}

/** Whether an escalation is in the queue. A queue that was too slow may have stored it after all. */
type Enqueued =
  | { kind: "stored"; reference: EscalationRef | undefined }
  | { kind: "not stored"; reason: NotStoredReason; mayBeStored: boolean };

/** Adds an escalation to the queue. When the caller goes, the queue gets a short time to say whether it stored the escalation. */
async function enqueue(
  ports: Ports,
  context: AccessContext,
  escalation: Escalation,
  signal: AbortSignal,
): Promise<Enqueued> {
  const { escalations } = ports;
  if (escalations === undefined) return { kind: "stored", reference: undefined };
  const end = await carryOutEffect(ports, { signal }, () => escalations.add(context, escalation));
  if (end.kind === "returned") {
    if (end.value === "full") return { kind: "not stored", reason: "too_many_escalations", mayBeStored: false };
    return { kind: "stored", reference: referenceOf(end.value) };
  }
  reportPortError(ports, end.error, { port: "escalations" });
  return { kind: "not stored", reason: "escalation_unavailable", mayBeStored: end.isLate };
}

/** The reference of a stored escalation; undefined when its answer cannot be waited for. */
function referenceOf(answer: unknown): EscalationRef | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, expiresAt } = answer as Partial<EscalationRef>;
  return typeof id === "string" && typeof expiresAt === "string" ? { id, expiresAt } : undefined;
}

function refused(reason: (EscalationOutcome & { kind: "refused" })["reason"]): EscalationOutcome {
  return { kind: "refused", reason };
}

/** INVARIANT: a turn ends when a decision about it could not be recorded, also a turn that would wait for the answer. */
function refusedIn(turn: RunningTurn, reason: BlockedReason): EscalationOutcome {
  if (reason === "audit_unavailable") turn.mustEnd ??= reason;
  return refused(reason);
}

function isSwitchedOff(namespace: string, admitted: AccessContext, now: AccessContext): boolean {
  return admitted.enabledToolNamespaces.includes(namespace) && !now.enabledToolNamespaces.includes(namespace);
}
