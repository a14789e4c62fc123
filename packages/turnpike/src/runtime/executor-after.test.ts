import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { untyped } from "../../test/deployment.ts";
import {
  escalateTool,
  calling,
  completed,
  dataOf,
  escalationGrant,
  listenersOf,
  never,
  runGrant,
  saidOf,
  ticks,
  toolGrant,
  toolOf,
  turnWorldOf,
  typesOf,
} from "../../test/turns.ts";
import type { AuditEvent, Grant, TurnEvent, TurnResult } from "../contracts/index.ts";
import type { RuntimeHost, RuntimeOutcome, RuntimePlugin } from "./plugin.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets everything that waits for nothing but promises go as far as it can. */
async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

describe("after the end", () => {
  const endings: { name: string; outcome: RuntimeOutcome | undefined; said: string }[] = [
    { name: "completed", outcome: completed(), said: "succeeded" },
    { name: "failed", outcome: { type: "fail", error: { code: "mine", message: "x" } }, said: "mine" },
    { name: "escalated", outcome: { type: "escalate", reason: "May I?" }, said: "escalated" },
    { name: "was cancelled", outcome: undefined, said: "turn_cancelled" },
  ];
  for (const { name, outcome, said } of endings) {
    test(`a plugin whose turn ${name} calls no tool and emits nothing`, async () => {
      const read = toolOf("files.read");
      const hosts: RuntimeHost[] = [];
      const events: TurnEvent[] = [];
      const world = turnWorldOf(
        (_turn, host) => {
          hosts.push(host);
          return outcome === undefined ? never() : Promise.resolve(outcome);
        },
        { tools: [read, escalateTool] },
      );
      const turn = world.run({ options: { timeoutMs: 1_000 } }, { onEvent: (event) => events.push(event) });
      await vi.advanceTimersByTimeAsync(1_000);
      const result = await turn;
      expect(saidOf(result)).toBe(said);
      const before = typesOf(result);
      for (const host of hosts) {
        await expect(host.invokeTool(calling("late"))).rejects.toThrow("The turn ");
        host.emit({ type: "late", data: null });
      }
      expect(typesOf(result)).toStrictEqual(before);
      expect(events.map(({ type }) => type)).toStrictEqual(before);
      expect(read.calls).toStrictEqual([]);
    });
  }

  test("a plugin that emits at the very instant of the deadline emits nothing", async () => {
    const seen: string[] = [];
    const world = turnWorldOf((_turn, host, signal) => {
      signal.addEventListener("abort", () => {
        seen.push("fired");
        host.emit({ type: "late", data: null });
      });
      return never();
    });
    const turn = world.run({ options: { timeoutMs: 1_000 } });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(typesOf(await turn)).toStrictEqual(["turn.started", "turn.cancelled"]);
    expect(seen).toStrictEqual(["fired"]);
  });

  test("a turn does not wait for a sink that never stores its end, and its result says how it ended", async () => {
    const audit = { record: ({ type }: AuditEvent) => (type === "turn.ended" ? never() : Promise.resolve()) };
    for (const { run, status } of [
      { run: () => Promise.resolve(completed()), status: "succeeded" },
      { run: never, status: "cancelled" },
    ]) {
      const turn = turnWorldOf(run, { audit }).run({ options: { timeoutMs: 1_000 } });
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await turn).toMatchObject({ status });
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test("a call that was not awaited never starts its handler, wherever in its way the plugin completes", async () => {
    const lateAt: number[] = [];
    let started = 0;
    for (const audit of ["none", undefined] as const) {
      for (let pause = 0; pause < 60; pause += 1) {
        const write = toolOf("files.write", { readWrite: "write" });
        const world = turnWorldOf(
          async (_turn, host) => {
            host.invokeTool(calling("call-1", "files.write")).catch(() => {});
            await ticks(pause);
            return completed();
          },
          { tools: [write], ...(audit && { audit }) },
        );
        expect(saidOf(await world.run())).toBe("succeeded");
        await settled();
        started += write.calls.length;
        if (write.late.length > 0) lateAt.push(pause);
      }
    }
    expect(lateAt).toStrictEqual([]);
    expect(started).toBeGreaterThan(0);
    expect(started).toBeLessThan(120);
  });

  test("what a turn says about a retry is true, wherever in a write's way the plugin fails", async () => {
    const lies: number[] = [];
    for (const audit of ["none", undefined] as const) {
      for (let pause = 0; pause < 60; pause += 1) {
        const write = toolOf("files.write", { readWrite: "write" });
        const world = turnWorldOf(
          async (_turn, host) => {
            host.invokeTool(calling("call-1", "files.write")).catch(() => {});
            await ticks(pause);
            return { type: "fail", error: { code: "mine", message: "x", retryable: true } };
          },
          { tools: [write], ...(audit && { audit }) },
        );
        const result = await world.run();
        await settled();
        const retryable = "error" in result ? result.error?.retryable : undefined;
        if (retryable !== (write.calls.length === 0)) lies.push(pause);
      }
    }
    expect(lies).toStrictEqual([]);
  });

  test("a call that was not awaited does not become an unhandled rejection of the host's process", async () => {
    vi.useRealTimers();
    const others = process.listeners("unhandledRejection");
    const unhandled: unknown[] = [];
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", (error) => unhandled.push(error));
    try {
      const world = turnWorldOf((_turn, host) => {
        void host.invokeTool(calling("call-1"));
        return Promise.resolve(completed());
      });
      expect(saidOf(await world.run())).toBe("succeeded");
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.removeAllListeners("unhandledRejection");
      for (const listener of others) process.on("unhandledRejection", listener);
    }
    expect(unhandled).toStrictEqual([]);
  });
});

describe("every ending lets go of the timer and of the caller", () => {
  const rows: {
    name: string;
    run: RuntimePlugin["run"];
    grants?: Grant[];
    act?: (caller: AbortController) => unknown;
    status: TurnResult["status"];
  }[] = [
    { name: "succeeded", run: () => Promise.resolve(completed()), status: "succeeded" },
    {
      name: "failed by the plugin",
      run: () => Promise.resolve({ type: "fail", error: { code: "x", message: "x" } }),
      status: "failed",
    },
    { name: "failed by throwing", run: () => Promise.reject(new Error("x")), status: "failed" },
    { name: "failed by nonsense", run: () => Promise.resolve(untyped<RuntimeOutcome>(7)), status: "failed" },
    { name: "escalated", run: () => Promise.resolve({ type: "escalate", reason: "May I?" }), status: "escalated" },
    { name: "denied", run: never, grants: [toolGrant], status: "denied" },
    { name: "cancelled by the caller", run: never, act: (caller) => caller.abort(), status: "cancelled" },
    {
      name: "cancelled by the deadline",
      run: never,
      act: () => vi.advanceTimersByTimeAsync(120_000),
      status: "cancelled",
    },
    {
      name: "succeeded after calls",
      run: async (_turn, host) =>
        completed([
          (await host.invokeTool(calling("call-1"))).status,
          (await host.invokeTool(calling("call-1"))).status,
        ]),
      status: "succeeded",
    },
  ];
  for (const { name, run, grants = [runGrant, toolGrant, escalationGrant], act, status } of rows) {
    test(name, async () => {
      const caller = new AbortController();
      const world = turnWorldOf(run, { grants });
      const turn = world.run({}, { signal: caller.signal });
      expect({ timers: vi.getTimerCount(), listeners: listenersOf(caller.signal) }).toStrictEqual({
        timers: 1,
        listeners: 1,
      });
      await settled();
      await act?.(caller);
      const result = await turn;
      expect(result.status).toBe(status);
      expect({ timers: vi.getTimerCount(), listeners: listenersOf(caller.signal) }).toStrictEqual({
        timers: 0,
        listeners: 0,
      });
      expect(dataOf(result, "turn.completed")).toHaveLength(status === "succeeded" ? 1 : 0);
    });
  }

  test("a hundred turns with one signal leave no listener behind", async () => {
    const caller = new AbortController();
    const world = turnWorldOf(() => Promise.resolve(completed()));
    for (let turn = 0; turn < 100; turn += 1) await world.run({}, { signal: caller.signal });
    expect(listenersOf(caller.signal)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
