import {
  samePrincipal,
  type AccessContext,
  type ErrorCode,
  type ErrorObject,
  type Escalation,
  type JsonObject,
  type TurnRequest,
} from "../contracts/index.ts";
import { orAbort } from "../internal/index.ts";
import { errorObject, type TurnBreak, type TurnScope } from "../kernel/index.ts";
import { escalationToolName } from "./escalate.ts";
import { TurnPause, type TurnToBegin } from "./journal.ts";
import { DriverError, type RuntimePlugin } from "./plugin.ts";
import { endWith, readOutcome, withTruthfulRetry, type Ending } from "./settle.ts";
import type { Asked } from "./run-activity.ts";
import { createTurnHost } from "./turn-host.ts";
import type { Executor, Run } from "./turn-run.ts";

/** How a run of a turn ended: with the turn, or with escalations that the turn waits for. */
export type RunEnd = { kind: "ended"; ending: Ending; scope: TurnScope | undefined } | Waiting;

/** The turn waits for any of its escalations, of which its state shows the first. */
interface Waiting {
  kind: "waiting";
  escalation: Escalation;
}

/** One error for all turns: making an error costs more than a decision. It is frozen, because the plugins of all turns get it. */
const turnHasEnded = Object.freeze(new Error("The turn has ended."));

/** Admits and runs the turn, and aborts what is left of it. Rejects with a `TurnPause` when a later run has to resume the turn. */
export async function runToEnd(executor: Executor, run: Run): Promise<RunEnd> {
  const { request, deadline, journal } = run;
  let scope: TurnScope | undefined;
  let ended: Ending | Waiting;
  try {
    const admission = await orAbort(admit(executor, run), deadline.signal);
    if (admission.kind === "refused") {
      const { reason } = admission;
      if (isPassing(reason, run.resumes)) throwIfAsync(run, reason);
      // The turn was admitted before, so it fails. It is not denied.
      const status = reason === "turn_interrupted" ? "failed" : "denied";
      const refused: Ending = { status, error: admission.error ?? errorObject(reason), ...admission.said };
      ended = reason === "audit_unavailable" ? breakOff(run, reason) : refused;
    } else {
      scope = admission.scope;
      ended = await runAdmitted(executor, run, scope);
    }
  } catch (error) {
    const { aborted, reason } = deadline.signal;
    const pause = [reason, error].find((one) => one instanceof TurnPause);
    if (pause !== undefined) throwIfAsync(run, "it was stopped", pause);
    if (!aborted) executor.reportError(error, request.executionId);
    ended = aborted ? endOfStop(run, reason) : endWith("failed", "runtime_failed");
  }
  deadline.close(turnHasEnded);
  if (journal?.buffer.failure !== undefined) {
    throwIfAsync(run, "audit_unavailable", journal.buffer.failure.error);
    ended = breakOff(run, "audit_unavailable");
  }
  if ("kind" in ended) return ended;
  // A resumed turn that is refused has no scope, but its earlier runs may have had effects.
  const hadEffect = scope?.mayHaveTakenEffect ?? journal?.replay.earlier?.mayHaveTakenEffect;
  return { kind: "ended", ending: withTruthfulRetry(ended, hadEffect === true), scope };
}

/** A pause with a cause means that the journal could not be written: the turn was not cancelled. */
function endOfStop(run: Run, reason: unknown): Ending {
  const isUnwritten = reason instanceof TurnPause && reason.cause !== undefined;
  return isUnwritten ? breakOff(run, "audit_unavailable") : endWith("cancelled", "turn_cancelled");
}

/**
 * Reasons for which an asynchronous turn is resumed later instead of ended. The grants of a resumed turn were read at its
 * admission, so it is an outage when they cannot be read now.
 */
function isPassing(reason: string, resumes: boolean): boolean {
  if (resumes && (reason === "delegation_chain_unverified" || reason === "usage_store_unavailable")) return true;
  return reason === "audit_unavailable" || reason === "authority_unavailable";
}

/** Ends this run of an asynchronous turn, which is resumed later. Does nothing for other turns. */
export function throwIfAsync({ journal, deadline }: Run, why: string, cause?: unknown): void {
  if (journal?.writer.turn.isAsync !== true) return;
  const pause = cause instanceof TurnPause ? cause : new TurnPause(`The turn cannot continue now: ${why}.`, { cause });
  deadline.close(pause);
  // A pure runtime may have got results that are not stored yet. They are stored, so that the next run has them.
  journal.buffer.flush().catch(() => {});
  journal.writer.close?.(pause);
  throw pause;
}

type Admitted =
  | { kind: "admitted"; scope: TurnScope }
  | { kind: "refused"; reason: ErrorCode; error?: ErrorObject; said?: { metadata: JsonObject } };

/** Admits a new turn, or a resumed one if this runtime can resume it. */
async function admit(executor: Executor, run: Run): Promise<Admitted> {
  const { kernel, runtime, manifest } = executor;
  const { request, context, offered, journal, deadline } = run;
  deadline.signal.throwIfAborted();
  const mismatch = contextMismatch(request, context);
  if (mismatch !== undefined) return { kind: "refused", reason: mismatch };
  const { agent, message, state, metadata } = request;
  const turn = { agent, message, state, metadata, tools: offered };
  if (journal === undefined) return kernel.admitTurn(context, turn, deadline);

  const { writer, buffer, replay } = journal;
  if (run.resumes) {
    // A turn whose journal is not understood, or not whole, ends: begun anew, it would do again what it did.
    if (!writer.turn.isAsync || !replay.isKnown || writer.isIncomplete === true)
      return { kind: "refused", reason: "turn_interrupted" };
    const began = writer.turn.runtime;
    if (began.id !== manifest.id || !canResume(runtime, began.version))
      return {
        kind: "refused",
        reason: "turn_interrupted",
        said: { metadata: { runtimes: { began, now: manifest } } },
      };
  }
  // After an answer another grant may admit the turn, and a use of that grant is taken.
  const mayTakeUse = replay.earlier === undefined || replay.earlier.isAnswered;
  const writes = buffer.openScope(mayTakeUse ? { kind: "admitting" } : undefined);
  const { signal } = deadline;
  const admission = await kernel.admitTurn(
    context,
    { ...turn, resumes: replay.earlier && { ...replay.earlier, began: beginningOf(writer.turn) } },
    { signal, writes },
  );
  // The rest of the scope is written with the next entry: the admission, or the end of a refused turn.
  buffer.closeScope(writes);
  if (admission.kind === "refused") return admission;
  buffer.add({ kind: "admitted", admission: admission.scope.admission() });
  if (replay.events.length === 0) run.events.append("turn.started", { runtime: manifest, limits: run.limits });
  // An ordered writer stores the admission before any call, so a pure runtime may start before the admission is durable.
  if (runtime.isPure !== true || !buffer.isOrdered) await buffer.flush();
  return admission;
}

function beginningOf({ context }: TurnToBegin): { at: string; namespaces: string[] } {
  return { at: context.now, namespaces: context.enabledToolNamespaces };
}

function canResume({ resumes }: RuntimePlugin, version: string): boolean {
  try {
    return resumes?.(version) === true;
  } catch {
    return false;
  }
}

function contextMismatch({ agent, message }: TurnRequest, context: AccessContext): ErrorCode | undefined {
  if (!samePrincipal(context.actor, agent)) return "actor_mismatch";
  if (!samePrincipal(message.receiver, agent)) return "receiver_mismatch";
  const isOfContext = message.traceId === context.traceId && message.purpose === context.purpose;
  return isOfContext ? undefined : "message_context_mismatch";
}

/**
 * The end of a turn that lost its audit log or its access. A turn in a journal must not be retried: a second request with
 * its id gets the stored end.
 */
export function breakOff({ journal }: Run, lost: TurnBreak): Ending {
  const ending = endWith(lost === "audit_unavailable" ? "failed" : "denied", lost);
  return withTruthfulRetry(ending, journal !== undefined);
}

/** Runs the plugin inside the envelope. Rejects when the deadline or the caller comes first. */
async function runAdmitted(executor: Executor, run: Run, scope: TurnScope): Promise<Ending | Waiting> {
  const { runtime, manifest, tools } = executor;
  const { request, limits, events, deadline, journal, breaking, onBreak } = run;
  if (journal === undefined) events.append("turn.started", { runtime: manifest, limits });
  const { clock } = tools;
  let asked: readonly Asked[] = [];
  const { signal } = deadline;
  // A turn that could not be resumed neither waits nor pauses. It runs until it ends, or until its process does.
  const mayStop = journal?.writer.turn.isAsync === true && canResume(runtime, manifest.version);
  const pauses = mayStop ? journal.writer.pauses : undefined;
  const { host, settled } = createTurnHost({
    scope,
    limits,
    events,
    signal,
    clock,
    journal,
    waits: mayStop,
    isPure: runtime.isPure === true,
    pauses,
    onBreak,
    owner: run.context.owner,
    onAsked(escalations) {
      asked = escalations;
      onBreak();
    },
  });
  if (journal !== undefined) journal.buffer.steps = 1;
  const turn = Object.freeze({
    ...request,
    tools: scope.tools,
    ...(scope.missing.length > 0 && { missingTools: scope.missing }),
    reach: scope.reach,
    limits,
  });

  let outcome: unknown;
  let thrown: { error: unknown } | undefined;
  try {
    const running = (async () => runtime.run(turn, host, signal))();
    outcome = await orAbort(Promise.race([running, breaking]), signal);
  } catch (error) {
    signal.throwIfAborted();
    thrown = { error };
  }
  if (scope.mustEnd !== undefined) return breakOff(run, scope.mustEnd);
  if (journal?.buffer.failure !== undefined) return breakOff(run, "audit_unavailable");
  const [first] = asked;
  if (first !== undefined) return waitFor(run, first, asked);
  if (outcome === undefined && pauses?.aborted === true) await stopBetweenCalls(run, pauses, settled);
  if (thrown !== undefined) return failWith(executor, thrown.error, request.executionId);
  const read = readOutcome(outcome);
  if (read.kind === "ending") return read.ending;
  if (!scope.tools.some(({ name }) => name === escalationToolName)) return endWith("failed", "tool_unavailable");

  const { input, metadata } = read;
  // The owner is asked only after everything before is durable.
  if (journal !== undefined) await orAbort(journal.buffer.flush(), signal);
  // `escalate` handles the signal: it aborts until the escalation may be in the queue, and then waits for the outcome.
  const escalated = await scope.escalate(input, clock(), signal);
  if (escalated.kind === "pending")
    return { status: "escalated", escalation: escalated.escalation, ...(metadata && { metadata }) };
  const { reason } = escalated;
  if (reason === "credential_revoked" || reason === "audit_unavailable") return breakOff(run, reason);
  if (reason === "invalid_request") return endWith("failed", "invalid_runtime_outcome");
  const isOwn = reason === "escalation_unavailable" || reason === "too_many_escalations";
  return endWith("failed", isOwn ? reason : "tool_unavailable");
}

/** The end of a turn whose runtime threw. */
function failWith(executor: Executor, error: unknown, executionId: string): Ending {
  const isDriver = error instanceof DriverError;
  executor.reportError(isDriver ? error.cause : error, executionId);
  return endWith("failed", isDriver ? "driver_failed" : "runtime_failed");
}

/** Stops a run after the calls that it is making. */
async function stopBetweenCalls(
  { journal, deadline }: Run,
  pauses: AbortSignal,
  settled: () => Promise<unknown> | undefined,
): Promise<never> {
  await orAbort(Promise.resolve(settled()), deadline.signal);
  // The driver's last decisions are stored, so that the next run does not ask for them again.
  if (journal !== undefined) await orAbort(journal.buffer.flush(), deadline.signal);
  throw pauses.reason;
}

/** Lets the turn wait for its escalations. The turn ends instead when one of them could get no answer. */
async function waitFor({ journal, deadline }: Run, first: Asked, asked: readonly Asked[]): Promise<Ending | Waiting> {
  const unanswerable = asked.find(({ reference }) => reference === undefined);
  if (journal === undefined || unanswerable !== undefined)
    return { status: "escalated", escalation: (unanswerable ?? first).escalation };
  journal.buffer.add(
    ...asked.map(({ reference, ...one }) => ({ kind: "waiting", ...one, question: reference }) as const),
  );
  await orAbort(journal.buffer.flush(), deadline.signal);
  return { kind: "waiting", escalation: first.escalation };
}
