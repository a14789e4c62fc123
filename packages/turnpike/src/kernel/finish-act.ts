import {
  ActOutcomeSchema,
  type ActError,
  type ActOutcome,
  type ActState,
  type DiscoveryContext,
} from "../contracts/index.ts";
import { accept, canonicalJson, sha256 } from "../internal/index.ts";
import { actKey, endedState, isGivenBack, isOver, stateOf } from "./act-state.ts";
import type { ActEnd, ActStore, StoredAct } from "./act-store.ts";
import { auditEvent, type AuditFacts } from "./audit.ts";
import type { Ports } from "./call-port.ts";
import { acceptDiscovery } from "./context.ts";
import { KernelError } from "./kernel-error.ts";
import { readState } from "./permits.ts";
import { nothingOf, settle, sumsOf } from "./spending.ts";

/** What an act is found by: the execution that it began with, or else its trace. */
export type ActScope = Pick<ActOutcome, "traceId" | "executionId">;

/**
 * The operation `finishAct`. It decides nothing, so that no outcome is lost because a grant was revoked. Throws a `KernelError` when the
 * actor has no such act, and when another outcome was reported before.
 */
export async function finishAct(
  ports: Ports,
  context: DiscoveryContext,
  id: string,
  reported: ActOutcome,
): Promise<ActState> {
  const { acts, trusted } = accepted(ports, context);
  const outcome = accept(ActOutcomeSchema, reported);
  if (!outcome.ok) throw new KernelError("invalid_request");
  const key = actKey(trusted, { id, ...scopeOf(outcome.value) });
  const report = async (act: StoredAct): Promise<{ end: ActEnd; stored: Awaited<ReturnType<ActStore["finish"]>> }> => {
    requireReserved(outcome.value, act);
    const { end, isFree } = endOf(outcome.value, act, trusted.now);
    const event = ports.audit === "none" ? undefined : eventOf(trusted, id, act, end, isFree);
    const stored = await acts.finish(key, act, { fingerprint: fingerprintOf(outcome.value), end, isFree, event });
    const { reserved } = act.taken;
    if (stored === "stored" && reserved !== undefined)
      await settle(ports, reserved, isFree ? nothingOf(reserved) : sumsOf(outcome.value.spent ?? []));
    return { end, stored };
  };
  const recalled = acts.recall?.(key);
  const act = recalled ?? (await acts.find(key));
  if (act === undefined) throw new KernelError("not_found");
  const { end, stored } = await report(act);
  if (stored === "stored") return endedState(id, end);
  const known = await acts.find(key);
  if (recalled !== undefined && known !== undefined && known.claim !== recalled.claim) {
    // It was given back and has begun anew elsewhere: the outcome is that of the new beginning.
    const anew = await report(known);
    if (anew.stored === "stored") return endedState(id, anew.end);
    if (!anew.stored.isSame) throw new KernelError("outcome_conflict");
    return endedState(id, anew.end);
  }
  if (!stored.isSame) throw new KernelError("outcome_conflict");
  // The report that was stored before may have freed the key, and the act may have begun anew since.
  return known?.claim === act.claim ? stateOf(id, known, trusted.now) : endedState(id, end);
}

/**
 * The operation `getAct`. An act that began comes before one that waits under the same key. Throws a `KernelError` when the actor has
 * no such act.
 */
export async function getAct(ports: Ports, context: DiscoveryContext, id: string, scope: ActScope): Promise<ActState> {
  const { acts, trusted } = accepted(ports, context);
  const key = actKey(trusted, { id, ...scopeOf(scope) });
  const act = await acts.find(key);
  if (act !== undefined && !isGivenBack(act)) return stateOf(id, act, trusted.now);
  const waiting = await waitingState(ports, trusted, id, await acts.findWaiting(key));
  if (waiting !== undefined) return waiting;
  if (act === undefined) throw new KernelError("not_found");
  return stateOf(id, act, trusted.now);
}

/** Where an act is that waits; undefined unless a person is asked about it now. */
async function waitingState(
  ports: Ports,
  { namespaceId, now }: DiscoveryContext,
  id: string,
  requestHash: string | undefined,
): Promise<ActState | undefined> {
  const { permits } = ports;
  if (permits === undefined || requestHash === undefined) return undefined;
  const said = readState(await permits.find(namespaceId, requestHash, now));
  if (said?.kind !== "asked") return undefined;
  const { id: escalationId, expiresAt } = said.escalation;
  return { status: "waiting", id, escalationId, requestHash, expiresAt };
}

function accepted({ acts }: Ports, context: DiscoveryContext): { acts: ActStore; trusted: DiscoveryContext } {
  if (acts === undefined) throw new KernelError("not_found");
  const trusted = acceptDiscovery(context);
  if (trusted === undefined) throw new KernelError("invalid_access_context");
  return { acts, trusted };
}

function scopeOf({ traceId, executionId }: ActScope): ActScope {
  return executionId === undefined ? { traceId } : { executionId };
}

/** Throws a `KernelError` for an outcome that spends in a unit in which nothing was reserved. */
function requireReserved({ spent = [] }: ActOutcome, { taken: { reserved } }: StoredAct): void {
  if (reserved !== undefined && !spent.every(({ unit }) => reserved.units.has(unit)))
    throw new KernelError("invalid_request");
}

/** INVARIANT: what an act took comes back only within its lease. Afterwards it is not known what else was done because of it. */
function endOf(outcome: ActOutcome, act: StoredAct, now: string): { end: ActEnd; isFree: boolean } {
  const isLate = isOver(act, now);
  const common = { completedAt: now, isLate };
  if (outcome.status === "succeeded") {
    const { output } = outcome;
    return { end: { status: "succeeded", ...common, ...(output !== undefined && { output }) }, isFree: false };
  }
  const { error } = outcome;
  const isFree = error?.nothingHappened === true && !isLate;
  return { end: { status: "failed", ...common, ...(error && { error: isLate ? plain(error) : error }) }, isFree };
}

function plain({ code, message }: ActError): ActError {
  return { code, message };
}

function fingerprintOf(outcome: ActOutcome): string {
  const { version: _form, traceId: _trace, executionId: _execution, ...content } = outcome;
  return sha256(canonicalJson(content));
}

/** The event belongs to the context that the act was decided in, whichever credential of the actor reports it. */
function eventOf(
  { namespaceId, actor, now, enabledToolNamespaces }: DiscoveryContext,
  id: string,
  { context, tool, taken }: StoredAct,
  { status, error, isLate }: ActEnd,
  isFree: boolean,
): ReturnType<typeof auditEvent> {
  const facts: AuditFacts = { type: "act.finished", outcome: status, tool, operationId: id };
  const [grantId] = taken.grants;
  if (grantId !== undefined) facts.grantId = grantId;
  if (error !== undefined) facts.reason = error.code;
  if (isLate || isFree) facts.metadata = isFree ? { nothingHappened: true } : { late: true };
  return auditEvent({ namespaceId, actor, now, enabledToolNamespaces, ...context }, facts);
}
