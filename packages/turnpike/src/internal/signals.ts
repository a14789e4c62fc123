/** For operations called without a signal. */
export function neverAborted(): AbortSignal {
  return sharedSignal ?? new AbortController().signal;
}

/** True for a signal that is known never to fire. */
export function isNeverAborted(signal: AbortSignal): boolean {
  return signal === sharedSignal;
}

/**
 * One signal for all operations. A platform that forbids it while modules load, as workerd did, ties each signal to the request
 * that made it; there every operation gets its own.
 */
const sharedSignal: AbortSignal | undefined = makeShared();

/** It never fires, so listeners on it are not stored. */
function makeShared(): AbortSignal | undefined {
  try {
    return Object.defineProperty(new AbortController().signal, "addEventListener", { value: () => {} });
  } catch {
    return undefined;
  }
}

/** The waiters of each signal. Each signal has one listener for all of them, because to add the n-th listener costs n. */
const waiting = new WeakMap<AbortSignal, Waiters>();

interface Waiters {
  told: Set<() => void>;
  /** Whether `ownSignal` made the signal. The code that fires it calls the waiters, so that it needs no listener. */
  isOwn: boolean;
}

function tellAll(signal: AbortSignal): void {
  const waiters = waiting.get(signal)?.told;
  if (waiters === undefined) return;
  const told = [...waiters];
  waiters.clear();
  for (const tell of told) tell();
}

function onAbort({ target }: Event): void {
  tellAll(target as AbortSignal);
}

/** Calls `tell` when the signal fires. The signal must not have fired. */
export function addWaiter(signal: AbortSignal, tell: () => void): void {
  if (isNeverAborted(signal)) return;
  let waiters = waiting.get(signal);
  if (waiters === undefined) waiting.set(signal, (waiters = { told: new Set(), isOwn: false }));
  if (waiters.told.size === 0 && !waiters.isOwn) signal.addEventListener("abort", onAbort, { once: true });
  waiters.told.add(tell);
}

/** Undoes `addWaiter`. With the last waiter the listener is removed too. */
export function removeWaiter(signal: AbortSignal, tell: () => void): void {
  const waiters = waiting.get(signal);
  if (waiters?.told.delete(tell) === true && waiters.told.size === 0 && !waiters.isOwn)
    signal.removeEventListener("abort", onAbort);
}

/**
 * Makes a signal and the function that fires it. The kernel puts no listeners on it, which saves each of many calls under one
 * signal adding and removing one.
 *
 * @example
 * import { ownSignal } from "turnpike/http";
 *
 * const { signal, abort } = ownSignal();
 * abort(new Error("enough"));
 * console.log(signal.aborted, signal.reason.message); // true enough
 */
export function ownSignal(): { signal: AbortSignal; abort(reason?: unknown): void } {
  const controller = new AbortController();
  const { signal } = controller;
  waiting.set(signal, { told: new Set(), isOwn: true });
  return {
    signal,
    abort(reason) {
      if (signal.aborted) return;
      controller.abort(reason);
      tellAll(signal);
    },
  };
}

/** Whether `ownSignal` made it, so that waiting for it needs no listener. */
export function isOwnSignal(signal: AbortSignal): boolean {
  return waiting.get(signal)?.isOwn === true;
}

/** A signal that is made when it is first read, because most calls end without reading it. */
export class LazySignal {
  #controller: AbortController | undefined;
  #fired: { reason: unknown } | undefined;

  get(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#fired !== undefined) this.#controller.abort(this.#fired.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#fired = { reason };
    this.#controller?.abort(reason);
  }
}
