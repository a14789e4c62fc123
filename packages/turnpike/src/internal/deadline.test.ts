import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deferred, rejection } from "../../test/deployment.ts";
import { aborted, listenersOf, never } from "../../test/turns.ts";
import { openDeadline, orAbort, TimeLimitError, withinTime } from "./deadline.ts";
import { neverAborted, ownSignal, type LazySignal } from "./signals.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  // In this order, and not spy by spy: a spy that vitest still knows puts the faked timer back when the file has ended.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const late = "It took too long.";

describe("work whose caller has gone", () => {
  test("settles as the work does while the signal has not fired", async () => {
    const { signal } = new AbortController();
    await expect(orAbort(Promise.resolve("done"), signal)).resolves.toBe("done");
    await expect(orAbort(Promise.reject(new Error("mine")), signal)).rejects.toThrow("mine");
    await expect(orAbort("no promise", signal)).resolves.toBe("no promise");
    await expect(orAbort(Promise.resolve("done"), neverAborted())).resolves.toBe("done");
  });

  for (const row of [
    { name: "fires", start: (controller: AbortController) => orAbort(never(), controller.signal) },
    {
      name: "has fired",
      start: (controller: AbortController) => (controller.abort("gone"), orAbort(never(), controller.signal)),
    },
  ]) {
    test(`rejects with the signal's reason when it ${row.name}`, async () => {
      const controller = new AbortController();
      const waiting = rejection(row.start(controller));
      controller.abort("gone");
      expect(await waiting).toBe("gone");
    });
  }

  test("is ignored when it settles later, also when it fails", async () => {
    const controller = new AbortController();
    const fails = deferred<Promise<never>>();
    const waiting = rejection(orAbort(fails.promise, controller.signal));
    controller.abort("gone");
    expect(await waiting).toBe("gone");
    fails.resolve(Promise.reject(new Error("an unhandled rejection would fail this run")));
    await vi.advanceTimersByTimeAsync(0);
  });

  test("leaves nothing on a signal that lives on, however often and however many at once", async () => {
    const { signal } = new AbortController();
    for (let time = 0; time < 100; time += 1) await orAbort(Promise.resolve(time), signal);
    expect(listenersOf(signal)).toBe(0);
    const gates = Array.from({ length: 50 }, () => deferred<void>());
    const waiting = gates.map(({ promise }) => orAbort(promise, signal));
    await vi.advanceTimersByTimeAsync(0);
    expect(listenersOf(signal)).toBe(1);
    gates.forEach(({ resolve }) => resolve());
    await Promise.all(waiting);
    expect(listenersOf(signal)).toBe(0);
  });

  test("is told to all that wait for one signal", async () => {
    const controller = new AbortController();
    const waiting = Array.from({ length: 3 }, () => rejection(orAbort(never(), controller.signal)));
    controller.abort("gone");
    expect(await Promise.all(waiting)).toStrictEqual(["gone", "gone", "gone"]);
    expect(listenersOf(controller.signal)).toBe(0);
  });
});

describe("work under a signal of our own", () => {
  test("settles as it does, and puts nothing on the signal", async () => {
    const { signal } = ownSignal();
    const listened = vi.spyOn(signal, "addEventListener");
    await expect(orAbort(Promise.resolve("done"), signal)).resolves.toBe("done");
    await expect(orAbort("no promise", signal)).resolves.toBe("no promise");
    await expect(orAbort(Promise.reject(new Error("mine")), signal)).rejects.toThrow("mine");
    expect(listened).not.toHaveBeenCalled();
  });

  test("rejects with the signal's reason when it fires, or has fired, and is ignored from then on", async () => {
    const { signal, abort } = ownSignal();
    const fails = deferred<Promise<never>>();
    const waiting = rejection(orAbort(fails.promise, signal));
    abort("gone");
    expect(await waiting).toBe("gone");
    expect(await rejection(orAbort(fails.promise, signal))).toBe("gone");
    fails.resolve(Promise.reject(new Error("an unhandled rejection would fail this run")));
    await vi.advanceTimersByTimeAsync(0);
  });

  test("gives its answer within its grace", async () => {
    const { signal, abort } = ownSignal();
    const work = deferred<string>();
    const waiting = orAbort(work.promise, signal, 1_000);
    abort("gone");
    await vi.advanceTimersByTimeAsync(999);
    work.resolve("done");
    expect(await waiting).toBe("done");
  });
});

describe("work with a grace", () => {
  for (const row of [
    { name: "fires while it runs", abort: (controller: AbortController) => controller.abort("gone"), before: false },
    {
      name: "had fired before it began",
      abort: (controller: AbortController) => controller.abort("gone"),
      before: true,
    },
  ]) {
    test(`gives its answer for so long after the signal ${row.name}, and no longer`, async () => {
      for (const { after, answer } of [
        { after: 999, answer: "done" },
        { after: 1_000, answer: "No answer within 1000 ms after the caller had gone." },
      ]) {
        const controller = new AbortController();
        if (row.before) row.abort(controller);
        const work = deferred<string>();
        const waiting = orAbort(work.promise, controller.signal, 1_000).catch((error: Error) => error.message);
        if (!row.before) row.abort(controller);
        await vi.advanceTimersByTimeAsync(after);
        work.resolve("done");
        expect(await waiting).toBe(answer);
        expect([vi.getTimerCount(), listenersOf(controller.signal)]).toStrictEqual([0, 0]);
      }
    });
  }
});

describe("a deadline", () => {
  test("fires when its time is up and not before", () => {
    const { signal } = openDeadline(50, [neverAborted()], late);
    vi.advanceTimersByTime(49);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.reason).toStrictEqual(new TimeLimitError(late));
  });

  test("fires with the caller's signal, with the caller's reason", () => {
    const caller = new AbortController();
    const { signal } = openDeadline(50, [caller.signal], late);
    expect(signal.aborted).toBe(false);
    caller.abort("gone");
    expect([signal.aborted, signal.reason]).toStrictEqual([true, "gone"]);
  });

  test("has fired when the caller's had", () => {
    const { signal } = openDeadline(50, [AbortSignal.abort("gone")], late);
    expect([signal.aborted, signal.reason]).toStrictEqual([true, "gone"]);
  });

  const ends: {
    name: string;
    end: (parts: { caller: AbortController; close: (reason: Error) => void }) => void;
    reason: string;
  }[] = [
    { name: "its time", end: () => vi.advanceTimersByTime(50), reason: late },
    { name: "the caller", end: ({ caller }) => caller.abort(new Error("gone")), reason: "gone" },
    { name: "the end", end: ({ close }) => close(new Error("over")), reason: "over" },
  ];
  for (const { name, end, reason } of ends) {
    test(`leaves neither timer nor listener once it is closed after ${name}, and the first reason stays`, () => {
      const caller = new AbortController();
      const { close, signal } = openDeadline(50, [caller.signal], late);
      expect([vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([1, 1]);
      end({ caller, close });
      close(new Error("closed"));
      expect([vi.getTimerCount(), listenersOf(caller.signal), signal.aborted]).toStrictEqual([0, 0, true]);
      expect(signal.reason).toMatchObject({ message: reason });
    });
  }
});

describe("a call within its time", () => {
  test("is its answer; its signal does not fire afterwards, and nothing is left behind", async () => {
    const caller = new AbortController();
    const signals: AbortSignal[] = [];
    const call = (signal: LazySignal): Promise<string> => (signals.push(signal.get()), Promise.resolve("done"));
    expect(await withinTime({ timeoutMs: 50, late }, caller.signal, call)).toBe("done");
    caller.abort("late");
    expect([signals[0]?.aborted, vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([false, 0, 0]);
  });

  test("that ends before the event loop turns never makes a timer, a listener or a signal; one that takes longer does", async () => {
    const caller = new AbortController();
    const made = {
      timers: vi.spyOn(globalThis, "setTimeout"),
      signals: vi.spyOn(globalThis, "AbortController"),
      listeners: vi.spyOn(caller.signal, "addEventListener"),
    };
    const soon = async (): Promise<string> => (await undefined, await undefined, "done");
    const answer = await withinTime({ timeoutMs: 50, late }, caller.signal, soon);
    const counts = Object.values(made).map(({ mock }) => mock.calls.length);
    vi.restoreAllMocks();
    expect([answer, counts]).toStrictEqual(["done", [0, 0, 0]]);

    const slow = deferred<string>();
    const calling = withinTime({ timeoutMs: 50, late }, caller.signal, () => slow.promise);
    await vi.advanceTimersByTimeAsync(49);
    expect([vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([1, 1]);
    slow.resolve("done");
    expect(await calling).toBe("done");
    expect([vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([0, 0]);
  });

  test("that throws before it returns a promise rejects and leaves nothing behind", async () => {
    const caller = new AbortController();
    const calling = withinTime({ timeoutMs: 50, late }, caller.signal, () => {
      throw new Error("mine");
    });
    await expect(calling).rejects.toThrow("mine");
    expect([vi.getTimerCount(), listenersOf(caller.signal)]).toStrictEqual([0, 0]);
  });

  test("is given up when its time is up, without any grace, and its signal fires", async () => {
    const signals: AbortSignal[] = [];
    const call = (signal: LazySignal): Promise<never> => (signals.push(signal.get()), never());
    const calling = rejection(withinTime({ timeoutMs: 50, graceMs: 1_000, late }, neverAborted(), call));
    await vi.advanceTimersByTimeAsync(50);
    expect(await calling).toStrictEqual(new TimeLimitError(late));
    expect(signals[0]?.aborted).toBe(true);
  });

  test("is given up when the caller goes; with a grace it may still answer", async () => {
    for (const { graceMs, answer } of [
      { graceMs: 0, answer: "gone" },
      { graceMs: 1_000, answer: "done" },
    ]) {
      const caller = new AbortController();
      const call = async (signal: LazySignal): Promise<string> => (await aborted(signal.get()), "done");
      const calling = withinTime({ timeoutMs: 50, graceMs, late }, caller.signal, call).catch(
        (error: unknown) => error,
      );
      caller.abort("gone");
      expect(await calling).toBe(answer);
    }
  });
});
