import type { AuditEvent } from "turnpike/contracts";
import { expect, test } from "vitest";
import { tellStory } from "./story.ts";

const assistant = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;

let sequence = 0;
function row(ms: number, facts: Pick<AuditEvent, "type" | "outcome"> & Partial<AuditEvent>) {
  sequence += 1;
  const at = new Date(Date.UTC(2026, 10, 16, 9) + ms).toISOString();
  const id = `e${sequence}`;
  const who = { actor: assistant, owner: alice, purpose: "demo" };
  return {
    strand: 0,
    sequence,
    event: { id, version: 1 as const, at, traceId: "t", namespaceId: "demo", ...who, ...facts },
  };
}

const decided = { type: "authorization.checked", outcome: "allowed" } as const;
const called = { type: "tool.invoked", outcome: "succeeded" } as const;

/** The types of the rows of each step. */
function shapeOf(rows: Parameters<typeof tellStory>[0]): string[][] {
  return tellStory(rows).parts.flatMap(({ steps }) => steps.map((step) => step.rows.map(({ event }) => event.type)));
}

test("a decision and the outcome of the same operation are one step, with its duration", () => {
  const { parts, ms } = tellStory([
    row(0, { ...decided, operationId: "a" }),
    row(5, { ...decided, operationId: "b" }),
    row(30, { ...called, operationId: "b" }),
    row(40, { ...called, operationId: "a" }),
  ]);
  expect(parts[0]?.steps.map((step) => [step.afterMs, step.ms, step.rows.length])).toEqual([
    [0, 40, 2],
    [5, 25, 2],
  ]);
  expect(ms).toBe(40);
});

test("operations of two actors with the same id are two steps", () => {
  expect(
    shapeOf([row(0, { ...decided, operationId: "a" }), row(1, { ...called, operationId: "a", actor: alice })]),
  ).toEqual([["authorization.checked"], ["tool.invoked"]]);
});

test("a message is one step with the decision about it", () => {
  const sent = { type: "message.sent", outcome: "succeeded", messageId: "m" } as const;
  expect(shapeOf([row(0, { ...decided, messageId: "m" }), row(1, sent)])).toEqual([
    ["authorization.checked", "message.sent"],
  ]);
});

test("an outcome without an id belongs to the decision right before it, and to no other", () => {
  const changed = { type: "operator.changed", action: "grant.issue" } as const;
  expect(
    shapeOf([
      row(0, { ...changed, outcome: "allowed" }),
      row(1, { ...changed, outcome: "succeeded" }),
      row(2, { ...changed, outcome: "allowed", action: "grant.revoke" }),
      row(3, decided),
      row(4, { type: "turn.started", outcome: "allowed" }),
      row(5, { type: "turn.ended", outcome: "succeeded" }),
    ]),
  ).toEqual([
    ["operator.changed", "operator.changed"],
    ["operator.changed"],
    ["authorization.checked", "turn.started"],
    ["turn.ended"],
  ]);
});

test("turns are parts of their own, and what is outside of them stays in its place", () => {
  const { parts, actors } = tellStory([
    row(0, { type: "message.sent", outcome: "succeeded", actor: alice }),
    row(1, { type: "turn.started", outcome: "allowed", executionId: "one" }),
    row(2, { type: "turn.started", outcome: "allowed", executionId: "two" }),
    row(9, { type: "turn.ended", outcome: "succeeded", executionId: "one" }),
    row(12, { type: "tool.catalog.listed", outcome: "succeeded" }),
  ]);
  expect(parts.map(({ executionId, ms }) => [executionId, ms])).toEqual([
    [undefined, 0],
    ["one", 8],
    ["two", 0],
    [undefined, 0],
  ]);
  expect(actors).toEqual(["human:alice", "agent:assistant"]);
});

test("a trace without rows is an empty story", () => {
  expect(tellStory([])).toEqual({ parts: [], startedAt: "", ms: 0, actors: [] });
});
