import type { TurnState } from "turnpike/contracts";
import { expect, test } from "vitest";
import { isOver, noteText, tookText } from "./turn-text.ts";

const turn: TurnState = {
  version: 1,
  executionId: "x",
  traceId: "t",
  agent: { kind: "agent", agentId: "assistant" },
  status: "running",
  startedAt: "2026-11-16T09:00:00Z",
  updatedAt: "2026-11-16T09:00:01Z",
  steps: 1,
  toolCalls: 1,
};
const escalation = {
  status: "pending",
  reason: "May I?",
  requestedAt: "2026-11-16T09:00:01Z",
  reviewer: { kind: "human", userId: "alice" },
} as const;
const ended = {
  version: 1,
  executionId: "x",
  traceId: "t",
  startedAt: turn.startedAt,
  completedAt: turn.updatedAt,
  events: [],
} as const;
const error = { code: "turn_timeout", message: "Too late.", retryable: false };

test("a turn that waits says for whom, and why", () => {
  expect(noteText({ ...turn, status: "waiting", escalation })).toBe("for human:alice: May I?");
});

test("a turn that did not succeed says why", () => {
  const result = { ...ended, events: [], status: "failed", error } as unknown as NonNullable<TurnState["result"]>;
  expect(noteText({ ...turn, status: "failed", result })).toBe("turn_timeout");
  expect(
    noteText({ ...turn, status: "escalated", result: { ...ended, events: [], status: "escalated", escalation } }),
  ).toBe("May I?");
});

test("a turn that still runs takes until now, one that ended until its end", () => {
  const now = Date.parse("2026-11-16T09:05:00Z");
  expect(tookText(turn, now)).toBe("5 min");
  expect(tookText({ ...turn, completedAt: "2026-11-16T09:00:01.500Z" }, now)).toBe("2 s");
});

test("a turn that runs or waits is not over", () => {
  expect(["running", "waiting", "succeeded", "cancelled"].map((status) => isOver({ status } as TurnState))).toEqual([
    false,
    false,
    true,
    true,
  ]);
});
