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

/** How a run of a turn ended: with the turn, or with questions that the turn waits for. */
export type RunEnd = { kind: "ended"; ending: Ending; scope: TurnScope | undefined } | Waiting;

/** The turn waits for any of its questions, of which its state shows the first. */
interface Waiting {
  kind: "waiting";
  escalation: Escalation;
}

/** Made once, because an error with its stack costs more than a decision, and frozen, because plugins of all turns see it. */
const turnHasEnded = Object.freeze(new Error("The turn has ended."));

/** Admits and runs the turn; nothing of it goes on afterwards. Rejects with a `TurnPause` when it goes on another time. */
export async function runToEnd(executor: Executor, run: Run): Promise<RunEnd> {
  const { request, deadline, journal } = run;
  let scope: TurnScope | undefined;
  let ended: Ending | Waiting;
  try {
    const admission = await orAbort(admit(executor, run), deadline.signal);
    if (admission.kind === "refused") {
      const { reason } = admission;
      if (isPassing(reason, run.goesOn)) throwIfAsync(run, reason);
      // Nobody said no to a turn that cannot go on.
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
  if (journal?.book.failure !== undefined) {
    throwIfAsync(run, "audit_unavailable", journal.book.failure.error);
    ended = breakOff(run, "audit_unavailable");
  }
  if ("kind" in ended) return ended;
  // A turn that is not admitted again has no scope, and did what it did all the same.
  const hadEffect = scope?.mayHaveTakenEffect ?? journal?.replay.earlier?.mayHaveTakenEffect;
  return { kind: "ended", ending: withTruthfulRetry(ended, hadEffect === true), scope };
}

/** A pause that something caused is a journal that could not be written: nobody has cancelled that turn. */
function endOfStop(run: Run, reason: unknown): Ending {
  const isUnkept = reason instanceof TurnPause && reason.cause !== undefined;
  return isUnkept ? breakOff(run, "audit_unavailable") : endWith("cancelled", "turn_cancelled");
}

/**
 * Reasons for which an asynchronous turn tries again later instead of ending. What a turn that goes on was admitted with
 * could be read once: that it cannot be read now is an outage too.
 */
function isPassing(reason: string, goesOn: boolean): boolean {
  if (goesOn && (reason === "delegation_chain_unverified" || reason === "usage_store_unavailable")) return true;
  return reason === "audit_unavailable" || reason === "authority_unavailable";
}

/** An asynchronous turn that cannot go on now goes on another time: nothing of this run does. */
export function throwIfAsync({ journal, deadline }: Run, why: string, cause?: unknown): void {
  if (journal?.pen.turn.isAsync !== true) return;
  const pause = cause instanceof TurnPause ? cause : new TurnPause(`The turn cannot go on now: ${why}.`, { cause });
  deadline.close(pause);
  // What a runtime that only thinks was given already is not lost.
  journal.book.keep().catch(() => {});
  journal.pen.close?.(pause);
  throw pause;
}

type Admitted =
  | { kind: "admitted"; scope: TurnScope }
  | { kind: "refused"; reason: ErrorCode; error?: ErrorObject; said?: { metadata: JsonObject } };

/** Admits a new turn, or one that goes on, if this runtime can go on with it. */
async function admit(executor: Executor, run: Run): Promise<Admitted> {
  const { kernel, runtime, manifest } = executor;
  const { request, context, offered, journal, deadline } = run;
  deadline.signal.throwIfAborted();
  const mismatch = contextMismatch(request, context);
  if (mismatch !== undefined) return { kind: "refused", reason: mismatch };
  const { agent, message, state, metadata } = request;
  const turn = { agent, message, state, metadata, tools: offered };
  if (journal === undefined) return kernel.admitTurn(context, turn, deadline);

  const { pen, book, replay } = journal;
  if (run.goesOn) {
    if (!pen.turn.isAsync) return { kind: "refused", reason: "turn_interrupted" };
    const began = pen.turn.runtime;
    if (began.id !== manifest.id || !canResume(runtime, began.version))
      return {
        kind: "refused",
        reason: "turn_interrupted",
        said: { metadata: { runtimes: { began, now: manifest } } },
      };
  }
  // An answer may bring an admission by another grant, of which a use is taken too.
  const mayTakeUse = replay.earlier === undefined || replay.earlier.isAnswered;
  const claim = book.claimFor(mayTakeUse ? { kind: "admitting" } : undefined);
  const { signal } = deadline;
  const admission = await kernel.admitTurn(
    context,
    { ...turn, goesOn: replay.earlier && { ...replay.earlier, began: beginningOf(pen.turn) } },
    { signal, claim },
  );
  // With the end of a turn that was refused, or with what it was admitted with.
  book.join(claim);
  if (admission.kind === "refused") return admission;
  book.add({ kind: "admitted", admission: admission.scope.admission() });
  if (replay.events.length === 0) run.events.append("turn.started", { runtime: manifest, limits: run.limits });
  // Where writes keep their order, no call is made before it is durable: whoever only thinks may do so meanwhile.
  if (runtime.onlyThinks !== true || !book.isOrdered) await book.keep();
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
 * How a turn ends that has lost what it cannot go on without. One that was begun in a journal keeps its id: whoever asks for it
 * again is told how it ended, or that it was interrupted, and nothing is tried again.
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
  // A turn that could not go on afterwards neither waits nor pauses: it has until its process ends.
  const mayStop = journal?.pen.turn.isAsync === true && canResume(runtime, manifest.version);
  const pauses = mayStop ? journal.pen.pauses : undefined;
  const { host, settled } = createTurnHost({
    scope,
    limits,
    events,
    signal,
    clock,
    journal,
    waits: mayStop,
    onlyThinks: runtime.onlyThinks === true,
    pauses,
    onBreak,
    owner: run.context.owner,
    onAsked(questions) {
      asked = questions;
      onBreak();
    },
  });
  if (journal !== undefined) journal.book.steps = 1;
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
  if (journal?.book.failure !== undefined) return breakOff(run, "audit_unavailable");
  const [first] = asked;
  if (first !== undefined) return waitFor(run, first, asked);
  if (outcome === undefined && pauses?.aborted === true) await stopBetweenCalls(run, pauses, settled);
  if (thrown !== undefined) return failWith(executor, thrown.error, request.executionId);
  const read = readOutcome(outcome);
  if (read.kind === "ending") return read.ending;
  if (!scope.tools.some(({ name }) => name === escalationToolName)) return endWith("failed", "tool_unavailable");

  const { input, metadata } = read;
  // Nobody is asked before that is durable for which they are.
  if (journal !== undefined) await orAbort(journal.book.keep(), signal);
  // It follows the signal by itself until the escalation may be in the queue, whose outcome then counts.
  const escalated = await scope.escalate(input, clock(), signal);
  if (escalated.kind === "pending")
    return { status: "escalated", escalation: escalated.escalation, ...(metadata && { metadata }) };
  const { reason } = escalated;
  if (reason === "credential_revoked" || reason === "audit_unavailable") return breakOff(run, reason);
  if (reason === "invalid_request") return endWith("failed", "invalid_runtime_outcome");
  const isOwn = reason === "escalation_unavailable" || reason === "too_many_escalations";
  return endWith("failed", isOwn ? reason : "tool_unavailable");
}

/** How a turn ends whose runtime threw. */
function failWith(executor: Executor, error: unknown, executionId: string): Ending {
  const isDriver = error instanceof DriverError;
  executor.reportError(isDriver ? error.cause : error, executionId);
  return endWith("failed", isDriver ? "driver_failed" : "runtime_failed");
}

/** Stops a run between two calls: those on their way end first. */
async function stopBetweenCalls(
  { journal, deadline }: Run,
  pauses: AbortSignal,
  settled: () => Promise<unknown> | undefined,
): Promise<never> {
  await orAbort(Promise.resolve(settled()), deadline.signal);
  // What was decided last is not asked for again.
  if (journal !== undefined) await orAbort(journal.book.keep(), deadline.signal);
  throw pauses.reason;
}

/** The run ends with questions: the turn waits, unless nobody could tell it an answer. */
async function waitFor({ journal, deadline }: Run, first: Asked, asked: readonly Asked[]): Promise<Ending | Waiting> {
  const unanswerable = asked.find(({ question }) => question === undefined);
  if (journal === undefined || unanswerable !== undefined)
    return { status: "escalated", escalation: (unanswerable ?? first).escalation };
  journal.book.add(...asked.map((one) => ({ kind: "waiting", ...one }) as const));
  await orAbort(journal.book.keep(), deadline.signal);
  return { kind: "waiting", escalation: first.escalation };
}
