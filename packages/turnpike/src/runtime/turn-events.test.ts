import { expect, test } from "vitest";
import { fails } from "../../test/deployment.ts";
import { calling, completed, requestOf, turnWorldOf, typesOf } from "../../test/turns.ts";
import { TurnEventSchema, type TurnEvent, type TurnResult } from "../contracts/index.ts";
import type { TurnExecutionOptions } from "./executor.ts";
import { openTurnEvents, type TurnEvents } from "./turn-events.ts";

function opened(onEvent: (event: TurnEvent) => unknown = () => {}): TurnEvents {
  let ids = 0;
  const tools = { clock: () => `2026-01-01T12:00:0${ids}Z`, createId: () => `event-${(ids += 1)}` };
  return openTurnEvents(requestOf({ version: "1", executionId: "turn-9" }), "trace-1", tools, onEvent);
}

test("events count from 0 without gaps, each with its own id and instant, all with the request's version and ids", () => {
  const events = opened();
  events.append("turn.started", {});
  events.append("runtime.event", { type: "thought", data: 1 });
  events.close("turn.completed", {});
  const common = { version: "1", executionId: "turn-9", traceId: "trace-1" };
  expect(events.all).toStrictEqual([
    { ...common, eventId: "event-1", sequence: 0, type: "turn.started", data: {}, occurredAt: "2026-01-01T12:00:01Z" },
    {
      ...common,
      eventId: "event-2",
      sequence: 1,
      type: "runtime.event",
      data: { type: "thought", data: 1 },
      occurredAt: "2026-01-01T12:00:02Z",
    },
    {
      ...common,
      eventId: "event-3",
      sequence: 2,
      type: "turn.completed",
      data: {},
      occurredAt: "2026-01-01T12:00:03Z",
    },
  ]);
  for (const event of events.all) expect(TurnEventSchema.safeParse(event)).toMatchObject({ success: true });
});

test("after the terminal event nothing is added and nothing is shown", () => {
  const shown: string[] = [];
  const events = opened(({ type }) => shown.push(type));
  events.append("turn.started", {});
  events.close("turn.failed", { code: "x" });
  events.append("tool.completed", {});
  events.close("turn.completed", {});
  expect(events.all.map(({ type }) => type)).toStrictEqual(["turn.started", "turn.failed"]);
  expect(shown).toStrictEqual(["turn.started", "turn.failed"]);
});

test("an event that was shown cannot be changed", () => {
  const shown: TurnEvent[] = [];
  opened((event) => shown.push(event)).append("turn.started", {});
  expect(shown.flatMap((event) => [event, event.data]).map(Object.isFrozen)).toEqual([true, true]);
});

test("an observer that adds an event from within an event leaves the count without gaps", () => {
  const events: TurnEvents = opened(({ sequence }) => {
    if (sequence < 3) events.append("runtime.event", sequence);
  });
  events.append("turn.started", {});
  expect(events.all.map(({ sequence }) => sequence)).toStrictEqual([0, 1, 2, 3]);
});

function oneCall(options: TurnExecutionOptions): Promise<TurnResult> {
  const world = turnWorldOf(async (_turn, host) => completed((await host.invokeTool(calling("call-1"))).status));
  return world.run({}, options);
}

const observers: { name: string; onEvent: NonNullable<TurnExecutionOptions["onEvent"]> }[] = [
  {
    name: "throws",
    onEvent() {
      throw new Error("observer");
    },
  },
  { name: "rejects", onEvent: fails },
  { name: "returns nonsense", onEvent: () => 7 },
  { name: "never settles", onEvent: () => new Promise(() => {}) },
  {
    name: "tries to change what it sees",
    onEvent: (event) => Object.assign(event, { type: "turn.denied", sequence: 99 }),
  },
];
for (const { name, onEvent } of observers) {
  test(`an observer that ${name} changes nothing`, async () => {
    expect(await oneCall({ onEvent })).toStrictEqual(await oneCall({}));
  });
}

test("an observer sees each event as it happens, and those are the events of the result", async () => {
  const seen: TurnEvent[] = [];
  const counts: number[] = [];
  const world = turnWorldOf(async (_turn, host) => {
    counts.push(seen.length);
    const call = host.invokeTool(calling("call-1"));
    counts.push(seen.length);
    await call;
    counts.push(seen.length);
    host.emit({ type: "thought", data: null });
    counts.push(seen.length);
    return completed();
  });
  const result = await world.run({}, { onEvent: (event) => seen.push(event) });
  expect(counts).toStrictEqual([1, 2, 3, 4]);
  expect(typesOf(result)).toStrictEqual([
    "turn.started",
    "tool.requested",
    "tool.completed",
    "runtime.event",
    "turn.completed",
  ]);
  expect(seen).toStrictEqual(result.events);
});
