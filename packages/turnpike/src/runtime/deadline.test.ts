import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listenersOf, never } from "../../../../tests/support/turn-world.ts";
import { openDeadline } from "./deadline.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("the signal fires at the deadline and not before", () => {
  const { signal } = openDeadline(50, undefined);
  vi.advanceTimersByTime(49);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ message: "The turn did not end within 50 ms." });
});

test("the signal fires with the caller's, with the caller's reason", () => {
  const caller = new AbortController();
  const { signal } = openDeadline(50, caller.signal);
  expect(signal.aborted).toBe(false);
  caller.abort("gone");
  expect([signal.aborted, signal.reason]).toStrictEqual([true, "gone"]);
});

test("the signal has fired when the caller's had", () => {
  const { signal, orEnd } = openDeadline(50, AbortSignal.abort("gone"));
  expect([signal.aborted, signal.reason]).toStrictEqual([true, "gone"]);
  return expect(orEnd(never())).rejects.toBe("gone");
});

const ends: {
  name: string;
  end: (parts: { caller: AbortController; close: (reason: Error) => void }) => void;
  reason: string;
}[] = [
  { name: "the deadline", end: () => vi.advanceTimersByTime(50), reason: "The turn did not end within 50 ms." },
  { name: "the caller", end: ({ caller }) => caller.abort(new Error("gone")), reason: "gone" },
  { name: "the end", end: ({ close }) => close(new Error("over")), reason: "over" },
];
for (const { name, end, reason } of ends) {
  test(`work that has not settled rejects when ${name} comes first`, async () => {
    const caller = new AbortController();
    const { orEnd, close } = openDeadline(50, caller.signal);
    const work = orEnd(never());
    end({ caller, close });
    await expect(work).rejects.toThrow(reason);
  });

  test(`work that has settled keeps its value when ${name} comes after`, async () => {
    const caller = new AbortController();
    const { orEnd, close } = openDeadline(50, caller.signal);
    const work = orEnd(Promise.resolve("done"));
    await expect(work).resolves.toBe("done");
    end({ caller, close });
    await expect(work).resolves.toBe("done");
  });

  test(`timer and listener are gone once it is closed after ${name}`, () => {
    const caller = new AbortController();
    const { close, signal } = openDeadline(50, caller.signal);
    expect([vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([1, 1]);
    end({ caller, close });
    close(new Error("over"));
    expect([vi.getTimerCount(), listenersOf(caller.signal), signal.aborted]).toStrictEqual([0, 0, true]);
  });
}

test("work that fails rejects with its own error", () => {
  const { orEnd } = openDeadline(50, undefined);
  return expect(orEnd(Promise.reject(new Error("mine")))).rejects.toThrow("mine");
});

test("the first reason stays when others follow", () => {
  const caller = new AbortController();
  const { signal, close } = openDeadline(50, caller.signal);
  caller.abort("first");
  close(new Error("second"));
  vi.advanceTimersByTime(50);
  expect(signal.reason).toBe("first");
});

test("a caller that aborts after the end changes nothing", () => {
  const caller = new AbortController();
  const { signal, close } = openDeadline(50, caller.signal);
  close(new Error("over"));
  caller.abort("late");
  expect(signal.reason).toMatchObject({ message: "over" });
});
