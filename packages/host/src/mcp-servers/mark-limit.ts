/** How often the marks of one server are changed: a token bucket for each server. */
export interface MarkLimit {
  /** Whether existing marks may be ended or replaced now. */
  hasRoom(server: string): boolean;
  /** Counts a change of marks, also one that could not wait. A server with many changes then waits longer. */
  count(server: string): void;
}

/** So many changes at once, and one more for each minute. */
const [burst, everyMs] = [20, 60_000];

/** A limit that is counted in this process. The clock is monotonic, in milliseconds. */
export function createMarkLimit(clock: () => number = () => performance.now()): MarkLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const fill = (server: string): { tokens: number; at: number } => {
    const now = clock();
    const { tokens, at } = buckets.get(server) ?? { tokens: burst, at: now };
    const bucket = { tokens: Math.min(burst, tokens + (now - at) / everyMs), at: now };
    buckets.set(server, bucket);
    return bucket;
  };
  return {
    hasRoom: (server) => fill(server).tokens >= 1,
    count: (server) => void (fill(server).tokens -= 1),
  };
}
