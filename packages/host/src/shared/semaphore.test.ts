import { expect, test } from "vitest";
import { neverAborted } from "../../test/records.ts";
import { createSemaphore, createKeyedSemaphore } from "./semaphore.ts";

/** Work that has begun when it says so, and ends when it is told to. */
function work(name: string, begun: string[]): { run: () => Promise<string>; end: () => void } {
  const door = new EventTarget();
  const run = (): Promise<string> => {
    begun.push(name);
    return new Promise((resolve) => door.addEventListener("open", () => resolve(name)));
  };
  return { run, end: () => void door.dispatchEvent(new Event("open")) };
}

test("as many tasks run as there are permits, and the others in the order in which they came", async () => {
  const begun: string[] = [];
  const semaphore = createSemaphore(2);
  const works = ["a", "b", "c", "d"].map((name) => work(name, begun));
  const results = works.map(({ run }) => semaphore.run(run, neverAborted));
  await settled();
  expect(begun).toEqual(["a", "b"]);
  works[1]?.end();
  expect(await results[1]).toBe("b");
  await settled();
  expect(begun).toEqual(["a", "b", "c"]);
  for (const place of [0, 2]) works[place]?.end();
  await Promise.all([results[0], results[2]]);
  await settled();
  works[3]?.end();
  expect(await results[3]).toBe("d");
  expect(semaphore.isIdle()).toBe(true);
});

test("a caller who leaves while waiting is not run, and no later caller waits for them", async () => {
  const begun: string[] = [];
  const semaphore = createSemaphore(1);
  const [first, second, third] = [work("a", begun), work("b", begun), work("c", begun)];
  const abort = new AbortController();
  const results = [semaphore.run(first.run), semaphore.run(second.run, abort.signal), semaphore.run(third.run)];
  abort.abort(new Error("gone"));
  await expect(results[1]).rejects.toThrow("gone");
  first.end();
  await results[0];
  await settled();
  third.end();
  await results[2];
  expect(begun).toEqual(["a", "c"]);
  await expect(semaphore.run(second.run, abort.signal)).rejects.toThrow("gone");
  expect(semaphore.isIdle()).toBe(true);
});

test("a task that fails frees its permit", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.run(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await semaphore.run(() => Promise.resolve("next"))).toBe("next");
});

test("tasks wait only for tasks of the same key", async () => {
  const begun: string[] = [];
  const semaphore = createKeyedSemaphore(1);
  const [one, again, other] = [work("one", begun), work("again", begun), work("other", begun)];
  const results = [semaphore.run("a", one.run), semaphore.run("a", again.run), semaphore.run("b", other.run)];
  await settled();
  expect(begun).toEqual(["one", "other"]);
  one.end();
  other.end();
  await Promise.all([results[0], results[2]]);
  await settled();
  again.end();
  expect(await results[1]).toBe("again");
});

/** Everything that only waits for promises has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
