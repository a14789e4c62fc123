import { describe, expect, test } from "vitest";
import type { JsonValue, TurnEvent } from "turnpike/contracts";
import { eventLine, sinceText } from "./timeline.ts";

const startedAt = "2026-01-01T12:00:00.000Z";

function event(type: TurnEvent["type"], data: JsonValue, occurredAt = "2026-01-01T12:00:01.500Z"): TurnEvent {
  const ids = { version: 1, eventId: "e", executionId: "turn-1", traceId: "t", sequence: 0 } as const;
  return { ...ids, type, data, occurredAt };
}

describe("an event is one line", () => {
  for (const row of [
    { event: event("turn.started", { runtime: {} }, startedAt), line: "   0.00s  .  turn started" },
    { event: event("tool.requested", { callId: "c", tool: "files.read" }), line: "   1.50s  >  files.read" },
    {
      event: event("tool.completed", { tool: "files.read", status: "succeeded" }),
      line: "   1.50s  +  files.read succeeded",
    },
    {
      event: event("tool.completed", { tool: "files.read", status: "denied", code: "no_matching_grant" }),
      line: "   1.50s  x  files.read denied (no_matching_grant)",
    },
    { event: event("runtime.event", { type: "told", data: 1 }), line: '   1.50s  .  {"type":"told","data":1}' },
    { event: event("turn.failed", { code: "too_hard" }), line: "   1.50s  x  turn failed (too_hard)" },
    { event: event("turn.completed", {}), line: "   1.50s  +  turn completed" },
    { event: event("tool.completed", null), line: "   1.50s  x  a tool completed" },
    { event: event("tool.requested", { tool: "a\nb\u001b[2J" }), line: "   1.50s  >  a b<U+001B>[2J" },
  ]) {
    test(row.line.trim(), () => expect(eventLine(row.event, startedAt)).toBe(row.line));
  }

  test("also when a runtime says very much", () => {
    const line = eventLine(event("runtime.event", "x".repeat(10_000)), startedAt);
    expect(line).toMatch(/^ {3}1\.50s {2}\. {2}"x{99}\.\.\. \(9902 more characters: --json shows all\)$/);
  });
});

describe("a span is said as people say it", () => {
  for (const [ms, text] of [
    [-5, "0.00s"],
    [59_990, "59.99s"],
    [192_000, "3m12s"],
    [7_500_000, "2h05m"],
    [360_000_000, "100h00m"],
  ] as const) {
    test(text, () => expect(sinceText(ms)).toBe(text));
  }
});
