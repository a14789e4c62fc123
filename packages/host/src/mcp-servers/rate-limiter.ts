import { setTimeout as delay } from "node:timers/promises";

/** The clock, and a listener. */
export interface RateLimiterOptions {
  clock?(): number;
  wait?(ms: number): Promise<unknown>;
  /** Called once, when the limit is first exceeded. */
  onFlood?(): void;
}

/** Slows down the messages of a server. */
export interface RateLimiter {
  /** Resolves when a message may pass: after the maximum of one second, in the next second. */
  turn(): Promise<void>;
  /** Lets one more message pass in this second: an answer that the server was asked for. */
  expect(): void;
}

/** Makes a rate limiter for so many messages a second. */
export function createRateLimiter(maxPerSecond: number, options: RateLimiterOptions = {}): RateLimiter {
  const { clock = () => performance.now(), wait = (ms) => delay(ms, undefined, { ref: false }) } = options;
  let window = { since: clock(), left: maxPerSecond };
  let isFlooding = false;
  return {
    async turn() {
      const past = clock() - window.since;
      const isFull = window.left === 0;
      if (past < 1000 && isFull) {
        if (!isFlooding) options.onFlood?.();
        isFlooding = true;
        await wait(1000 - past);
      }
      if (past >= 1000 || isFull) window = { since: clock(), left: maxPerSecond };
      window.left -= 1;
    },
    expect: () => void (window.left += 1),
  };
}
