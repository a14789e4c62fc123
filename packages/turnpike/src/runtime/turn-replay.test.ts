import { describe, expect, test } from "vitest";
import { callOf, now } from "../../test/deployment.ts";
import { eventOf } from "../../test/kept-turns.ts";
import type { ToolResult } from "../contracts/index.ts";
import type { JournalEntry } from "./journal.ts";
import { readReplay } from "./turn-replay.ts";

const call = callOf();
const made: JournalEntry = { kind: "call", call, step: 0, repeatable: false };
const result: ToolResult = { status: "succeeded", callId: call.id, tool: call.tool, completedAt: now, output: null };
const kept: JournalEntry = { kind: "result", callId: call.id, result };

describe("what an earlier run left of a call", () => {
  const rows: { name: string; entries: JournalEntry[]; expected: object | undefined }[] = [
    { name: "that was not made is nothing", entries: [], expected: undefined },
    {
      name: "of which nobody knows how it ended is that it may not be made again",
      entries: [made],
      expected: { repeatable: false, counts: true },
    },
    {
      name: "that has ended is its result",
      entries: [made, kept],
      expected: { repeatable: false, counts: true, result },
    },
    {
      name: "that waits for a yes is that it is made as if for the first time",
      entries: [made, { kind: "asked", callId: call.id }],
      expected: { repeatable: true, counts: true, isAsked: true },
    },
    {
      name: "that the limits of the turn refused is its denial, which is none of the calls of the turn",
      entries: [kept],
      expected: { repeatable: true, counts: false, result },
    },
  ];
  for (const { name, entries, expected } of rows) {
    test(name, () => {
      expect(readReplay(entries).call(call, 1)).toStrictEqual(expected);
    });
  }
});

test("what an earlier run emitted once is emitted again once, and anything else is new", () => {
  const replay = readReplay([{ kind: "event", event: eventOf("turn-1", 0) }]);
  expect(replay.wasEmitted("something else")).toBe(false);
  expect(replay.wasEmitted("x0")).toBe(true);
  expect(replay.wasEmitted("x0")).toBe(false);
});
