import { expect, test } from "vitest";
import { neverAborted } from "../../../../tests/support/host/world.ts";
import { createTurnstile, createTurnstiles } from "./semaphore.ts";

/** Work that has begun when it says so, and ends when it is told to. */
function work(name: string, begun: string[]): { run: () => Promise<string>; end: () => void } {
  const door = new EventTarget();
  const run = (): Promise<string> => {
    begun.push(name);
    return new Promise((resolve) => door.addEventListener("open", () => resolve(name)));
  };
  return { run, end: () => void door.dispatchEvent(new Event("open")) };
}

test("so many pass at a time, and the others in the order in which they came", async () => {
  const begun: string[] = [];
  const turnstile = createTurnstile(2);
  const works = ["a", "b", "c", "d"].map((name) => work(name, begun));
  const passed = works.map(({ run }) => turnstile.pass(run, neverAborted));
  await settled();
  expect(begun).toEqual(["a", "b"]);
  works[1]?.end();
  expect(await passed[1]).toBe("b");
  await settled();
  expect(begun).toEqual(["a", "b", "c"]);
  for (const place of [0, 2]) works[place]?.end();
  await Promise.all([passed[0], passed[2]]);
  await settled();
  works[3]?.end();
  expect(await passed[3]).toBe("d");
  expect(turnstile.isEmpty()).toBe(true);
});

test("who goes away while waiting has no turn, and nobody behind waits for them", async () => {
  const begun: string[] = [];
  const turnstile = createTurnstile(1);
  const [first, second, third] = [work("a", begun), work("b", begun), work("c", begun)];
  const abort = new AbortController();
  const passed = [turnstile.pass(first.run), turnstile.pass(second.run, abort.signal), turnstile.pass(third.run)];
  abort.abort(new Error("gone"));
  await expect(passed[1]).rejects.toThrow("gone");
  first.end();
  await passed[0];
  await settled();
  third.end();
  await passed[2];
  expect(begun).toEqual(["a", "c"]);
  await expect(turnstile.pass(second.run, abort.signal)).rejects.toThrow("gone");
  expect(turnstile.isEmpty()).toBe(true);
});

test("work that fails makes room", async () => {
  const turnstile = createTurnstile(1);
  await expect(turnstile.pass(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await turnstile.pass(() => Promise.resolve("next"))).toBe("next");
});

test("a key waits for itself alone", async () => {
  const begun: string[] = [];
  const turnstiles = createTurnstiles(1);
  const [one, again, other] = [work("one", begun), work("again", begun), work("other", begun)];
  const passed = [turnstiles.pass("a", one.run), turnstiles.pass("a", again.run), turnstiles.pass("b", other.run)];
  await settled();
  expect(begun).toEqual(["one", "other"]);
  one.end();
  other.end();
  await Promise.all([passed[0], passed[2]]);
  await settled();
  again.end();
  expect(await passed[1]).toBe("again");
});

/** Everything that only waits for promises has happened. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
