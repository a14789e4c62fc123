import type { AuditEvent, AuditEventType, AuditOutcome, DiscoveryContext } from "../contracts/index.ts";
import { isNeverAborted, orAbort, quietly } from "../internal/index.ts";
import { graceMs, type Ports } from "./call-port.ts";
import { OutdatedReadsError } from "./kernel-error.ts";
import type { AuditSink, CallOptions, DecisionChoice, DecisionLedger } from "./ports.ts";

/** The fields of one event that its context does not give. */
export type AuditFacts = { type: AuditEventType; outcome: AuditOutcome } & Partial<
  Pick<
    AuditEvent,
    "resource" | "action" | "grantId" | "tool" | "operationId" | "messageId" | "receiver" | "reason" | "metadata"
  >
>;

/**
 * Records one event before anything happens because of it; `facts` is called only when there is an audit log.
 * False when the sink refused, which is reported to `onAuditError`: what has not happened yet must not happen then. Throws the
 * signal's reason when the caller goes before the sink has answered.
 */
export function record(
  ports: Ports,
  context: DiscoveryContext,
  facts: () => AuditFacts,
  signal: AbortSignal,
  call?: CallOptions,
): boolean | Promise<boolean> {
  if (ports.audit === "none") {
    signal.throwIfAborted();
    return true;
  }
  const recording = store(ports, ports.audit, auditEvent(context, facts()), call);
  return isNeverAborted(signal) ? recording : unlessAborted(recording, signal);
}

async function unlessAborted<T>(recording: Promise<T>, signal: AbortSignal): Promise<T> {
  const recorded = await orAbort(recording, signal);
  signal.throwIfAborted();
  return recorded;
}

/**
 * Lets a ledger store the first of these choices that it can. Returns undefined, and reports the error to `onAuditError`, when the
 * ledger stored none. Throws like `record`, and the `OutdatedReadsError` of a ledger.
 */
export function recordChoice(
  ports: Ports,
  ledger: DecisionLedger,
  choices: readonly DecisionChoice[],
  call: CallOptions & { signal: AbortSignal },
): Promise<number | undefined> {
  const recording = choose(ports, ledger, choices, call);
  return isNeverAborted(call.signal) ? recording : unlessAborted(recording, call.signal);
}

async function choose(
  ports: Ports,
  ledger: DecisionLedger,
  choices: readonly DecisionChoice[],
  call: CallOptions,
): Promise<number | undefined> {
  try {
    const place = await ledger.decide(choices, call);
    if (choices[place] === undefined) throw new TypeError("The ledger named no choice.");
    return place;
  } catch (error) {
    if (error instanceof OutdatedReadsError) throw error;
    for (const { event } of choices.slice(0, 1)) quietly(() => ports.onAuditError?.(error, event));
    return undefined;
  }
}

/**
 * Records an event about something that has happened. Nothing is thrown, because the effect cannot be undone. Once the caller has
 * gone, the sink gets only a short grace; it may still store the event later.
 */
export function recordOutcome(
  ports: Ports,
  context: DiscoveryContext,
  facts: () => AuditFacts,
  signal: AbortSignal,
  call?: CallOptions,
): undefined | Promise<unknown> {
  if (ports.audit === "none") return undefined;
  const event = auditEvent(context, facts());
  const recording = store(ports, ports.audit, event, call);
  if (isNeverAborted(signal)) return recording;
  return orAbort(recording, signal, graceMs).catch((error: unknown) =>
    quietly(() => ports.onAuditError?.(error, event)),
  );
}

/** False when the sink refused the event. The operator is told even when the caller no longer waits. */
async function store(
  ports: Ports,
  sink: AuditSink,
  event: AuditEvent,
  call: CallOptions | undefined,
): Promise<boolean> {
  try {
    await sink.record(event, call);
    return true;
  } catch (error) {
    quietly(() => ports.onAuditError?.(error, event));
    return false;
  }
}

export function auditEvent(context: DiscoveryContext, facts: AuditFacts): AuditEvent {
  const { now: at, traceId, namespaceId, actor, authority, owner, purpose, executionId, triedBy, askedBy } = context;
  // The facts come last: an object literal that begins with a spread costs twenty times as much.
  const id = crypto.randomUUID();
  const event: AuditEvent = { id, version: 1, at, traceId, namespaceId, actor, owner, purpose, ...facts };
  if (authority !== undefined) event.authority = authority;
  if (executionId !== undefined) event.executionId = executionId;
  // INVARIANT: every row says who caused it besides the actor, so that no actor is shown as having tried what another did.
  if (triedBy !== undefined) event.metadata = { ...event.metadata, triedBy };
  if (askedBy !== undefined) event.metadata = { ...event.metadata, askedBy };
  return event;
}
