import { afterEach, expect, test, vi } from "vitest";
import { deferred, now, scopeOf } from "../../test/deployment.ts";
import { eventOf } from "../../test/journaled-turns.ts";
import type { WriteScope } from "../kernel/index.ts";
import type { JournalEntry, RunWriter, TurnProgress } from "./journal.ts";
import { openRunBuffer, type RunBuffer } from "./run-buffer.ts";

afterEach(() => {
  vi.useRealTimers();
});

interface Write {
  entries: readonly JournalEntry[];
  progress: TurnProgress;
  closed: readonly WriteScope[] | undefined;
}

/** A buffer whose writer records what it writes, once `durable` resolves. */
function opened(changes: Partial<RunWriter> = {}, durable: Promise<void> = Promise.resolve()) {
  const writes: Write[] = [];
  const shown: unknown[] = [];
  const failures: unknown[] = [];
  const writer = {
    progress: { at: now, steps: 0, toolCalls: 0, ranMs: 0 },
    write(entries, progress, closed) {
      writes.push({ entries, progress, closed });
      return durable;
    },
    ...changes,
  } as RunWriter;
  const buffer: RunBuffer = openRunBuffer(writer, {
    clock: () => now,
    show: (event) => shown.push(event),
    onFailure: () => failures.push(buffer.failure),
  });
  return { buffer, writes, shown, failures };
}

const macrotask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
const step = (name: string): JournalEntry => ({ kind: "step", name, value: null });
const event = eventOf("turn-1", 0);

test("what is added while a write is on its way is one write behind it, and an event is shown once it is stored", async () => {
  const durable = deferred<void>();
  const { buffer, writes, shown } = opened({}, durable.promise);
  buffer.add(step("a"));
  await Promise.resolve();
  buffer.add({ kind: "event", event });
  buffer.add(step("b"), step("c"));
  expect(writes.map(({ entries }) => entries)).toEqual([[step("a")]]);
  durable.resolve();
  await buffer.flush();
  expect(writes.map(({ entries }) => entries)).toEqual([[step("a")], [{ kind: "event", event }, step("b"), step("c")]]);
  expect(shown).toEqual([event]);
});

test("nothing is stored before the write that is on its way is durable", async () => {
  const durable = deferred<void>();
  const { buffer } = opened({}, durable.promise);
  buffer.add(step("a"));
  await Promise.resolve();
  let isStored = false;
  const flushing = buffer.flush().then(() => (isStored = true));
  await macrotask();
  expect(isStored).toBe(false);
  durable.resolve();
  await flushing;
});

test("what a closed scope has left is written with the next write, once, and no scope is none", async () => {
  const { buffer, writes } = opened();
  const scope = scopeOf();
  buffer.closeScope(undefined);
  buffer.closeScope(scope);
  for (const name of ["a", "b"]) {
    buffer.add(step(name));
    await buffer.flush();
  }
  expect(writes.map(({ closed }) => closed)).toEqual([[scope], []]);
});

test("a scope knows how far the turn has come; a writer without scopes opens none", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const openScope: RunWriter["openScope"] = (entry, progress) => Object.assign(scopeOf(), { entry, progress });
  const progress = { at: now, steps: 0, toolCalls: 0, ranMs: 0 };
  expect(opened({ openScope }).buffer.openScope(step("a"))).toMatchObject({ entry: step("a"), progress });
  expect(opened().buffer.openScope(step("a"))).toBeUndefined();
});

test("a run has come as far as those before it, or farther, and has run as long as all of them", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  vi.advanceTimersByTime(5_000);
  const { buffer, writes } = opened({ progress: { at: now, steps: 3, toolCalls: 4, ranMs: 1_000 } });
  for (const [steps, toolCalls] of [
    [1, 9],
    [7, 2],
  ] as const) {
    Object.assign(buffer, { steps, toolCalls });
    vi.advanceTimersByTime(250);
    buffer.add(step("a"));
    await buffer.flush();
  }
  expect(writes.map(({ progress }) => progress)).toEqual([
    { at: now, steps: 3, toolCalls: 9, ranMs: 1_250 },
    { at: now, steps: 7, toolCalls: 4, ranMs: 1_500 },
  ]);
});

test("behind a write that failed nothing is written, shown or stored, and every caller gets its error", async () => {
  const full = new Error("full");
  let writes = 0;
  const write = (): Promise<void> => ((writes += 1), Promise.reject(full));
  const { buffer, shown, failures } = opened({ write });
  expect(buffer.failure).toBeUndefined();
  buffer.add({ kind: "event", event });
  await expect(buffer.flush()).rejects.toBe(full);
  expect(buffer.failure).toEqual({ error: full, entries: [{ kind: "event", event }] });
  buffer.add({ kind: "event", event });
  await expect(buffer.flush()).rejects.toBe(full);
  expect(writes).toBe(1);
  expect(failures).toEqual([buffer.failure]);
  expect(shown).toEqual([]);
});

test("a writer that stores writes in their order gets each when a caller waits for it; events are shown in that order", async () => {
  const [first, second] = [deferred<void>(), deferred<void>()];
  const durable = [first.promise, second.promise];
  const given: (readonly JournalEntry[])[] = [];
  const write: RunWriter["write"] = (entries) => durable[given.push(entries) - 1] ?? Promise.resolve();
  const { buffer, shown } = opened({ isOrdered: true, write });
  buffer.add(step("a"));
  buffer.add({ kind: "event", event });
  void buffer.flush();
  const later = eventOf("turn-1", 1);
  buffer.add({ kind: "event", event: later });
  const stored = buffer.flush();
  expect(given).toEqual([[step("a"), { kind: "event", event }], [{ kind: "event", event: later }]]);
  second.resolve();
  await macrotask();
  expect(shown).toEqual([]);
  first.resolve();
  await stored;
  expect(shown).toEqual([event, later]);
  expect(buffer.flush()).toBe(stored);
});

test("what no caller waits for gathers while a write is on its way, and until the runtime has asked for what it wants next", async () => {
  const durable = deferred<void>();
  const { buffer, writes } = opened({ isOrdered: true }, durable.promise);
  const written = () => writes.map(({ entries }) => entries);
  buffer.add(step("a"));
  await Promise.resolve();
  buffer.add(step("b"));
  expect(writes).toEqual([]);
  await macrotask();
  expect(written()).toEqual([[step("a"), step("b")]]);
  for (const name of ["c", "d"]) {
    buffer.add(step(name));
    await macrotask();
  }
  expect(writes).toHaveLength(1);
  durable.resolve();
  await expect.poll(written).toEqual([
    [step("a"), step("b")],
    [step("c"), step("d")],
  ]);
});

test("what was added is handed over before the scope of an entry is opened, by a writer that preserves the order of both", () => {
  const log: unknown[] = [];
  const writer: Partial<RunWriter> = {
    write: (entries) => (log.push(entries), Promise.resolve()),
    openScope: (entry) => (log.push(entry), scopeOf()),
  };
  const { buffer } = opened({ ...writer, isOrdered: true });
  buffer.add(step("a"));
  buffer.openScope();
  buffer.openScope(step("b"));
  buffer.openScope(step("c"));
  expect(log.splice(0)).toEqual([undefined, [step("a")], step("b"), step("c")]);
  const serial = opened(writer).buffer;
  serial.add(step("a"));
  serial.openScope(step("b"));
  expect(log).toEqual([step("b")]);
});

test("of writes that are on their way together the first to be given is the one that failed, told once", async () => {
  const full = new Error("full");
  let failFirst = (_error: Error): void => {};
  const firstFails = new Promise<void>((_resolve, reject) => (failFirst = reject));
  const results = [firstFails, Promise.reject(new Error("behind it"))];
  const { buffer, shown, failures } = opened({ isOrdered: true, write: () => results.shift() ?? Promise.resolve() });
  buffer.add(step("a"));
  void buffer.flush();
  buffer.add({ kind: "event", event });
  const stored = buffer.flush();
  await Promise.resolve();
  failFirst(full);
  await expect(stored).rejects.toBe(full);
  expect(buffer.failure).toEqual({ error: full, entries: [step("a")] });
  expect(failures).toEqual([buffer.failure]);
  expect(shown).toEqual([]);
});
