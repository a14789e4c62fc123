import { expect, test } from "vitest";
import { createReadCache } from "./read-cache.ts";
import type { Revisions } from "./revisions.ts";

/** Revisions that the test turns by hand. */
function turning(): Pick<Revisions, "current" | "assumed"> & {
  era: number;
  turn(by?: number): void;
  fail(error: Error): void;
} {
  let [revision, error] = [0, undefined as Error | undefined];
  return {
    era: 1,
    turn: (by = 1) => void (revision += by),
    fail: (cause) => void (error = cause),
    current: () => (error === undefined ? Promise.resolve(revision) : Promise.reject(error)),
    assumed: () => undefined,
  };
}

/** A read that answers when told to. */
function slowRead(): { read: () => Promise<string>; answer(value: string): void; calls(): number } {
  const waiting: ((value: string) => void)[] = [];
  let calls = 0;
  return {
    read() {
      calls += 1;
      return new Promise((resolve) => waiting.push(resolve));
    },
    answer: (value) => waiting.shift()?.(value),
    calls: () => calls,
  };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("a value is read once a revision", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  let reads = 0;
  const read = (): Promise<number> => Promise.resolve((reads += 1));
  expect([await cache.get("key", read), await cache.get("key", read)]).toEqual([1, 1]);
  revisions.turn();
  expect([await cache.get("key", read), await cache.get("key", read)]).toEqual([2, 2]);
});

test("a value of another server is read again, also at the same revision, and one that arrives later is not stored", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  await cache.get("key", () => Promise.resolve("lost"));
  const { read, answer } = slowRead();
  const late = cache.get("late", read);
  await settle();
  revisions.era += 1;
  answer("lost as well");
  expect(await late).toBe("lost as well");
  for (const key of ["key", "late"]) expect(await cache.get(key, () => Promise.resolve("there"))).toBe("there");
});

test("keys do not share values", async () => {
  const cache = createReadCache(turning());
  await cache.get("one", () => Promise.resolve(1));
  expect(await cache.get("two", () => Promise.resolve(2))).toBe(2);
});

test("that there is nothing is asked again, so that no caller fills the cache with names of nothing", async () => {
  const cache = createReadCache(turning());
  let reads = 0;
  const read = (): Promise<undefined> => Promise.resolve(void (reads += 1));
  await cache.get("key", read);
  await cache.get("key", read);
  expect(reads).toBe(2);
});

for (const row of [
  { name: "a read that began before it and ends first", answers: ["old", "new"] },
  { name: "a read that began before it and ends last", answers: ["new", "old"] },
] as const) {
  test(`under a new revision a value is never the one of ${row.name}`, async () => {
    const revisions = turning();
    const cache = createReadCache(revisions);
    const [old, fresh] = [slowRead(), slowRead()];
    const answer = { old: () => old.answer("old"), new: () => fresh.answer("new") };
    const early = cache.get("key", old.read);
    await settle();
    revisions.turn();
    const late = cache.get("key", fresh.read);
    await settle();
    for (const which of row.answers) {
      answer[which]();
      await settle();
    }
    expect([await early, await late]).toEqual(["old", "new"]);
    expect(await cache.get("key", fresh.read)).toBe("new");
    expect([old.calls(), fresh.calls()]).toEqual([1, 1]);
  });
}

test("a value that was read under an older revision is not cached for the next caller", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  const slow = slowRead();
  const early = cache.get("key", slow.read);
  await settle();
  revisions.turn();
  await cache.get("other", () => Promise.resolve("any"));
  slow.answer("old");
  expect(await early).toBe("old");
  expect(await cache.get("key", () => Promise.resolve("new"))).toBe("new");
});

test("a caller who asks for what is being read under the same revision waits for that read", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  const slow = slowRead();
  const asked = [cache.get("key", slow.read), cache.get("key", slow.read)];
  await settle();
  asked.push(cache.get("key", slow.read));
  await settle();
  expect(slow.calls()).toBe(1);
  slow.answer("value");
  expect(await Promise.all(asked)).toEqual(["value", "value", "value"]);
});

test("a read under a new revision is told what was found under an older one", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  const told: unknown[] = [];
  const read = (before: string | undefined): Promise<string> => {
    told.push(before);
    return Promise.resolve(`${before} and more`);
  };
  await cache.get("key", read);
  revisions.turn();
  await cache.get("other", read);
  expect(await cache.get("key", read)).toBe("undefined and more and more");
  expect(told).toEqual([undefined, undefined, "undefined and more"]);
});

test("when a database was put back to an older state, nothing stays of what it came to before", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  const slow = slowRead();
  revisions.turn();
  await cache.get("key", () => Promise.resolve("before"));
  const early = cache.get("slow", slow.read);
  await settle();
  revisions.turn(-1);
  await cache.get("other", () => Promise.resolve("any"));
  slow.answer("before");
  await early;
  revisions.turn();
  expect(await cache.get("key", () => Promise.resolve("after"))).toBe("after");
  expect(await cache.get("slow", () => Promise.resolve("after"))).toBe("after");
});

test("a read that fails is not cached, and neither is a value when the revision is unknown", async () => {
  const revisions = turning();
  const cache = createReadCache(revisions);
  await expect(cache.get("key", () => Promise.reject(new Error("outage")))).rejects.toThrow("outage");
  expect(await cache.get("key", () => Promise.resolve("value"))).toBe("value");
  revisions.fail(new Error("no revision"));
  await expect(cache.get("key", () => Promise.resolve("other"))).rejects.toThrow("no revision");
});

test("memory stays bounded: the cache starts anew when it is full", async () => {
  const cache = createReadCache(turning());
  let reads = 0;
  const read = (): Promise<number> => Promise.resolve((reads += 1));
  for (let place = 0; place <= 50_000; place += 1) await cache.get(`key-${place}`, read);
  await cache.get("key-0", read);
  expect(reads).toBe(50_002);
});
