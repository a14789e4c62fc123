/** The host cannot serve. The message is a sentence for anyone, so it contains no path, no address and no name. */
export class UnreadyError extends Error {
  override readonly name = "UnreadyError";
}

/** An answer comes within two seconds, and the database is written at most twice a second. */
const deadlineMs = 1500;
const rememberMs = 500;

/**
 * Makes the check behind `/ready`. It rejects unless the database took a write just now. Any client may request it, so all
 * requests share one write, and a write that hangs is not followed by another one.
 */
export function createReadiness(write: () => Promise<void>, clock = () => performance.now()): () => Promise<void> {
  let running: { result: Promise<void>; until: number } | undefined;
  let last: { result: Promise<void>; at: number } | undefined;
  const begin = (): { result: Promise<void>; until: number } => {
    const result = write().finally(() => {
      running = undefined;
      last = { result, at: clock() };
    });
    return { result, until: clock() + deadlineMs };
  };
  return () => {
    if (last !== undefined && clock() - last.at < rememberMs) return last.result;
    running ??= begin();
    return orLate(running.result, running.until - clock());
  };
}

async function orLate(result: Promise<void>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new UnreadyError("The database did not take a write in time.")),
      Math.max(0, waitMs),
    );
  });
  try {
    await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
