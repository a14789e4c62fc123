import { setTimeout as delay } from "node:timers/promises";

/** The clock, and a listener. */
export interface RateLimiterOptions {
  clock?(): number;
  wait?(ms: number): Promise<unknown>;
  /** Called once, when the limit is first exceeded. */
  onFlood?(): void;
}

/** Makes a function that resolves when a message may pass: after the maximum of one second, in the next second. */
export function createRateLimiter(maxPerSecond: number, options: RateLimiterOptions = {}): () => Promise<void> {
  const { clock = () => performance.now(), wait = (ms) => delay(ms, undefined, { ref: false }) } = options;
  let window = { since: clock(), messages: 0 };
  let isFlooding = false;
  return async () => {
    const past = clock() - window.since;
    if (past < 1000 && window.messages === maxPerSecond) {
      if (!isFlooding) options.onFlood?.();
      isFlooding = true;
      await wait(1000 - past);
    }
    if (past >= 1000 || window.messages === maxPerSecond) window = { since: clock(), messages: 0 };
    window.messages += 1;
  };
}
