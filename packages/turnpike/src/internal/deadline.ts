import { addWaiter, isNeverAborted, isOwnSignal, LazySignal, ownSignal, removeWaiter } from "./signals.ts";

/** What ran out of time, in words for the operator. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/** How long a call may take, and how much longer once its caller has gone. */
export interface TimeLimit {
  timeoutMs: number;
  graceMs?: number;
  /** What is said when the time is up. */
  late: string;
}

/** What there is to know about a wait besides the work. */
interface Wait {
  caller: AbortSignal;
  graceMs: number;
  limit?: TimeLimit;
  /** Told as soon as nobody waits for the work any more, or only for its grace. */
  onGivenUp?(reason: unknown): void;
}

/** Work that settles within so many rounds of the microtask queue never needs a timer or a listener. */
const patience = 8;

async function waitFor<T>(work: T | PromiseLike<T>, wait: Wait): Promise<T> {
  const promise = Promise.resolve(work);
  const state = { isSettled: false };
  const settle = (): void => {
    state.isSettled = true;
  };
  promise.then(settle, settle);
  for (let round = 0; round < patience && !state.isSettled && !wait.caller.aborted; round += 1) await undefined;
  return state.isSettled ? await promise : await watch(promise, wait);
}

/** Waits for work that takes its time: watches the clock and the caller. */
function watch<T>(work: Promise<T>, { caller, graceMs, limit, onGivenUp }: Wait): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const giveUpAfter = (ms: number, late: string): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const error = new TimeLimitError(late);
        letGo();
        reject(error);
        onGivenUp?.(error);
      }, ms);
    };
    const onAbort = (): void => {
      if (graceMs > 0) giveUpAfter(graceMs, `No answer within ${graceMs} ms after the caller had gone.`);
      else {
        clearTimeout(timer);
        reject(caller.reason);
      }
      onGivenUp?.(caller.reason);
    };
    const letGo = (): void => {
      clearTimeout(timer);
      removeWaiter(caller, onAbort);
    };
    const settleWith =
      <Outcome>(settle: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        letGo();
        settle(outcome);
      };
    work.then(settleWith<T>(resolve), settleWith(reject));
    if (limit !== undefined) giveUpAfter(limit.timeoutMs, limit.late);
    if (caller.aborted) onAbort();
    else addWaiter(caller, onAbort);
  });
}

/**
 * Settles as the work does, or rejects with the signal's reason when that fires first. With `graceMs` the work may still
 * settle for so long after the signal, and then rejects with a `TimeLimitError`. What the work does later is ignored;
 * nothing is left on the signal.
 */
export function orAbort<T>(work: T | PromiseLike<T>, signal: AbortSignal, graceMs = 0): Promise<T> {
  if (isNeverAborted(signal)) return Promise.resolve(work) as Promise<T>;
  const wait = { caller: signal, graceMs };
  // To be told by a signal of our own costs less than to find out whether the work settles soon.
  return isOwnSignal(signal) ? watch(Promise.resolve(work) as Promise<T>, wait) : waitFor(work, wait);
}

/** Waits for a call no longer than it may take, and tells it by its signal when nobody waits any more. */
export async function withinTime<T>(
  limit: TimeLimit,
  caller: AbortSignal,
  call: (signal: LazySignal) => T | PromiseLike<T>,
): Promise<T> {
  const signal = new LazySignal();
  const { graceMs = 0 } = limit;
  return waitFor(call(signal), { caller, graceMs, limit, onGivenUp: (reason) => signal.abort(reason) });
}

/** A time limit and those who may end the work before it, as one signal. */
export interface Deadline {
  /** Fires when the time is up, with a `TimeLimitError`, and when one of the callers' does, with its reason. */
  readonly signal: AbortSignal;
  /** Lets go of timer and callers, and fires the signal if it has not fired. */
  close(reason: Error): void;
}

/** Starts the clock; `late` is what the signal's reason says when the time is up. */
export function openDeadline(timeoutMs: number, callers: readonly AbortSignal[], late: string): Deadline {
  const { signal, abort } = ownSignal();
  const timer = setTimeout(() => abort(new TimeLimitError(late)), timeoutMs);
  const letGo = callers.map((caller) => {
    const onAbort = (): void => abort(caller.reason);
    if (caller.aborted) onAbort();
    else addWaiter(caller, onAbort);
    return () => removeWaiter(caller, onAbort);
  });
  return {
    signal,
    close(reason) {
      clearTimeout(timer);
      for (const leave of letGo) leave();
      abort(reason);
    },
  };
}
