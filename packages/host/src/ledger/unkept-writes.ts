/** A write that failed, and is tried again. */
export interface UnkeptWrite {
  /** Throws as long as it fails. Running it twice is as good as once. */
  write(): Promise<unknown>;
}

/** Writes that failed, by name, tried again until they are kept or the process ends. */
export interface UnkeptWrites<Write extends UnkeptWrite> {
  readonly size: number;
  get(name: string): Write | undefined;
  values(): Iterable<Write>;
  add(name: string, write: Write): void;
  /** Tries one now; throws when it fails again. */
  settle(name: string): Promise<void>;
  /** One last try of everything, and none after that. */
  close(): Promise<void>;
}

/** The time between two tries doubles from the first of these to the last. */
const usualDelaysMs = { first: 100, last: 10_000 };

export function createUnkeptWrites<Write extends UnkeptWrite>(delaysMs = usualDelaysMs): UnkeptWrites<Write> {
  const waiting = new Map<string, { entry: Write; attempt?: Promise<unknown> }>();
  let delayMs = delaysMs.first;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const settle = async (name: string): Promise<void> => {
    const held = waiting.get(name);
    if (held === undefined) return;
    held.attempt ??= held.entry.write().then(
      // Another write may have come under this name meanwhile: that one still waits.
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
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await tryAll();
    },
  };
}
