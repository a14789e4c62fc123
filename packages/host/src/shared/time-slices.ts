import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";

/** How many milliseconds a piece of work may run before it yields to other work. */
const sliceMs = 5;

/** The budget of time that several pieces of work share. */
export interface SliceBudget {
  /** Resolves when the work may do its next slice. Rejects when the work has to end. */
  nextSlice(): Promise<void>;
}

const budgets = new AsyncLocalStorage<SliceBudget | undefined>();

/** Runs work whose slices, at any depth, take their time from a budget. Without a budget they are not limited. */
export function withBudget<T>(budget: SliceBudget | undefined, work: () => Promise<T>): Promise<T> {
  return budgets.run(budget, work);
}

/** Ends a slice: other work of this process runs before it resolves. */
export async function yieldToEventLoop(): Promise<void> {
  const budget = budgets.getStore();
  await (budget === undefined ? setImmediate() : budget.nextSlice());
}

/** Runs work of many small steps to its end, and yields to other work of this process whenever a time slice is over. */
export async function runInSlices<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  let startedAt = performance.now();
  for (let done = 0; ; done += 1) {
    const step = steps.next();
    if (step.done === true) return step.value;
    // A look at the clock costs as much as a small step.
    if (done % 16 !== 0 || performance.now() - startedAt < sliceMs) continue;
    await yieldToEventLoop();
    startedAt = performance.now();
  }
}

/** Maps many items, one after the other, and yields to other work of this process whenever a time slice is over. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let startedAt = performance.now();
  for (const item of items) {
    if (performance.now() - startedAt >= sliceMs) {
      await yieldToEventLoop();
      startedAt = performance.now();
    }
    results.push(await map(item));
  }
  return results;
}
