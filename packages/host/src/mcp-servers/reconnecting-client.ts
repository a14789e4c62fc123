/** The options of a reconnecting client. */
export interface ReconnectingClientOptions<Connection> {
  /** Opens a connection; `onLost` is called when it turns out to be gone. Rejects when it cannot be opened. */
  open(signal: AbortSignal, onLost: (error: unknown) => void): Promise<Connection>;
  /** Called for each connection that was opened. */
  onOpened?(connection: Connection): void;
  /** Called for each failure, with the pause before the next attempt. */
  onFailure(error: unknown, retryInMs: number): void;
  /** A monotonic clock, in milliseconds. */
  clock(): number;
}

/** How long to wait for a connection, and the signal of the caller who waits. */
export interface Wait {
  signal: AbortSignal;
  timeoutMs: number;
}

/** Opens a connection when it is first needed, and again after it was lost, with growing pauses between failures. */
export interface ReconnectingClient<Connection> {
  /** Whether there is a connection, as far as this process knows. */
  readonly isConnected: boolean;
  /**
   * The connection, which is opened unless the pause after a failure is not over. Waits for the first attempt; after a failure
   * only for an attempt that began within the last second. Rejects at once otherwise.
   */
  connection(): Promise<Connection>;
  /**
   * Waits for the connection while it is being opened, or while a lost one is replaced. Rejects when the attempt fails, during
   * the pause after a failed attempt, when the time is over, when the caller leaves and when the client is closed.
   */
  connected(wait: Wait): Promise<Connection>;
  /** Connects now, and again after each failure and each loss, even if no caller needs it. */
  stayConnected(): void;
  /** Opens nothing more, and closes the connection when its calls have ended. */
  retire(): Promise<void>;
  /** Closes the connection at once, and opens nothing more. */
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** After a failure, a caller waits for an attempt only if it began less than this long ago. */
const patienceMs = 1000;
/** After a connection that lasted this long, the pauses begin with the shortest again. */
const steadyMs = 60_000;

/** There is no connection right now. */
class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

/** Makes a reconnecting client. The pause doubles with each failure in a row. */
export function createReconnectingClient<Connection extends { close(): Promise<void> }>(
  options: ReconnectingClientOptions<Connection>,
): ReconnectingClient<Connection> {
  const { open, onOpened, onFailure, clock } = options;
  const closing = new AbortController();
  const retired = new AbortController();
  const endings = new Set<Promise<void>>();
  let current: Promise<Connection> | undefined;
  /** When the current attempt began; Infinity once it has succeeded. */
  let tryingSince = Infinity;
  let failures = 0;
  let retryAt = -Infinity;
  /** Whether the last failure was the end of a connection, and not an attempt to open one. */
  let wasOpen = false;
  let isStaying = false;

  const end = (connection: Connection): void => {
    const ending = connection.close().catch(() => {});
    endings.add(ending);
    void ending.then(() => endings.delete(ending));
  };

  const attempt = (): Promise<Connection> => {
    let openedAt = Infinity;
    const fail = (reason: unknown): void => {
      // An attempt counts as one failure, however often it reports one.
      if (current !== opening) return;
      current = undefined;
      void opening.then(end, () => {});
      failures = clock() - openedAt >= steadyMs ? 1 : failures + 1;
      const pauseMs = Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs);
      retryAt = clock() + pauseMs;
      wasOpen = openedAt !== Infinity;
      onFailure(reason, pauseMs);
      if (isStaying) setTimeout(stay, pauseMs).unref();
    };
    const opening = open(closing.signal, fail);
    tryingSince = clock();
    const succeed = (connection: Connection): void => {
      openedAt = clock();
      if (current !== opening) return;
      tryingSince = Infinity;
      onOpened?.(connection);
    };
    opening.then(succeed, fail);
    return opening;
  };

  const stay = (): void => {
    if (!retired.signal.aborted) current ??= attempt();
  };

  const retire = async (): Promise<void> => {
    const last = current;
    current = undefined;
    retired.abort();
    await last?.then(end, () => {});
    await Promise.all(endings);
  };

  return {
    get isConnected() {
      return current !== undefined && tryingSince === Infinity;
    },
    async connection() {
      const isSlow = failures > 0 && clock() - tryingSince > patienceMs;
      if (current !== undefined && isSlow) throw new NotConnectedError("It is still connecting.");
      if (retired.signal.aborted || (current === undefined && clock() < retryAt)) throw noConnection();
      current ??= attempt();
      return current;
    },
    async connected({ signal, timeoutMs }) {
      if (current !== undefined && tryingSince === Infinity && !signal.aborted) return current;
      const signals = [signal, retired.signal];
      const until = clock() + timeoutMs;
      const restMs = current === undefined ? retryAt - clock() : 0;
      if (restMs > 0) {
        if (!wasOpen) throw noConnection();
        await within(Math.min(restMs, timeoutMs), signals);
        if (restMs > timeoutMs) throw noConnection();
      }
      // Timers are not as exact as the clock, so the attempt begins when the timer fires, whatever the clock says.
      if (!retired.signal.aborted) current ??= attempt();
      if (current === undefined) throw noConnection();
      return within(until - clock(), signals, current);
    },
    stayConnected() {
      isStaying = true;
      stay();
    },
    retire,
    async close() {
      closing.abort();
      await retire();
    },
  };
}

function noConnection(): NotConnectedError {
  return new NotConnectedError("There is no connection right now.");
}

/**
 * The result of a promise within a time, or without a promise just that wait. Rejects when the time is over before the promise
 * settles, and when a signal fires. Others who wait for the promise are not affected.
 */
function within(ms: number, signals: readonly AbortSignal[]): Promise<void>;
function within<T>(ms: number, signals: readonly AbortSignal[], promise: Promise<T>): Promise<T>;
function within<T>(ms: number, signals: readonly AbortSignal[], promise?: Promise<T>): Promise<T | void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      end();
      reject(noConnection());
    };
    const pass = (): void => {
      end();
      resolve();
    };
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", leave);
    };
    const timer = setTimeout(promise === undefined ? pass : leave, Math.max(0, ms)).unref();
    promise?.then(resolve, reject).finally(end);
    for (const signal of signals) signal.addEventListener("abort", leave);
    if (signals.some(({ aborted }) => aborted)) leave();
  });
}
