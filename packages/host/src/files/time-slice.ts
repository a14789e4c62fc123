import { setImmediate } from "node:timers/promises";

/** How many milliseconds one piece of work may run before other work gets its turn. */
const sliceMs = 10;

/** Lets other work of this process run, which an SQLite inside it does not do by itself. Throws when the caller has left. */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}

/** Divides long work into time slices, between which other work runs. */
export interface TimeSlices {
  /** Whether the work has run for its whole budget. Time between slices does not count. */
  isBudgetSpent(): boolean;
  /** Whether the current slice is over. */
  isSliceOver(): boolean;
  /** Yields to other work, then begins the next slice. */
  next(): Promise<void>;
}

export function createTimeSlices(budgetMs: number, signal: AbortSignal): TimeSlices {
  let spentMs = 0;
  let startedAt = performance.now();
  const sliceTime = (): number => performance.now() - startedAt;
  return {
    isBudgetSpent: () => spentMs + sliceTime() >= budgetMs,
    isSliceOver: () => sliceTime() >= sliceMs,
    async next() {
      spentMs += sliceTime();
      await yieldToEventLoop(signal);
      startedAt = performance.now();
    },
  };
}
