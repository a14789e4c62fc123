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
  await new Promise((resolve) => setTimeout(resolve));
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
  expect(book.failure).toEqual({ error: full });
  book.add({ kind: "event", event });
  await expect(book.keep()).rejects.toBe(full);
  expect(writes).toBe(1);
  expect(failures).toEqual([{ error: full }]);
  expect(shown).toEqual([]);
});
