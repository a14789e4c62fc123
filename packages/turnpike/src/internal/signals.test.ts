import { expect, test, vi } from "vitest";
import { listenersOf } from "../../test/turns.ts";
import { addWaiter, LazySignal, neverAborted, ownSignal, removeWaiter } from "./signals.ts";

test("a lazy signal is made when it is first read, once", () => {
  const made = vi.spyOn(globalThis, "AbortController");
  const lazy = new LazySignal();
  expect(made).not.toHaveBeenCalled();
  expect(lazy.get()).toBe(lazy.get());
  expect(made).toHaveBeenCalledTimes(1);
  made.mockRestore();
});

for (const row of [
  { name: "was read before", read: (lazy: LazySignal) => lazy.get().aborted },
  { name: "is read only afterwards", read: () => false },
]) {
  test(`a lazy signal that ${row.name} says that it fired, and why`, () => {
    const lazy = new LazySignal();
    expect(row.read(lazy)).toBe(false);
    lazy.abort("late");
    expect([lazy.get().aborted, lazy.get().reason]).toStrictEqual([true, "late"]);
  });
}

test("those who wait for a signal of our own are told once, without a listener on it", () => {
  const { signal, abort } = ownSignal();
  const told: string[] = [];
  const gone = (): void => void told.push("gone");
  addWaiter(signal, () => told.push("stays"));
  addWaiter(signal, gone);
  removeWaiter(signal, gone);
  expect(listenersOf(signal)).toBe(0);
  abort("over");
  abort("again");
  expect([told, signal.aborted, signal.reason]).toStrictEqual([["stays"], true, "over"]);
});

test("no listener is stored on a signal that never fires", () => {
  const signal = neverAborted();
  addWaiter(signal, () => {});
  expect(listenersOf(signal)).toBe(0);
});

test("a platform that forbids a signal while modules load gets a new one for each call", async () => {
  vi.stubGlobal("AbortController", function forbidden() {
    throw new Error("not while modules load");
  });
  const path = "./signals.ts?loaded-where-signals-are-forbidden";
  const signals = (await import(path)) as { neverAborted: typeof neverAborted };
  vi.unstubAllGlobals();
  expect(signals.neverAborted()).not.toBe(signals.neverAborted());
  expect(signals.neverAborted().aborted).toBe(false);
  expect(neverAborted()).toBe(neverAborted());
});

test("the signal of calls without one is not aborted and combines with others", () => {
  const controller = new AbortController();
  const either = AbortSignal.any([neverAborted(), controller.signal]);
  expect(neverAborted().aborted).toBe(false);
  expect(either.aborted).toBe(false);
  controller.abort();
  expect(either.aborted).toBe(true);
  expect(neverAborted().aborted).toBe(false);
});
