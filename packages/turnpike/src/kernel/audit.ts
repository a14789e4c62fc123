import type { AuditEvent, AuditEventType, AuditOutcome, DiscoveryContext } from "../contracts/index.ts";
import { isNeverAborted, orAbort, quietly } from "../internal/index.ts";
import { graceMs, type Ports } from "./call-port.ts";
import type { AuditSink, CallOptions, DecisionChoice, DecisionLedger } from "./ports.ts";

/** What one event says beyond the context it happened in. */
export type AuditFacts = { type: AuditEventType; outcome: AuditOutcome } & Partial<
  Pick<
    AuditEvent,
    "resource" | "action" | "grantId" | "tool" | "operationId" | "messageId" | "receiver" | "reason" | "metadata"
  >
>;

/**
 * Puts one event on the trail before anything happens because of it; `facts` is asked only when there is a trail.
 * False when the sink refused, which `onAuditError` is told: what has not happened yet must not happen then. Throws the
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
  const keeping = keep(ports, ports.audit, auditEvent(context, facts()), call);
  return isNeverAborted(signal) ? keeping : unlessAborted(keeping, signal);
}

async function unlessAborted<T>(keeping: Promise<T>, signal: AbortSignal): Promise<T> {
  const kept = await orAbort(keeping, signal);
  signal.throwIfAborted();
  return kept;
}

/**
 * Has a ledger keep the first of these choices that it can; undefined when it kept none, which `onAuditError` is told. Throws
 * like `record`.
 */
export function recordChoice(
  ports: Ports,
  ledger: DecisionLedger,
  choices: readonly DecisionChoice[],
  call: CallOptions & { signal: AbortSignal },
): Promise<number | undefined> {
  const keeping = choose(ports, ledger, choices, call);
  return isNeverAborted(call.signal) ? keeping : unlessAborted(keeping, call.signal);
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
    for (const { event } of choices.slice(0, 1)) quietly(() => ports.onAuditError?.(error, event));
    return undefined;
  }
}

/**
 * Puts one event on the trail after what it tells of. Nothing is thrown, because what has happened has happened. Once the
 * caller has gone the sink is waited for a moment longer and no more; it may still keep the event later.
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
  const keeping = keep(ports, ports.audit, event, call);
  if (isNeverAborted(signal)) return keeping;
  return orAbort(keeping, signal, graceMs).catch((error: unknown) => quietly(() => ports.onAuditError?.(error, event)));
}

/** False when the sink refused the event, which the operator is told, also when nobody waits for it any more. */
async function keep(ports: Ports, sink: AuditSink, event: AuditEvent, call: CallOptions | undefined): Promise<boolean> {
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
  // INVARIANT: every row says who caused it besides the actor, so that nobody is shown as having tried what they did not.
  if (triedBy !== undefined) event.metadata = { ...event.metadata, triedBy };
  if (askedBy !== undefined) event.metadata = { ...event.metadata, askedBy };
  return event;
}
