import { addWaiter, isNeverAborted, isOwnSignal, LazySignal, ownSignal, removeWaiter } from "./signals.ts";

/** Says what took too long, in words for the operator. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/** How long a call may take, and how much longer once its caller has gone. */
export interface TimeLimit {
  timeoutMs: number;
  graceMs?: number;
  /** The message of the error when the time is up. */
  late: string;
}

/** The options of a wait. */
interface Wait {
  caller: AbortSignal;
  graceMs: number;
  limit?: TimeLimit;
  /** Called as soon as the caller no longer waits for the work, or waits only for its grace. */
  onGivenUp?(reason: unknown): void;
}

/** Work that settles within this many rounds of the microtask queue gets no timer and no listener. */
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

/** Waits for work with a timer and with a listener on the caller's signal. */
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
 * Settles as the work does, or rejects with the signal's reason when the signal fires first. With `graceMs` the work gets that time
 * after the signal, and then the wait rejects with a `TimeLimitError`. A later result of the work is ignored, and no listener is
 * left on the signal.
 */
export function orAbort<T>(work: T | PromiseLike<T>, signal: AbortSignal, graceMs = 0): Promise<T> {
  if (isNeverAborted(signal)) return Promise.resolve(work) as Promise<T>;
  const wait = { caller: signal, graceMs };
  // A waiter on our own signal costs less than finding out whether the work settles soon.
  return isOwnSignal(signal) ? watch(Promise.resolve(work) as Promise<T>, wait) : waitFor(work, wait);
}

/** Waits for a call within its time limit, and aborts the call's signal when the wait is over. */
export async function withinTime<T>(
  limit: TimeLimit,
  caller: AbortSignal,
  call: (signal: LazySignal) => T | PromiseLike<T>,
): Promise<T> {
  const signal = new LazySignal();
  const { graceMs = 0 } = limit;
  return waitFor(call(signal), { caller, graceMs, limit, onGivenUp: (reason) => signal.abort(reason) });
}

/** A time limit and the signals of callers, combined in one signal. */
export interface Deadline {
  /** Fires with a `TimeLimitError` when the time is up, and with a caller's reason when that caller's signal fires. */
  readonly signal: AbortSignal;
  /** Clears the timer, removes the listeners, and fires the signal if it has not fired. */
  close(reason: Error): void;
}

/** Starts the timer; `late` is the message of the signal's reason when the time is up. */
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
