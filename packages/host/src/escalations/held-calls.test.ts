import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createHeldCalls, type HeldCallsOptions, type HeldOwner } from "./held-calls.ts";
import type { EscalationKey } from "./pending-escalations.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const owner: HeldOwner = { namespaceId: "acme", credentialId: "credential-1" };
const escalation = (id: string): EscalationKey => ({ namespaceId: "acme", id });

/** Calls that are held, the escalations that wait, and what was read and reported. */
function openWorld(changes: Partial<HeldCallsOptions> = {}) {
  const world = {
    pending: new Set(["q1", "q2"]),
    sockets: 100,
    isFailing: false,
    /** Called within each poll. */
    duringPoll: (): void => {},
    polls: [] as string[][],
    failures: [] as unknown[],
  };
  const held = createHeldCalls({
    most: 100,
    takeSocket() {
      if (world.sockets === 0) return undefined;
      world.sockets -= 1;
      return () => void (world.sockets += 1);
    },
    async findPending(escalations) {
      world.polls.push(escalations.map(({ id }) => id));
      const pending = escalations.filter(({ id }) => world.pending.has(id));
      world.duringPoll();
      await Promise.resolve();
      if (world.isFailing) throw new Error("The database is away.");
      return pending;
    },
    onError: (error) => void world.failures.push(error),
    ...changes,
  });
  const ended: unknown[] = [];
  const hold = (
    id: string,
    { ms = 60_000, by = owner, signal = undefined as AbortSignal | undefined } = {},
  ): boolean => {
    const holding = held.hold(escalation(id), by, { ms, signal });
    void holding?.then(
      (isAnswered) => ended.push([id, isAnswered]),
      (error: unknown) => ended.push([id, error]),
    );
    return holding !== undefined;
  };
  return { world, held, hold, ended };
}

test("calls are released when their escalation was answered on another host, and one statement asks about all", async () => {
  const { world, hold, ended } = openWorld();
  for (const id of ["q1", "q1", "q2"]) expect(hold(id)).toBe(true);
  await vi.advanceTimersByTimeAsync(500);
  expect([world.polls, ended]).toEqual([[["q1", "q2"]], []]);
  world.pending.delete("q1");
  await vi.advanceTimersByTimeAsync(500);
  expect(ended).toEqual([
    ["q1", true],
    ["q1", true],
  ]);
  await vi.advanceTimersByTimeAsync(500);
  expect(world.polls.at(-1)).toEqual(["q2"]);
});

test("an answer of this host releases them at once, also one that is given within a poll", async () => {
  const { world, held, hold, ended } = openWorld();
  hold("q1");
  world.pending.delete("q1");
  held.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual([["q1", true]]);
  hold("q2");
  world.duringPoll = () => {
    world.duringPoll = () => {};
    world.pending.delete("q2");
    held.wake();
  };
  await vi.advanceTimersByTimeAsync(500);
  expect(ended.at(-1)).toEqual(["q2", true]);
});

test("a call that is held within a poll is not released by it", async () => {
  const { world, hold, ended } = openWorld();
  world.pending.add("q3");
  hold("q1");
  world.duringPoll = () => {
    world.duringPoll = () => {};
    hold("q3");
  };
  await vi.advanceTimersByTimeAsync(999);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(world.polls).toEqual([["q1"], ["q1", "q3"]]);
});

test("a call is released when its time is over, and nothing is polled any more", async () => {
  const { world, held, hold, ended } = openWorld();
  hold("q1", { ms: 1200 });
  await vi.advanceTimersByTimeAsync(1200);
  expect([ended, world.polls.length, world.sockets]).toEqual([[["q1", false]], 2, 100]);
  await vi.advanceTimersByTimeAsync(5000);
  held.wake();
  expect([world.polls.length, vi.getTimerCount()]).toEqual([2, 0]);
});

test("a call whose caller has gone rejects with why, and one whose caller is gone already does at once", async () => {
  const { world, hold, ended } = openWorld();
  const caller = new AbortController();
  hold("q1", { signal: caller.signal });
  caller.abort("gone");
  hold("q2", { signal: caller.signal });
  await vi.advanceTimersByTimeAsync(0);
  expect([ended, world.sockets]).toEqual([
    [
      ["q1", "gone"],
      ["q2", "gone"],
    ],
    100,
  ]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(vi.getTimerCount()).toBe(0);
});

test("a host that stops releases all as if their time were over, and holds no others", async () => {
  const { world, held, hold, ended } = openWorld();
  for (const id of ["q1", "q2"]) hold(id);
  held.close();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual([
    ["q1", false],
    ["q2", false],
  ]);
  expect([hold("q1"), world.sockets, vi.getTimerCount()]).toEqual([false, 100, 0]);
});

test("a database that fails releases no call: it is reported once, and asked again", async () => {
  const { world, hold, ended } = openWorld();
  hold("q1");
  world.isFailing = true;
  world.pending.delete("q1");
  await vi.advanceTimersByTimeAsync(2000);
  expect([ended, world.failures.length]).toEqual([[], 1]);
  world.isFailing = false;
  await vi.advanceTimersByTimeAsync(500);
  expect(ended).toEqual([["q1", true]]);
});

describe("no more calls are held", () => {
  const other = { namespaceId: "acme", credentialId: "credential-2" };
  const third = { namespaceId: "acme", credentialId: "credential-3" };
  const foreign = { namespaceId: "globex", credentialId: "credential-1" };

  test("than half with one credential, three quarters of one tenant, and all together", () => {
    const { hold } = openWorld({ most: 8 });
    const holdAs = (by: HeldOwner, times: number): number =>
      Array.from({ length: times }, () => hold("q1", { by })).filter(Boolean).length;
    expect(holdAs(owner, 8)).toBe(4);
    expect(holdAs(other, 8)).toBe(2);
    expect(holdAs(third, 8)).toBe(0);
    expect(holdAs(foreign, 8)).toBe(2);
    expect(holdAs({ namespaceId: "initech", credentialId: "credential-9" }, 8)).toBe(0);
  });

  test("than there are sockets for, and a refused one counts for no one", async () => {
    const { world, held, hold } = openWorld({ most: 2 });
    world.sockets = 0;
    expect(hold("q1")).toBe(false);
    world.sockets = 1;
    expect(hold("q1")).toBe(true);
    world.pending.clear();
    held.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect([world.sockets, hold("q1")]).toEqual([1, true]);
  });

  test("than one where only one may be", () => {
    const { hold } = openWorld({ most: 1 });
    expect([hold("q1"), hold("q1"), hold("q1", { by: foreign })]).toEqual([true, false, false]);
  });
});
