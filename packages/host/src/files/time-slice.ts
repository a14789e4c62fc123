import { breathe } from "./breathe.ts";

/** The milliseconds that somebody may run before everybody else gets a chance to. */
const atOnce = 10;

/** How somebody who runs for long knows when to rest, and when it was enough. */
export interface Pace {
  /** Whether it ran for as long as it may; the time of its rests does not count. */
  isSpent(): boolean;
  isDue(): boolean;
  rest(): Promise<void>;
}

export function createPace(ownMs: number, signal: AbortSignal): Pace {
  let ran = 0;
  let since = performance.now();
  const running = (): number => performance.now() - since;
  return {
    isSpent: () => ran + running() >= ownMs,
    isDue: () => running() >= atOnce,
    async rest() {
      ran += running();
      await breathe(signal);
      since = performance.now();
    },
  };
}
