import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createUnkeptWrites, type UnkeptWrite } from "./unkept-writes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A write that fails so often before it works. */
function failing(times: number): UnkeptWrite & { tries: number } {
  return {
    tries: 0,
    write() {
      this.tries += 1;
      return this.tries <= times ? Promise.reject(new Error("away")) : Promise.resolve();
    },
  };
}

test("a write is tried again, after 100 ms, 200 ms, 400 ms and so on up to 10 s, until it is kept", async () => {
  const unkept = createUnkeptWrites();
  const write = failing(10);
  unkept.add("one", write);
  const tries: number[] = [];
  for (const ms of [99, 1, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]) {
    await vi.advanceTimersByTimeAsync(ms);
    tries.push(write.tries);
  }
  expect(tries).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(unkept.get("one")).toBe(write);
  await vi.advanceTimersByTimeAsync(100_000);
  expect([write.tries, unkept.size, vi.getTimerCount()]).toEqual([11, 0, 0]);
});

test("once everything is kept, the next write is tried again as soon as the first was", async () => {
  const unkept = createUnkeptWrites();
  unkept.add("one", failing(3));
  await vi.advanceTimersByTimeAsync(100_000);
  const next = failing(0);
  unkept.add("two", next);
  expect([...unkept.values()]).toEqual([next]);
  await vi.advanceTimersByTimeAsync(100);
  expect([next.tries, unkept.size]).toEqual([1, 0]);
});

test("there is nothing to settle under a name that nothing waits under", async () => {
  await expect(createUnkeptWrites().settle("one")).resolves.toBeUndefined();
});

test("one that always fails does not keep the others from being tried", async () => {
  const unkept = createUnkeptWrites();
  unkept.add("bad", failing(Infinity));
  unkept.add("good", failing(1));
  await vi.advanceTimersByTimeAsync(400);
  expect([unkept.get("good"), unkept.size]).toEqual([undefined, 1]);
});

test("closing tries everything a last time, and nothing after that", async () => {
  const unkept = createUnkeptWrites();
  const [bad, good] = [failing(Infinity), failing(0)];
  unkept.add("bad", bad);
  unkept.add("good", good);
  await unkept.close();
  await vi.advanceTimersByTimeAsync(100_000);
  expect([bad.tries, good.tries, unkept.size]).toEqual([1, 1, 1]);
});

test("what comes after closing is not tried", async () => {
  const unkept = createUnkeptWrites();
  await unkept.close();
  const late = failing(0);
  unkept.add("late", late);
  await vi.advanceTimersByTimeAsync(100_000);
  expect([late.tries, unkept.size]).toEqual([0, 1]);
});

test("two that settle the same at once share one try", async () => {
  const unkept = createUnkeptWrites();
  const write = failing(0);
  unkept.add("one", write);
  await Promise.all([unkept.settle("one"), unkept.settle("one")]);
  expect([write.tries, unkept.size]).toEqual([1, 0]);
});

test("a write that came under the same name while another was tried still waits", async () => {
  const unkept = createUnkeptWrites();
  const [first, second] = [failing(0), failing(0)];
  unkept.add("one", first);
  const settled = unkept.settle("one");
  unkept.add("one", second);
  await settled;
  expect(unkept.get("one")).toBe(second);
  await unkept.settle("one");
  expect([second.tries, unkept.size]).toEqual([1, 0]);
});
