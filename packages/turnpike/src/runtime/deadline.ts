/** The life of one turn as one signal: it fires at the deadline, when the caller aborts, and when the turn ends. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Settles as `work` does, or rejects with the signal's reason when that comes first. */
  orEnd<T>(work: Promise<T>): Promise<T>;
  /** Ends the turn: fires the signal if it has not fired, and lets go of timer and caller. */
  close(reason: Error): void;
}

/** Starts the clock of a turn. */
export function openDeadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const onCallerAbort = (): void => controller.abort(caller?.reason);
  const timer = setTimeout(
    () => controller.abort(new Error(`The turn did not end within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  caller?.addEventListener("abort", onCallerAbort, { once: true });
  if (caller?.aborted === true) onCallerAbort();
  const ended = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
  ended.catch(() => {});

  return {
    signal,
    orEnd: (work) => Promise.race([work, ended]),
    close(reason) {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onCallerAbort);
      controller.abort(reason);
    },
  };
}
