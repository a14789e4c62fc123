import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { context } from "../../test/records.ts";
import type { TurnJournalStore } from "./journal/journal-store.ts";
import type { LedgerRunWriter } from "./journal/run-writer.ts";
import { createTurnEngine } from "./turn-engine.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A journal with turns that no host runs, and an engine whose runs end as told. */
function engineWith(ids: readonly string[], run: (id: string) => Promise<unknown>, mayResume = () => true) {
  const heard: string[] = [];
  const open = new Set(ids);
  const errors: unknown[] = [];
  const journal = {
    cancelled: () => Promise.resolve([]),
    wakeExpired: () => Promise.resolve([]),
    wakeMissed: () => Promise.resolve([]),
    unattended: () => Promise.resolve([...open]),
    take(id: string) {
      heard.push(`take ${id}`);
      open.delete(id);
      const turn = { request: { executionId: id }, context: context(), isAsync: true };
      return Promise.resolve({ id, turn } as unknown as LedgerRunWriter);
    },
    leave({ id }: { id: string }) {
      heard.push(`leave ${id}`);
      open.add(id);
      return Promise.resolve();
    },
    pauseAll: () => void heard.push("pause all"),
    stopAll: () => void heard.push("stop all"),
  } as unknown as TurnJournalStore;
  const engine = createTurnEngine({
    journal,
    runs: { executeTurn: (_context, { executionId }) => run(executionId) } as ServiceApi,
    contextNow: (given) => Promise.resolve(given),
    callOf: () => ({}),
    clock: () => new Date(),
    mayResume,
    onError: (error) => void errors.push(error),
  });
  return { engine, heard, errors, journal };
}

const taken = (heard: readonly string[]): number => heard.filter((one) => one.startsWith("take")).length;

test("a turn that no host runs is taken, and one that has ended is not taken again", async () => {
  const { engine, heard } = engineWith(["a", "b"], () => Promise.resolve());
  engine.start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(heard).toEqual(["take a", "take b"]);
  await engine.close();
});

test("a host that may not resume turns takes none, and does once it may", async () => {
  let may = false;
  const { engine, heard } = engineWith(
    ["a"],
    () => Promise.resolve(),
    () => may,
  );
  engine.start();
  await vi.advanceTimersByTimeAsync(5000);
  expect(heard).toEqual([]);
  may = true;
  await vi.advanceTimersByTimeAsync(5000);
  expect(heard).toEqual(["take a"]);
  await engine.close();
});

test("a turn that finds no slot is left, and tried again every second, which is no error", async () => {
  const full = new ServiceHttpError(503, "overloaded", "Full.");
  const { engine, heard, errors } = engineWith(["a"], () => Promise.reject(full));
  engine.start();
  await vi.advanceTimersByTimeAsync(10_500);
  expect(taken(heard)).toBeGreaterThanOrEqual(5);
  expect(heard.filter((one) => one === "leave a")).toHaveLength(taken(heard));
  expect(errors).toEqual([]);
  await engine.close();
});

test("thousands that no host runs resume without a second between a few and the next few", async () => {
  const ids = Array.from({ length: 1000 }, (_, place) => `turn-${place}`);
  const { engine, heard } = engineWith(ids, () => Promise.resolve());
  engine.start();
  await vi.advanceTimersByTimeAsync(500);
  expect(taken(heard)).toBe(1000);
  await engine.close();
});

test("when one finds no slot, the others are not tried before a second has passed", async () => {
  const ids = Array.from({ length: 1000 }, (_, place) => `turn-${place}`);
  const full = new ServiceHttpError(503, "overloaded", "Full.");
  let isBusy = true;
  const { engine, heard } = engineWith(ids, () => (isBusy ? Promise.reject(full) : Promise.resolve()));
  engine.start();
  await vi.advanceTimersByTimeAsync(500);
  expect(taken(heard)).toBe(32);
  await vi.advanceTimersByTimeAsync(1000);
  expect(taken(heard)).toBe(64);
  isBusy = false;
  await vi.advanceTimersByTimeAsync(2000);
  // Those that found no slot were tried again.
  expect(taken(heard)).toBe(1064);
  await engine.close();
});

test("while others take what this host wants, it does not poll again at once", async () => {
  const ids = Array.from({ length: 32 }, (_, place) => `turn-${place}`);
  const { engine, journal } = engineWith(ids, () => Promise.resolve());
  const poll = vi.spyOn(journal, "unattended");
  vi.spyOn(journal, "take").mockResolvedValue(undefined);
  engine.start();
  await vi.advanceTimersByTimeAsync(2500);
  expect(poll).toHaveBeenCalledTimes(3);
  await engine.close();
});

test("a turn that fails again and again is tried less and less often, and the host is told", async () => {
  const broken = new Error("broken");
  const { engine, heard, errors } = engineWith(["a"], () => Promise.reject(broken));
  engine.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(taken(heard)).toBeLessThan(9);
  expect(errors).toEqual(Array.from({ length: taken(heard) }, () => broken));
  await engine.close();
});

test("a turn that was paused is no error", async () => {
  const { engine, errors } = engineWith(["a"], () => Promise.reject(new TurnPause("later")));
  engine.start();
  await vi.advanceTimersByTimeAsync(3000);
  expect(errors).toEqual([]);
  await engine.close();
});

test("when the host stops nothing more is taken, runs may end, and those that do not are stopped", async () => {
  let end = (): void => {};
  const { engine, heard } = engineWith(["a"], () => new Promise<void>((resolve) => void (end = resolve)));
  engine.start();
  await vi.advanceTimersByTimeAsync(10);
  const closing = engine.close();
  engine.wake();
  await vi.advanceTimersByTimeAsync(9000);
  expect(heard).toEqual(["take a", "pause all"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(heard.at(-1)).toBe("stop all");
  end();
  await closing;
  expect(taken(heard)).toBe(1);
});

test("when the host stops during a poll, nothing that it found is taken any more, and no other poll follows", async () => {
  const { engine, heard, journal } = engineWith(["a", "b"], () => Promise.resolve());
  let found = (_ids: string[]): void => {};
  const poll = vi.spyOn(journal, "unattended");
  poll.mockReturnValueOnce(new Promise((resolve) => void (found = resolve)));
  engine.start();
  await vi.advanceTimersByTimeAsync(10);
  const closing = engine.close();
  found(["a", "b"]);
  await closing;
  expect(heard).toEqual(["pause all"]);
  expect([poll.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("a poll that fails is reported, and made again", async () => {
  const { engine, heard, errors, journal } = engineWith(["a"], () => Promise.resolve());
  const out = new Error("out");
  vi.spyOn(journal, "unattended").mockRejectedValueOnce(out);
  engine.start();
  await vi.advanceTimersByTimeAsync(2500);
  expect(heard).toEqual(["take a"]);
  expect(errors).toEqual([out]);
  await engine.close();
});

test("a turn that cannot be taken stops no other from resuming, and is tried less and less often", async () => {
  const { engine, heard, errors, journal } = engineWith(["a", "b"], () => Promise.resolve());
  const unreadable = new Error("unreadable");
  const take = journal.take.bind(journal);
  vi.spyOn(journal, "take").mockImplementation((id) => (id === "a" ? Promise.reject(unreadable) : take(id)));
  engine.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toEqual(["take b"]);
  expect(errors.length).toBeLessThan(9);
  expect(errors).toEqual(errors.map(() => unreadable));
  await engine.close();
});

test("asynchronous turns that were started by a request are waited for when the host stops", async () => {
  let end = (): void => {};
  const { engine } = engineWith([], () => Promise.resolve());
  const api = engine.watch({
    executeTurn: () => new Promise((resolve) => void (end = resolve as () => void)),
  } as unknown as ServiceApi);
  void api.executeTurn(context(), {} as never, { isAsync: true });
  let isClosed = false;
  const closing = engine.close().then(() => void (isClosed = true));
  await vi.advanceTimersByTimeAsync(100);
  expect(isClosed).toBe(false);
  end();
  await closing;
  expect(isClosed).toBe(true);
});
