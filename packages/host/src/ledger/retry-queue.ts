/** A write that failed and is retried. */
export interface PendingWrite {
  /** Throws as long as it fails. It is idempotent. */
  write(): Promise<unknown>;
}

/** Failed writes by name. They are retried until they succeed or the process ends. */
export interface RetryQueue<Write extends PendingWrite> {
  readonly size: number;
  get(name: string): Write | undefined;
  values(): Iterable<Write>;
  add(name: string, write: Write): void;
  /** Retries one now. Throws when it fails again. */
  settle(name: string): Promise<void>;
  /** Waits until one is written, for as long as `mayWait` says so. Returns false when it stopped waiting before. */
  written(name: string, mayWait: () => boolean): Promise<boolean>;
  /** Retries everything a last time. */
  close(): Promise<void>;
}

/** The time between two attempts doubles from the first of these to the last. */
const usualDelaysMs = { first: 100, last: 10_000 };
/** How often a caller who waits for a write looks whether it still may. */
const pollMs = 100;

export function createRetryQueue<Write extends PendingWrite>(delaysMs = usualDelaysMs): RetryQueue<Write> {
  const waiting = new Map<string, { entry: Write; attempt?: Promise<unknown> }>();
  let delayMs = delaysMs.first;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const settle = async (name: string): Promise<void> => {
    const held = waiting.get(name);
    if (held === undefined) return;
    held.attempt ??= held.entry.write().then(
      // Another write of this name may have been added meanwhile. That one still waits.
      () => waiting.get(name) === held && waiting.delete(name),
      (error: unknown) => {
        delete held.attempt;
        throw error;
      },
    );
    await held.attempt;
  };
  const tryAll = async (): Promise<void> => void (await Promise.allSettled([...waiting.keys()].map(settle)));
  const schedule = (): void => {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(() => void tryAgain(), delayMs).unref();
  };
  const tryAgain = async (): Promise<void> => {
    await tryAll();
    timer = undefined;
    delayMs = waiting.size === 0 ? delaysMs.first : Math.min(2 * delayMs, delaysMs.last);
    if (waiting.size > 0) schedule();
  };

  return {
    get size() {
      return waiting.size;
    },
    get: (name) => waiting.get(name)?.entry,
    *values() {
      for (const { entry } of waiting.values()) yield entry;
    },
    add(name, entry) {
      waiting.set(name, { entry });
      schedule();
    },
    settle,
    async written(name, mayWait) {
      const held = waiting.get(name);
      if (held === undefined) return true;
      while (waiting.get(name) === held) {
        if (!mayWait()) return false;
        await new Promise((resolve) => setTimeout(resolve, pollMs).unref());
      }
      return true;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await tryAll();
    },
  };
}
