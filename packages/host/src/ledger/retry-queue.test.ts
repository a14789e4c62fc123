import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRetryQueue, type PendingWrite } from "./retry-queue.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A write that fails so often before it works. */
function failing(times: number): PendingWrite & { tries: number } {
  return {
    tries: 0,
    write() {
      this.tries += 1;
      return this.tries <= times ? Promise.reject(new Error("away")) : Promise.resolve();
    },
  };
}

test("a write is tried again, after 100 ms, 200 ms, 400 ms and so on up to 10 s, until it is stored", async () => {
  const retryQueue = createRetryQueue();
  const write = failing(10);
  retryQueue.add("one", write);
  const tries: number[] = [];
  for (const ms of [99, 1, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]) {
    await vi.advanceTimersByTimeAsync(ms);
    tries.push(write.tries);
  }
  expect(tries).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(retryQueue.get("one")).toBe(write);
  await vi.advanceTimersByTimeAsync(100_000);
  expect([write.tries, retryQueue.size, vi.getTimerCount()]).toEqual([11, 0, 0]);
});

test("once everything is stored, the next write is tried again as soon as the first was", async () => {
  const retryQueue = createRetryQueue();
  retryQueue.add("one", failing(3));
  await vi.advanceTimersByTimeAsync(100_000);
  const next = failing(0);
  retryQueue.add("two", next);
  expect([...retryQueue.values()]).toEqual([next]);
  await vi.advanceTimersByTimeAsync(100);
  expect([next.tries, retryQueue.size]).toEqual([1, 0]);
});

test("there is nothing to settle under a name that nothing waits under", async () => {
  await expect(createRetryQueue().settle("one")).resolves.toBeUndefined();
});

test("one that always fails does not stop the others from being tried", async () => {
  const retryQueue = createRetryQueue();
  retryQueue.add("bad", failing(Infinity));
  retryQueue.add("good", failing(1));
  await vi.advanceTimersByTimeAsync(400);
  expect([retryQueue.get("good"), retryQueue.size]).toEqual([undefined, 1]);
});

test("closing tries everything a last time, and nothing after that", async () => {
  const retryQueue = createRetryQueue();
  const [bad, good] = [failing(Infinity), failing(0)];
  retryQueue.add("bad", bad);
  retryQueue.add("good", good);
  await retryQueue.close();
  await vi.advanceTimersByTimeAsync(100_000);
  expect([bad.tries, good.tries, retryQueue.size]).toEqual([1, 1, 1]);
});

test("what comes after closing is not tried", async () => {
  const retryQueue = createRetryQueue();
  await retryQueue.close();
  const late = failing(0);
  retryQueue.add("late", late);
  await vi.advanceTimersByTimeAsync(100_000);
  expect([late.tries, retryQueue.size]).toEqual([0, 1]);
});

test("two that settle the same at once share one try", async () => {
  const retryQueue = createRetryQueue();
  const write = failing(0);
  retryQueue.add("one", write);
  await Promise.all([retryQueue.settle("one"), retryQueue.settle("one")]);
  expect([write.tries, retryQueue.size]).toEqual([1, 0]);
});

test("a write that came under the same name while another was tried still waits", async () => {
  const retryQueue = createRetryQueue();
  const [first, second] = [failing(0), failing(0)];
  retryQueue.add("one", first);
  const settled = retryQueue.settle("one");
  retryQueue.add("one", second);
  await settled;
  expect(retryQueue.get("one")).toBe(second);
  await retryQueue.settle("one");
  expect([second.tries, retryQueue.size]).toEqual([1, 0]);
});
