/** Lets so many through at a time, in the order in which they came. */
export interface Turnstile {
  /** Does the work when its turn comes; who goes away while waiting has no turn, and work that has begun is not stopped. */
  pass<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  isEmpty(): boolean;
}

export function createTurnstile(width: number): Turnstile {
  const waiting = new Set<() => void>();
  let inside = 0;

  const enter = async (signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted();
    if (inside < width) {
      inside += 1;
      return;
    }
    const { promise, resolve, reject } = withResolvers();
    const goAway = (): void => {
      waiting.delete(resolve);
      reject(signal?.reason);
    };
    waiting.add(resolve);
    signal?.addEventListener("abort", goAway, { once: true });
    await promise;
    signal?.removeEventListener("abort", goAway);
  };

  /** Hands the place to whoever waits longest. */
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      inside -= 1;
      return;
    }
    waiting.delete(next);
    next();
  };

  return {
    async pass(work, signal) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    isEmpty: () => inside === 0,
  };
}

/** A turnstile for every key, for as long as somebody is there. */
export interface Turnstiles {
  pass<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createTurnstiles(width: number): Turnstiles {
  const byKey = new Map<string, Turnstile>();
  return {
    async pass(key, work, signal) {
      const turnstile = byKey.get(key) ?? createTurnstile(width);
      byKey.set(key, turnstile);
      try {
        return await turnstile.pass(work, signal);
      } finally {
        if (turnstile.isEmpty() && byKey.get(key) === turnstile) byKey.delete(key);
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
