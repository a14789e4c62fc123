import { afterEach, expect, test, vi } from "vitest";
import { deferred, now } from "../../test/deployment.ts";
import { eventOf } from "../../test/kept-turns.ts";
import type { JournalEntry, TurnPen, TurnProgress } from "./journal.ts";
import { openTurnBook, type TurnBook } from "./turn-book.ts";

afterEach(() => {
  vi.useRealTimers();
});

interface Write {
  entries: readonly JournalEntry[];
  progress: TurnProgress;
  claims: readonly unknown[] | undefined;
}

/** A book whose pen keeps what it writes, once `durable` resolves. */
function opened(changes: Partial<TurnPen> = {}, durable: Promise<void> = Promise.resolve()) {
  const writes: Write[] = [];
  const shown: unknown[] = [];
  const failures: unknown[] = [];
  const pen = {
    progress: { at: now, steps: 0, toolCalls: 0, ranMs: 0 },
    write(entries, progress, claims) {
      writes.push({ entries, progress, claims });
      return durable;
    },
    ...changes,
  } as TurnPen;
  const book: TurnBook = openTurnBook(pen, {
    clock: () => now,
    show: (event) => shown.push(event),
    onFailure: () => failures.push(book.failure),
  });
  return { book, writes, shown, failures };
}

const macrotask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
const step = (name: string): JournalEntry => ({ kind: "step", name, value: null });
const event = eventOf("turn-1", 0);

test("what is added while a write is on its way is one write behind it, and an event is shown once it is kept", async () => {
  const durable = deferred<void>();
  const { book, writes, shown } = opened({}, durable.promise);
  book.add(step("a"));
  await Promise.resolve();
  book.add({ kind: "event", event });
  book.add(step("b"), step("c"));
  expect(writes.map(({ entries }) => entries)).toEqual([[step("a")]]);
  durable.resolve();
  await book.keep();
  expect(writes.map(({ entries }) => entries)).toEqual([[step("a")], [{ kind: "event", event }, step("b"), step("c")]]);
  expect(shown).toEqual([event]);
});

test("nothing is kept before the write that is on its way is durable", async () => {
  const durable = deferred<void>();
  const { book } = opened({}, durable.promise);
  book.add(step("a"));
  await Promise.resolve();
  let isKept = false;
  const keeping = book.keep().then(() => (isKept = true));
  await macrotask();
  expect(isKept).toBe(false);
  durable.resolve();
  await keeping;
});

test("what is left of a claim is kept with the next write, once, and no claim is none", async () => {
  const { book, writes } = opened();
  book.join(undefined);
  book.join("claim");
  for (const name of ["a", "b"]) {
    book.add(step(name));
    await book.keep();
  }
  expect(writes.map(({ claims }) => claims)).toEqual([["claim"], []]);
});

test("a claim knows how far the turn has come; a pen without claims makes none", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const claimFor: TurnPen["claimFor"] = (entry, progress) => ({ entry, progress });
  const progress = { at: now, steps: 0, toolCalls: 0, ranMs: 0 };
  expect(opened({ claimFor }).book.claimFor(step("a"))).toEqual({ entry: step("a"), progress });
  expect(opened().book.claimFor(step("a"))).toBeUndefined();
});

test("a run has come as far as those before it, or farther, and has run as long as all of them", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime(5_000);
  const { book, writes } = opened({ progress: { at: now, steps: 3, toolCalls: 4, ranMs: 1_000 } });
  for (const [steps, toolCalls] of [
    [1, 9],
    [7, 2],
  ] as const) {
    Object.assign(book, { steps, toolCalls });
    vi.advanceTimersByTime(250);
    book.add(step("a"));
    await book.keep();
  }
  expect(writes.map(({ progress }) => progress)).toEqual([
    { at: now, steps: 3, toolCalls: 9, ranMs: 1_250 },
    { at: now, steps: 7, toolCalls: 4, ranMs: 1_500 },
  ]);
});

test("behind a write that failed nothing is written, shown or kept, and everybody gets its error", async () => {
  const full = new Error("full");
  let writes = 0;
  const write = (): Promise<void> => ((writes += 1), Promise.reject(full));
  const { book, shown, failures } = opened({ write });
  expect(book.failure).toBeUndefined();
  book.add({ kind: "event", event });
  await expect(book.keep()).rejects.toBe(full);
  expect(book.failure).toEqual({ error: full, unkept: [{ kind: "event", event }] });
  book.add({ kind: "event", event });
  await expect(book.keep()).rejects.toBe(full);
  expect(writes).toBe(1);
  expect(failures).toEqual([book.failure]);
  expect(shown).toEqual([]);
});

test("a pen that keeps writes in their order gets each when somebody waits for it; events are shown in that order", async () => {
  const [first, second] = [deferred<void>(), deferred<void>()];
  const durable = [first.promise, second.promise];
  const given: (readonly JournalEntry[])[] = [];
  const write: TurnPen["write"] = (entries) => durable[given.push(entries) - 1] ?? Promise.resolve();
  const { book, shown } = opened({ isOrdered: true, write });
  book.add(step("a"));
  book.add({ kind: "event", event });
  void book.keep();
  const later = eventOf("turn-1", 1);
  book.add({ kind: "event", event: later });
  const kept = book.keep();
  expect(given).toEqual([[step("a"), { kind: "event", event }], [{ kind: "event", event: later }]]);
  second.resolve();
  await macrotask();
  expect(shown).toEqual([]);
  first.resolve();
  await kept;
  expect(shown).toEqual([event, later]);
  expect(book.keep()).toBe(kept);
});

test("what nobody waits for gathers while a write is on its way, and until the runtime has asked for what it wants next", async () => {
  const durable = deferred<void>();
  const { book, writes } = opened({ isOrdered: true }, durable.promise);
  const written = () => writes.map(({ entries }) => entries);
  book.add(step("a"));
  await Promise.resolve();
  book.add(step("b"));
  expect(writes).toEqual([]);
  await macrotask();
  expect(written()).toEqual([[step("a"), step("b")]]);
  for (const name of ["c", "d"]) {
    book.add(step(name));
    await macrotask();
  }
  expect(writes).toHaveLength(1);
  durable.resolve();
  await expect.poll(written).toEqual([
    [step("a"), step("b")],
    [step("c"), step("d")],
  ]);
});

test("what was added is handed over before an entry is claimed, by a pen that keeps the order of both", () => {
  const log: unknown[] = [];
  const pen: Partial<TurnPen> = {
    write: (entries) => (log.push(entries), Promise.resolve()),
    claimFor: (entry) => log.push(entry),
  };
  const { book } = opened({ ...pen, isOrdered: true });
  book.add(step("a"));
  book.claimFor();
  book.claimFor(step("b"));
  book.claimFor(step("c"));
  expect(log.splice(0)).toEqual([undefined, [step("a")], step("b"), step("c")]);
  const serial = opened(pen).book;
  serial.add(step("a"));
  serial.claimFor(step("b"));
  expect(log).toEqual([step("b")]);
});

test("of writes that are on their way together the first to be given is the one that failed, told once", async () => {
  const full = new Error("full");
  let failFirst = (_error: Error): void => {};
  const firstFails = new Promise<void>((_resolve, reject) => (failFirst = reject));
  const results = [firstFails, Promise.reject(new Error("behind it"))];
  const { book, shown, failures } = opened({ isOrdered: true, write: () => results.shift() ?? Promise.resolve() });
  book.add(step("a"));
  void book.keep();
  book.add({ kind: "event", event });
  const kept = book.keep();
  await Promise.resolve();
  failFirst(full);
  await expect(kept).rejects.toBe(full);
  expect(book.failure).toEqual({ error: full, unkept: [step("a")] });
  expect(failures).toEqual([book.failure]);
  expect(shown).toEqual([]);
});
