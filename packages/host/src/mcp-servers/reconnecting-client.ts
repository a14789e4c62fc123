/** What a link is made of. */
export interface LinkOptions<Connection> {
  /** Opens a connection; `onLost` is called when it turns out to be gone. Rejects when it cannot be opened. */
  open(signal: AbortSignal, onLost: (error: unknown) => void): Promise<Connection>;
  /** Told about each failure, and for how long nothing is tried after it. */
  onFailure(error: unknown, retryInMs: number): void;
  /** Milliseconds that only ever grow. */
  clock(): number;
}

/** A connection that is opened when it is first needed, and again, ever less often, after it was lost. */
export interface Link<Connection> {
  /** The connection. Rejects when there is none right now; nobody waits for the next attempt. */
  connection(): Promise<Connection>;
  /** Closes what is open, and opens nothing more. */
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** Who comes later than this into an attempt does not wait for it. */
const patienceMs = 1000;
/** A connection that lasted this long was a good one: what comes after it begins anew. */
const steadyMs = 60_000;

/** There is nothing to connect to right now. */
class LinkDown extends Error {
  override readonly name = "LinkDown";
}

/** Makes a link. A pause follows each failure, twice as long as the one before, while failures follow each other. */
export function createLink<Connection extends { close(): Promise<void> }>(
  options: LinkOptions<Connection>,
): Link<Connection> {
  const { open, onFailure, clock } = options;
  const closing = new AbortController();
  const endings = new Set<Promise<void>>();
  let current: Promise<Connection> | undefined;
  /** Since when the current attempt is under way; Infinity once it came to something. */
  let tryingSince = Infinity;
  let failures = 0;
  let retryAt = -Infinity;

  const end = (connection: Connection): void => {
    const ending = connection.close().catch(() => {});
    endings.add(ending);
    void ending.then(() => endings.delete(ending));
  };

  const attempt = (): Promise<Connection> => {
    let openedAt = Infinity;
    const fail = (reason: unknown): void => {
      // Each attempt fails once, however often it is said.
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

  return {
    connection() {
      const isSlow = clock() - tryingSince > patienceMs;
      if (current !== undefined) return isSlow ? Promise.reject(new LinkDown("It is still connecting.")) : current;
      const isResting = clock() < retryAt;
      if (closing.signal.aborted || isResting) return Promise.reject(new LinkDown("There is no connection right now."));
      current = attempt();
      return current;
    },
    async close() {
      const last = current;
      current = undefined;
      closing.abort();
      await last?.then(end, () => {});
      await Promise.all(endings);
    },
  };
}
