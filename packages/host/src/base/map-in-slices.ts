import { setImmediate as yieldToEventLoop } from "node:timers/promises";

/** How many milliseconds a piece of work may run before other work gets its turn. */
const sliceMs = 5;

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
