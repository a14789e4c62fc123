/** Runs a fixed number of tasks at a time, in the order in which they came. */
export interface Semaphore {
  /** Runs the task when a permit is free. A caller who leaves while waiting is not run; a task that has begun is not stopped. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Whether no task runs and none waits. */
  isIdle(): boolean;
}

export function createSemaphore(permits: number): Semaphore {
  const waiting = new Set<() => void>();
  let running = 0;

  const acquire = async (signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted();
    if (running < permits) {
      running += 1;
      return;
    }
    const { promise, resolve, reject } = withResolvers();
    const leave = (): void => {
      waiting.delete(resolve);
      reject(signal?.reason);
    };
    waiting.add(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    await promise;
    signal?.removeEventListener("abort", leave);
  };

  /** Hands the permit to the task that has waited longest. */
  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      running -= 1;
      return;
    }
    waiting.delete(next);
    next();
  };

  return {
    async run(task, signal) {
      await acquire(signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
    isIdle: () => running === 0,
  };
}

/** One semaphore for each key. A key takes no memory while it has no task. */
export interface KeyedSemaphore {
  run<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createKeyedSemaphore(permits: number): KeyedSemaphore {
  const byKey = new Map<string, Semaphore>();
  return {
    async run(key, task, signal) {
      const semaphore = byKey.get(key) ?? createSemaphore(permits);
      byKey.set(key, semaphore);
      try {
        return await semaphore.run(task, signal);
      } finally {
        if (semaphore.isIdle() && byKey.get(key) === semaphore) byKey.delete(key);
      }
    },
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (reason: unknown) => void } {
  let resolve = (): void => {};
  let reject = (_reason: unknown): void => {};
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
