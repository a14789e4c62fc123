import { describe, expect, test } from "vitest";
import { callOf, now } from "../../test/deployment.ts";
import { escalation, eventOf } from "../../test/journaled-turns.ts";
import type { JsonObject, ToolCall, ToolResult, TurnEventType } from "../contracts/index.ts";
import type { AdmissionRecord } from "../kernel/index.ts";
import type { JournalEntry } from "./journal.ts";
import { readReplay } from "./turn-replay.ts";

const call = callOf();
const made: JournalEntry = { kind: "call", call, step: 0, repeatable: false };
const result: ToolResult = { status: "succeeded", callId: call.id, tool: call.tool, completedAt: now, output: null };
const stored: JournalEntry = { kind: "result", callId: call.id, result };
const asked: JournalEntry = { kind: "asked", callId: call.id };
const waiting: JournalEntry = { kind: "waiting", callId: call.id, escalation };
const answered: JournalEntry = { kind: "answered", callId: call.id, result };

/** What the turn said of itself, or its plugin did. */
function saying(type: TurnEventType, data: JsonObject): JournalEntry {
  return { kind: "event", event: { ...eventOf("turn-1", 0), type, data } };
}

describe("what an earlier run left of a call", () => {
  const rows: { name: string; entries: JournalEntry[]; expected: object | undefined }[] = [
    { name: "that was not made is nothing", entries: [], expected: undefined },
    {
      name: "whose outcome is unknown is that it may not be made again",
      entries: [made],
      expected: { repeatable: false, counts: true },
    },
    {
      name: "that has ended is its result",
      entries: [made, stored],
      expected: { repeatable: false, counts: true, result },
    },
    {
      name: "that waits for an approval is that it is made as if for the first time",
      entries: [made, asked],
      expected: { repeatable: true, counts: true, isAsked: true },
    },
    {
      name: "that the limits of the turn refused is its denial, which is none of the calls of the turn",
      entries: [stored],
      expected: { repeatable: true, counts: false, result },
    },
  ];
  for (const { name, entries, expected } of rows) {
    test(name, () => {
      expect(readReplay(entries).call(call, 1)).toStrictEqual(expected);
    });
  }
});

describe("a call under the id of an earlier one", () => {
  const other: ToolCall = { ...call, arguments: { note: "today", at: [1, 2] } };
  const same: { name: string; now: ToolCall }[] = [
    { name: "at another instant", now: { ...other, requestedAt: "2026-01-01T13:00:00Z" } },
    { name: "with its arguments in another order", now: { ...other, arguments: { at: [1, 2], note: "today" } } },
  ];
  const different: { name: string; now: ToolCall }[] = [
    { name: "with another tool", now: { ...other, tool: "files.write" } },
    { name: "with other arguments", now: { ...other, arguments: { note: "today", at: [2, 1] } } },
    { name: "with fewer arguments", now: { ...other, arguments: {} } },
  ];
  for (const { state, entries } of [
    { state: "made", entries: [] },
    { state: "ended", entries: [stored] },
    { state: "asked about", entries: [asked] },
  ]) {
    const replay = readReplay([{ ...made, call: other }, ...entries]);
    for (const { name, now: again } of same)
      test(`that was ${state} is that call ${name}`, () => {
        expect(replay.call(again, 1)).toMatchObject({ counts: true });
      });
    for (const { name, now: again } of different)
      test(`that was ${state} is refused ${name}`, () => {
        expect(() => replay.call(again, 1)).toThrow("Another call was made as call-1 before the turn was interrupted.");
      });
  }

  test("that was refused for it has a result for each time that it was asked for", () => {
    const denials = [2, 3].map((ask): JournalEntry & { kind: "result" } => ({
      kind: "result",
      callId: call.id,
      result: { ...result, completedAt: `2026-01-01T12:00:0${ask}Z` },
      ask,
    }));
    const replay = readReplay([made, stored, ...denials]);
    expect([1, 2, 3, 4].map((ask) => replay.call(call, ask)?.result)).toEqual([
      result,
      ...denials.map((denial) => denial.result),
      undefined,
    ]);
    expect(replay.call({ ...call, id: "call-2" }, 2)).toBeUndefined();
  });
});

describe("what the kernel has to know of earlier runs", () => {
  const admission: AdmissionRecord = { at: now, grantId: "run", grants: ["run"], namespaces: [] };
  const admitted: JournalEntry = { kind: "admitted", admission };
  const isAdmitted = { admission, isAnswered: false, mayHaveTakenEffect: false };
  const rows: { name: string; entries: JournalEntry[]; earlier: object | undefined }[] = [
    { name: "nothing before the turn was admitted", entries: [], earlier: undefined },
    {
      name: "that its admission had begun",
      entries: [{ kind: "admitting" }],
      earlier: { ...isAdmitted, admission: undefined },
    },
    { name: "what it was admitted with", entries: [{ kind: "admitting" }, admitted], earlier: isAdmitted },
    {
      name: "that an answer brings another admission",
      entries: [admitted, answered],
      earlier: { ...isAdmitted, isAnswered: true },
    },
    {
      name: "that such an admission had begun",
      entries: [admitted, answered, { kind: "admitting" }],
      earlier: { ...isAdmitted, admission: undefined, isAnswered: true },
    },
    { name: "that it had been made", entries: [admitted, answered, admitted], earlier: isAdmitted },
    {
      name: "that a call may have had an effect, also when it has ended",
      entries: [admitted, made, stored],
      earlier: { ...isAdmitted, mayHaveTakenEffect: true },
    },
    {
      name: "not a call that may be made again",
      entries: [admitted, { ...made, repeatable: true }],
      earlier: isAdmitted,
    },
    { name: "not a call that was only asked about", entries: [admitted, made, asked], earlier: isAdmitted },
  ];
  for (const { name, entries, earlier } of rows)
    test(name, () => {
      expect(readReplay(entries).earlier).toStrictEqual(earlier);
    });
});

test("an escalation is open until it is answered", () => {
  expect(readReplay([made, waiting]).escalation(call.id)).toStrictEqual({ escalation });
  expect(readReplay([made, waiting, answered]).escalation(call.id)).toBeUndefined();
});

test("what the turn said of a call counts for each time that it was asked for", () => {
  const { id: callId } = call;
  const requested = saying("tool.requested", { callId });
  const refused: JournalEntry[] = [{ ...stored, ask: 2 }, saying("tool.completed", { callId })];
  const replay = readReplay([saying("turn.started", {}), requested, made, requested, ...refused]);
  expect([1, 2, 3].map((ask) => replay.wasSaid("tool.requested", callId, ask))).toEqual([true, true, false]);
  // What was said of the second is not said of the first, which has not ended.
  expect([1, 2].map((ask) => replay.wasSaid("tool.completed", callId, ask))).toEqual([false, true]);
  expect(replay.wasSaid("tool.requested", "call-2", 1)).toBe(false);
});

describe("what an earlier run emitted", () => {
  const emitted = (data: string): JournalEntry => saying("runtime.event", { data });
  const step: JournalEntry = { kind: "step", name: "plan", value: 1 };

  test("once is emitted again once, and anything else is new", () => {
    const replay = readReplay([emitted("a")]);
    expect(replay.wasEmitted({ data: "b" })).toBe(false);
    expect(replay.wasEmitted({ data: "a" })).toBe(true);
    expect(replay.wasEmitted({ data: "a" })).toBe(false);
  });

  test("before a step is behind the turn once that was made, and what it emitted afterwards is not", () => {
    const replay = readReplay([emitted("before"), step, emitted("after")]);
    expect(replay.step("plan")?.value).toBe(1);
    expect(replay.wasEmitted({ data: "before" })).toBe(false);
    expect(replay.wasEmitted({ data: "after" })).toBe(true);
  });

  test("is new behind a step that was cut off, unless the run came to wait after it", () => {
    const entries = [emitted("waited"), waiting, emitted("cut off")];
    const replay = readReplay(entries);
    expect(replay.step("plan")).toBeUndefined();
    expect(replay.wasEmitted({ data: "waited" })).toBe(true);
    expect(replay.wasEmitted({ data: "cut off" })).toBe(false);
    const cut = readReplay([emitted("cut off")]);
    cut.step("plan");
    expect(cut.wasEmitted({ data: "cut off" })).toBe(false);
  });
});
