import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deferred, fails, portSecret, untyped } from "../../test/deployment.ts";
import {
  aborted,
  calling,
  dataOf,
  never,
  saidOf,
  ticks,
  toolOf,
  toolsOf,
  turnWorldOf,
  typesOf,
  type TurnWorldOptions,
} from "../../test/turns.ts";
import type { JsonObject, JsonValue, TurnOptions, TurnResult } from "../contracts/index.ts";
import {
  standardRuntime,
  type DriverDecision,
  type DriverInput,
  type TurnDriver,
  type TurnSession,
} from "./standard.ts";

type Next = TurnSession["next"];

/** A driver whose sessions think with `next`, and how often they were opened, asked and closed. */
interface WatchedDriver extends TurnDriver {
  seen: { opened: number; closed: number; inputs: DriverInput[]; signals: AbortSignal[] };
}

function driverOf(
  next: Next,
  changes: { open?: TurnDriver["open"]; close?: TurnSession["close"]; metadata?: () => unknown } = {},
): WatchedDriver {
  const seen: WatchedDriver["seen"] = { opened: 0, closed: 0, inputs: [], signals: [] };
  const session: TurnSession = {
    next(input, signal) {
      seen.inputs.push(input);
      seen.signals.push(signal);
      return next(input, signal);
    },
    close() {
      seen.closed += 1;
      return changes.close?.() ?? Promise.resolve();
    },
    ...(changes.metadata && { metadata: changes.metadata as () => JsonObject }),
  };
  return {
    seen,
    async open(turn, host) {
      seen.opened += 1;
      await changes.open?.(turn, host);
      return session;
    },
  };
}

/** Decides these one after the other. */
function deciding(...decisions: readonly DriverDecision[]): Next {
  let place = 0;
  return () => Promise.resolve(untyped<DriverDecision>(decisions[(place += 1) - 1]));
}

function tools(...ids: readonly string[]): DriverDecision {
  return { type: "tools", calls: ids.map((id) => calling(id)) };
}

const done: DriverDecision = { type: "complete", output: "done" };

function drive(
  driver: TurnDriver,
  options: TurnOptions = {},
  world: TurnWorldOptions = {},
  signal?: AbortSignal,
): Promise<TurnResult> {
  return turnWorldOf(standardRuntime(driver), world).run({ options }, { signal });
}

describe("the reference runtime", () => {
  test("asks, runs the tools of a step at once, and feeds their results back in the order of the calls", async () => {
    const gates = [deferred<string>(), deferred<string>(), deferred<string>()];
    const read = toolOf("files.read", { work: async (call) => (await gates[Number(call.id.slice(5))]?.promise) ?? "" });
    const driver = driverOf(async (input) => {
      if (input.type === "start") return tools("call-0", "call-1", "call-2");
      return { type: "complete", output: input.results.map((result) => ("output" in result ? result.output : null)) };
    });
    const turn = drive(driver, {}, { tools: [read] });
    while (read.calls.length < 3) await ticks(1);
    for (const place of [2, 0, 1]) {
      gates[place]?.resolve(`answer ${place}`);
      await ticks(20);
    }
    const result = await turn;
    expect(result).toMatchObject({
      status: "succeeded",
      output: ["call-0", "call-1", "call-2"].map((_id, place) => `answer ${place}`),
    });
    expect(dataOf(result, "tool.completed")).toMatchObject([
      { callId: "call-2" },
      { callId: "call-0" },
      { callId: "call-1" },
    ]);
    expect(driver.seen).toMatchObject({ opened: 1, closed: 1 });
  });

  test("tells the driver of the start first, and then of the results of each step", async () => {
    const driver = driverOf(
      deciding(tools("call-1"), { type: "tools", calls: [calling("call-2", "files.none"), calling("call-1")] }, done),
    );
    await drive(driver);
    expect(driver.seen.inputs).toMatchObject([
      { type: "start" },
      { type: "tool_results", results: [{ callId: "call-1", status: "succeeded" }] },
      {
        type: "tool_results",
        results: [
          { callId: "call-2", status: "denied", error: { code: "tool_unavailable" } },
          { callId: "call-1", status: "denied", error: { code: "duplicate_call_id" } },
        ],
      },
    ]);
  });

  test("names the driver, or itself when the driver has no name", async () => {
    const named = { ...driverOf(deciding(done)), manifest: { id: "gpt", version: "5" } };
    expect((await drive(named)).metadata).toStrictEqual({ runtime: { id: "gpt", version: "5" } });
    expect((await drive(driverOf(deciding(done)))).metadata).toStrictEqual({
      runtime: { id: "standard", version: "1" },
    });
  });

  test("lets the driver emit events, and gives it no way to call a tool but to decide so", async () => {
    const driver = driverOf(deciding(done), {
      open(turn, host) {
        host.emit({ type: "model", data: turn.limits.maxSteps });
        return untyped<Promise<TurnSession>>(Promise.resolve());
      },
    });
    expect(dataOf(await drive(driver), "runtime.event")).toStrictEqual([{ type: "model", data: 16 }]);
  });

  const steps: { name: string; maxSteps: number; decisions: DriverDecision[]; said: string; asked: number }[] = [
    { name: "a decision in the last step", maxSteps: 2, decisions: [tools("a"), done], said: "succeeded", asked: 2 },
    {
      name: "tools in the last step",
      maxSteps: 2,
      decisions: [tools("a"), tools("b"), done],
      said: "step_limit_exceeded",
      asked: 2,
    },
    { name: "one step that decides", maxSteps: 1, decisions: [done], said: "succeeded", asked: 1 },
    { name: "one step that calls", maxSteps: 1, decisions: [tools("a"), done], said: "step_limit_exceeded", asked: 1 },
  ];
  for (const { name, maxSteps, decisions, said, asked } of steps) {
    test(`stops at maxSteps: ${name}`, async () => {
      const driver = driverOf(deciding(...decisions));
      const result = await drive(driver, { maxSteps });
      expect(saidOf(result)).toBe(said);
      expect(driver.seen.inputs).toHaveLength(asked);
    });
  }

  test("more calls in a step than the turn has: those too many are denied, and the driver learns it", async () => {
    const driver = driverOf(deciding(tools("a", "b", "c"), done));
    await drive(driver, { maxToolCalls: 2 });
    expect(driver.seen.inputs.at(1)).toMatchObject({
      results: [
        { status: "succeeded" },
        { status: "succeeded" },
        { status: "denied", error: { code: "tool_call_limit_exceeded" } },
      ],
    });
  });

  test("the driver's own failure is the turn's, with its words", async () => {
    const error = { code: "content_filter", message: "Refused.", retryable: false };
    expect(await drive(driverOf(deciding({ type: "fail", error })))).toMatchObject({ status: "failed", error });
  });
});

describe("what a session says of itself", () => {
  const ways: { name: string; next: Next; options?: TurnOptions; said: string }[] = [
    { name: "complete", next: deciding(done), said: "succeeded" },
    { name: "fail", next: deciding({ type: "fail", error: { code: "mine", message: "x" } }), said: "mine" },
    { name: "escalate", next: deciding({ type: "escalate", reason: "May I?" }), said: "escalated" },
    { name: "the step limit", next: deciding(tools("a")), options: { maxSteps: 1 }, said: "step_limit_exceeded" },
    { name: "nonsense", next: deciding(untyped<DriverDecision>({})), said: "invalid_driver_decision" },
  ];
  for (const { name, next, options, said } of ways) {
    test(`is in the result, beside the runtime's own name: ${name}`, async () => {
      const metadata = () => ({ tokens: 7, runtime: "forged" });
      const result = await drive(driverOf(next, { metadata }), options);
      expect(saidOf(result)).toBe(said);
      expect(result.metadata).toStrictEqual({ tokens: 7, runtime: { id: "standard", version: "1" } });
    });
  }

  const broken: { name: string; metadata: () => unknown; said: string }[] = [
    {
      name: "throws",
      metadata() {
        throw new Error(portSecret);
      },
      said: "driver_failed",
    },
    { name: "is no object", metadata: () => "seven", said: "invalid_driver_decision" },
    { name: "is no JSON", metadata: () => ({ tokens: Number.NaN }), said: "invalid_driver_decision" },
  ];
  for (const { name, metadata, said } of broken) {
    test(`ends the turn ${said} when it ${name}`, async () => {
      const result = await drive(driverOf(deciding(done), { metadata }));
      expect(saidOf(result)).toBe(said);
      expect(JSON.stringify(result)).not.toContain(portSecret);
    });
  }
});

describe("a driver that breaks", () => {
  const broken: { name: string; driver: () => TurnDriver }[] = [
    { name: "open rejects", driver: () => driverOf(deciding(done), { open: fails }) },
    {
      name: "open throws",
      driver: () => ({
        open() {
          throw new Error(portSecret);
        },
      }),
    },
    { name: "open gives no session", driver: () => ({ open: () => Promise.resolve(untyped<TurnSession>(undefined)) }) },
    { name: "next rejects", driver: () => driverOf(fails) },
    {
      name: "next throws",
      driver: () =>
        driverOf(() => {
          throw new Error(portSecret);
        }),
    },
    {
      name: "next rejects after tools",
      driver: () => driverOf((input) => (input.type === "start" ? Promise.resolve(tools("a")) : fails())),
    },
  ];
  for (const { name, driver } of broken) {
    test(`${name}: failed driver_failed, without its words`, async () => {
      const result = await drive(driver());
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "driver_failed", message: "The driver failed.", retryable: true },
      });
      expect(JSON.stringify(result)).not.toContain(portSecret);
    });
  }

  const trap = (): never => {
    throw new Error(portSecret);
  };
  const nonsense: { name: string; decision: unknown }[] = [
    { name: "something that throws when it is read", decision: Object.defineProperty({}, "type", { get: trap }) },
    { name: "calls that throw", decision: { type: "tools", calls: [Object.defineProperty({}, "id", { get: trap })] } },
    { name: "nothing", decision: undefined },
    { name: "null", decision: null },
    { name: "a word", decision: "complete" },
    { name: "an unknown type", decision: { type: "think" } },
    { name: "tools without calls", decision: { type: "tools" } },
    { name: "tools with no call", decision: { type: "tools", calls: [] } },
    { name: "a call without an id", decision: { type: "tools", calls: [{ tool: "files.read", arguments: {} }] } },
    { name: "a good call and a bad one", decision: { type: "tools", calls: [calling("a"), {}] } },
    { name: "complete without output", decision: { type: "complete" } },
    { name: "an output that is no JSON", decision: { type: "complete", output: Number.NaN } },
    { name: "fail without an error", decision: { type: "fail" } },
    { name: "escalate without a reason", decision: { type: "escalate" } },
    {
      name: "a call to escalate without a reason",
      decision: { type: "tools", calls: [{ ...calling("a", "service.escalate"), arguments: {} }] },
    },
  ];
  for (const { name, decision } of nonsense) {
    test(`decides ${name}: failed invalid_driver_decision, and no tool runs`, async () => {
      const { read } = toolsOf();
      const driver = driverOf(() => Promise.resolve(untyped<DriverDecision>(decision)));
      expect(await drive(driver, {}, { tools: [read] })).toMatchObject({
        status: "failed",
        error: { code: "invalid_driver_decision", retryable: false },
      });
      expect(read.calls).toStrictEqual([]);
      expect(driver.seen.closed).toBe(1);
    });
  }
});

describe("a session is closed once, on every way out", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const ways: { name: string; next: Next; options?: TurnOptions; said: string }[] = [
    { name: "complete", next: deciding(done), said: "succeeded" },
    { name: "fail", next: deciding({ type: "fail", error: { code: "mine", message: "x" } }), said: "mine" },
    { name: "escalate", next: deciding({ type: "escalate", reason: "May I?" }), said: "escalated" },
    { name: "a rejection", next: fails, said: "driver_failed" },
    { name: "nonsense", next: deciding(untyped<DriverDecision>({})), said: "invalid_driver_decision" },
    { name: "the step limit", next: deciding(tools("a")), options: { maxSteps: 1 }, said: "step_limit_exceeded" },
    { name: "an abort while next hangs", next: never, said: "turn_cancelled" },
    {
      name: "an abort while next waits for it",
      next: async (_input, signal) => (await aborted(signal), done),
      said: "turn_cancelled",
    },
  ];
  for (const { name, next, options, said } of ways) {
    test(name, async () => {
      const caller = new AbortController();
      const driver = driverOf(next);
      const turn = drive(driver, options, {}, caller.signal);
      await vi.advanceTimersByTimeAsync(0);
      caller.abort();
      expect(saidOf(await turn)).toBe(said);
      await vi.advanceTimersByTimeAsync(0);
      expect(driver.seen).toMatchObject({ opened: 1, closed: 1 });
      expect(vi.getTimerCount()).toBe(0);
    });
  }

  test("an abort while open hangs closes the session that comes late, and asks it nothing", async () => {
    const opens = deferred<TurnSession>();
    const caller = new AbortController();
    const driver = driverOf(deciding(done), { open: () => opens.promise });
    const turn = drive(driver, {}, {}, caller.signal);
    await vi.advanceTimersByTimeAsync(0);
    caller.abort();
    expect(saidOf(await turn)).toBe("turn_cancelled");
    expect(driver.seen).toMatchObject({ opened: 1, closed: 0 });
    opens.resolve(untyped<TurnSession>(undefined));
    await vi.advanceTimersByTimeAsync(0);
    expect(driver.seen).toMatchObject({ closed: 1, inputs: [] });
  });

  const slowTools: { name: string; work: (signal: AbortSignal) => Promise<JsonValue> }[] = [
    { name: "that heeds its signal", work: async (signal) => (await aborted(signal), "stopped") },
    { name: "that ignores its signal and never returns", work: never },
  ];
  for (const { name, work } of slowTools) {
    test(`an abort while a tool runs ${name}`, async () => {
      const caller = new AbortController();
      const driver = driverOf(deciding(tools("a"), done));
      const turn = drive(
        driver,
        {},
        { tools: [toolOf("files.read", { work: (_call, signal) => work(signal) })] },
        caller.signal,
      );
      await vi.advanceTimersByTimeAsync(0);
      caller.abort();
      expect(saidOf(await turn)).toBe("turn_cancelled");
      await vi.advanceTimersByTimeAsync(0);
      expect(driver.seen).toMatchObject({ opened: 1, closed: 1 });
    });
  }

  test("a driver is asked nothing more once the turn is over", async () => {
    const caller = new AbortController();
    const driver = driverOf(deciding(tools("a"), done));
    const read = toolOf("files.read", { work: async (_call, signal) => (await aborted(signal), "stopped") });
    const turn = drive(driver, {}, { tools: [read] }, caller.signal);
    await vi.advanceTimersByTimeAsync(0);
    caller.abort();
    expect(saidOf(await turn)).toBe("turn_cancelled");
    await vi.advanceTimersByTimeAsync(0);
    expect(driver.seen.inputs).toStrictEqual([{ type: "start" }]);
  });

  for (const { name, close } of [
    { name: "rejects", close: fails },
    {
      name: "throws",
      close(): Promise<void> {
        throw new Error(portSecret);
      },
    },
  ]) {
    test(`a close that ${name} does not change the outcome`, async () => {
      expect(await drive(driverOf(deciding(done), { close }))).toMatchObject({ status: "succeeded", output: "done" });
    });
  }

  test("a close that hangs is bounded by the deadline", async () => {
    const turn = drive(driverOf(deciding(done), { close: never }), { timeoutMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(["succeeded", "cancelled"]).toContain((await turn).status);
  });

  test("a session without close needs none", async () => {
    const driver: TurnDriver = { open: () => Promise.resolve({ next: deciding(done) }) };
    const result = await drive(driver);
    expect(typesOf(result)).toStrictEqual(["turn.started", "turn.completed"]);
  });

  test("turns at once have a session each", async () => {
    const driver = driverOf(async (input) => (input.type === "start" ? tools("a") : done));
    const world = turnWorldOf(standardRuntime(driver));
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, place) => world.run({ executionId: `turn-${place}` })),
    );
    expect(new Set(results.map(saidOf))).toStrictEqual(new Set(["succeeded"]));
    expect(driver.seen).toMatchObject({ opened: 100, closed: 100 });
  });
});
