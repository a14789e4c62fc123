/** The options of a reconnecting client. */
export interface ReconnectingClientOptions<Connection> {
  /** Opens a connection; `onLost` is called when it turns out to be gone. Rejects when it cannot be opened. */
  open(signal: AbortSignal, onLost: (error: unknown) => void): Promise<Connection>;
  /** Called for each failure, with the pause before the next attempt. */
  onFailure(error: unknown, retryInMs: number): void;
  /** A monotonic clock, in milliseconds. */
  clock(): number;
}

/** Opens a connection when it is first needed, and again after it was lost, with growing pauses between failures. */
export interface ReconnectingClient<Connection> {
  /** The connection. Rejects at once when there is none right now; it does not wait for the next attempt. */
  connection(): Promise<Connection>;
  /** Opens nothing more, and closes what is open in its own time. */
  retire(): Promise<void>;
  /** Closes what is open at once, and opens nothing more. */
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** A caller waits for an attempt only if it began less than this long ago. */
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
  const { open, onFailure, clock } = options;
  const closing = new AbortController();
  const endings = new Set<Promise<void>>();
  let current: Promise<Connection> | undefined;
  /** When the current attempt began; Infinity when no attempt is running. */
  let tryingSince = Infinity;
  let failures = 0;
  let retryAt = -Infinity;
  let isRetired = false;

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
      onFailure(reason, pauseMs);
    };
    const opening = open(closing.signal, fail);
    tryingSince = clock();
    const succeed = (): void => {
      openedAt = clock();
      if (current === opening) tryingSince = Infinity;
    };
    opening.then(succeed, fail);
    return opening;
  };

  const retire = async (): Promise<void> => {
    const last = current;
    current = undefined;
    isRetired = true;
    await last?.then(end, () => {});
    await Promise.all(endings);
  };

  return {
    connection() {
      const isSlow = clock() - tryingSince > patienceMs;
      if (current !== undefined)
        return isSlow ? Promise.reject(new NotConnectedError("It is still connecting.")) : current;
      const isResting = clock() < retryAt;
      if (isRetired || isResting) return Promise.reject(new NotConnectedError("There is no connection right now."));
      current = attempt();
      return current;
    },
    retire,
    async close() {
      closing.abort();
      await retire();
    },
  };
}
