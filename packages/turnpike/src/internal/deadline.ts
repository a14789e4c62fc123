/** What ran out of time, in words for the operator. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/** For operations called without a signal. */
export function neverAborted(): AbortSignal {
  return sharedSignal ?? new AbortController().signal;
}

/**
 * One for all operations. A platform that forbids it while modules load (workerd did) ties each signal to the request
 * that made it, so there every operation gets its own.
 */
const sharedSignal: AbortSignal | undefined = makeShared();

/** It never fires, so listeners on it are not kept. */
function makeShared(): AbortSignal | undefined {
  try {
    return Object.defineProperty(new AbortController().signal, "addEventListener", { value: () => {} });
  } catch {
    return undefined;
  }
}

/** Who waits for a signal. There is one listener a signal, however many wait: adding the n-th listener costs n. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

function tellAll({ target }: Event): void {
  const waiters = waiting.get(target as AbortSignal);
  const told = [...(waiters ?? [])];
  waiters?.clear();
  for (const tell of told) tell();
}

function addWaiter(signal: AbortSignal, tell: () => void): void {
  let waiters = waiting.get(signal);
  if (waiters === undefined) waiting.set(signal, (waiters = new Set()));
  if (waiters.size === 0) signal.addEventListener("abort", tellAll, { once: true });
  waiters.add(tell);
}

function removeWaiter(signal: AbortSignal, tell: () => void): void {
  const waiters = waiting.get(signal);
  if (waiters?.delete(tell) === true && waiters.size === 0) signal.removeEventListener("abort", tellAll);
}

/** How long a call may take, and how much longer once its caller has gone. */
export interface TimeLimit {
  timeoutMs: number;
  graceMs?: number;
  /** What is said when the time is up. */
  late: string;
}

/** Waits for work that has begun. `onGivenUp` is told as soon as nobody waits for it, or only for its grace. */
function wait<T>(
  work: T | PromiseLike<T>,
  caller: AbortSignal,
  graceMs: number,
  limit?: TimeLimit,
  onGivenUp?: (reason: unknown) => void,
): Promise<T> {
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
      if (timer !== undefined) clearTimeout(timer);
      removeWaiter(caller, onAbort);
    };
    const settleWith =
      <Outcome>(settle: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        letGo();
        settle(outcome);
      };
    Promise.resolve(work).then(settleWith<T>(resolve), settleWith(reject));
    if (limit !== undefined) giveUpAfter(limit.timeoutMs, limit.late);
    if (caller.aborted) onAbort();
    else if (caller !== sharedSignal) addWaiter(caller, onAbort);
  });
}

/**
 * Settles as the work does, or rejects with the signal's reason when that fires first. With `graceMs` the work may still
 * settle for so long after the signal, and then rejects with a `TimeLimitError`. What the work does later is ignored;
 * nothing is left on the signal.
 */
export function orAbort<T>(work: T | PromiseLike<T>, signal: AbortSignal, graceMs = 0): Promise<T> {
  return signal === sharedSignal ? (Promise.resolve(work) as Promise<T>) : wait(work, signal, graceMs);
}

/** Waits for a call no longer than it may take, and tells it by its signal when nobody waits any more. */
export async function withinTime<T>(
  limit: TimeLimit,
  caller: AbortSignal,
  call: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const controller = new AbortController();
  const work = call(controller.signal);
  return wait(work, caller, limit.graceMs ?? 0, limit, (reason) => controller.abort(reason));
}

/** A time limit and a caller as one signal. */
export interface Deadline {
  /** Fires when the time is up, with a `TimeLimitError`, and when the caller's does, with the caller's reason. */
  readonly signal: AbortSignal;
  /** Lets go of timer and caller, and fires the signal if it has not fired. */
  close(reason: Error): void;
}

/** Starts the clock; `late` is what the signal's reason says when the time is up. */
export function openDeadline(timeoutMs: number, caller: AbortSignal, late: string): Deadline {
  const controller = new AbortController();
  const onCallerAbort = (): void => controller.abort(caller.reason);
  const timer = setTimeout(() => controller.abort(new TimeLimitError(late)), timeoutMs);
  if (caller.aborted) onCallerAbort();
  else if (caller !== sharedSignal) addWaiter(caller, onCallerAbort);
  return {
    signal: controller.signal,
    close(reason) {
      clearTimeout(timer);
      removeWaiter(caller, onCallerAbort);
      controller.abort(reason);
    },
  };
}
