import type { AuditEvent, JsonValue, TurnEvent } from "turnpike/contracts";
import { expect, test } from "vitest";
import { actSteps, costText, decisionsOf, stepsOf, totalsOf } from "./turn-steps.ts";

const start = Date.parse("2026-11-16T09:00:00Z");

function eventsOf(...rows: [type: TurnEvent["type"], ms: number, data: JsonValue][]): TurnEvent[] {
  return rows.map(([type, ms, data], sequence) => ({
    version: 1,
    eventId: `e${sequence}`,
    executionId: "x",
    traceId: "t",
    sequence,
    type,
    data,
    occurredAt: new Date(start + ms).toISOString(),
  }));
}

const diary = eventsOf(
  ["turn.started", 0, { runtime: { id: "scripted", version: "1" } }],
  ["tool.requested", 30, { callId: "c1", tool: "files.read" }],
  ["tool.completed", 50, { callId: "c1", tool: "files.read", status: "denied", code: "no_matching_grant" }],
  ["tool.requested", 60, { callId: "c2", tool: "service.escalate" }],
);

test("a call is one step from its request to its end, with its denial", () => {
  expect(stepsOf(diary, "waiting")[1]).toMatchObject({
    kind: "tool",
    title: "files.read",
    state: "denied",
    code: "no_matching_grant",
    startedAt: start + 30,
    endedAt: start + 50,
  });
});

test("an escalation that has no answer waits", () => {
  const asked = stepsOf(diary, "waiting")[2];
  expect(asked).toMatchObject({ kind: "escalation", state: "waiting" });
  expect(asked?.endedAt).toBeUndefined();
});

test("an escalation that came back well was approved", () => {
  const answer = { callId: "c2", tool: "service.escalate", status: "succeeded" };
  const steps = stepsOf([...diary, ...eventsOf(["tool.completed", 9000, answer])], "running");
  expect(steps[2]).toMatchObject({ kind: "escalation", state: "approved", endedAt: start + 9000 });
});

test("what had not ended when the turn was cancelled is cancelled with it", () => {
  const ended = stepsOf([...diary, ...eventsOf(["turn.cancelled", 90, { code: "turn_cancelled" }])], "cancelled");
  expect(ended.map(({ state }) => state)).toEqual([undefined, "denied", "cancelled", "cancelled"]);
});

test("a call of the same id that is made again is a step of its own", () => {
  const steps = stepsOf(
    eventsOf(
      ["tool.requested", 0, { callId: "c", tool: "t" }],
      ["tool.completed", 1, { callId: "c", tool: "t", status: "failed", code: "x" }],
      ["tool.requested", 2, { callId: "c", tool: "t" }],
      ["tool.completed", 3, { callId: "c", tool: "t", status: "succeeded" }],
    ),
    "running",
  );
  expect(steps.map(({ state }) => state)).toEqual(["failed", "succeeded"]);
});

test("each end belongs to one call, also when two of the same id run at once", () => {
  const call = { callId: "c", tool: "t" };
  const steps = stepsOf(
    eventsOf(
      ["tool.requested", 0, call],
      ["tool.requested", 1, call],
      ["tool.completed", 2, { ...call, status: "succeeded" }],
      ["tool.completed", 3, { ...call, status: "failed" }],
    ),
    "running",
  );
  expect(steps.map(({ state }) => state)).toEqual(["failed", "succeeded"]);
});

const model = (type: string, data: JsonValue): JsonValue => ({ type: `model.${type}`, data });

test("a step of a model has its text, what it calls, its retries, its tokens and its cost", () => {
  const finished = {
    step: 1,
    provider: "p",
    model: "m-1",
    finishReason: "length",
    usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 },
    cost: { USD: 0.0012345 },
  };
  const steps = stepsOf(
    eventsOf(
      ["turn.started", 0, {}],
      ["runtime.event", 10, model("retry", { step: 1, code: "rate_limited" })],
      ["runtime.event", 20, model("text", { step: 1, text: "I wi" })],
      ["runtime.event", 30, model("text", { step: 1, text: "ll read." })],
      ["runtime.event", 40, model("call", { step: 1, tool: "files.read" })],
      ["runtime.event", 50, model("finished", finished)],
      ["runtime.event", 60, model("text", { step: 2, text: "Done" })],
    ),
    "running",
  );
  expect(steps[1]).toMatchObject({
    kind: "model",
    title: "m-1, step 1",
    text: "I will read.",
    notes: ["tried again after rate_limited", "wants files.read", "ended because of length"],
    tokens: { input: 100, output: 20 },
    startedAt: start,
    endedAt: start + 50,
  });
  expect(steps[2]).toMatchObject({ title: "Model, step 2", text: "Done", state: "running" });
  expect(totalsOf(steps)).toMatchObject({ input: 100, output: 20, cost: { USD: 0.0012345 } });
  expect(costText({ USD: 0.0012345, EUR: 1 })).toBe("0.00123 USD + 1 EUR");
});

test("an event of another runtime is shown as it is", () => {
  expect(stepsOf(eventsOf(["runtime.event", 0, { type: "note", data: { a: 1 } }]), "running")).toMatchObject([
    { kind: "event", title: "note", text: `{"a":1}` },
  ]);
});

test("a call has the last decision that the audit log has of it, with what the screen Why needs", () => {
  const assistant = { kind: "agent", agentId: "assistant" } as const;
  const alice = { kind: "human", userId: "alice" } as const;
  const checked = (at: string, outcome: AuditEvent["outcome"]): AuditEvent => ({
    id: at,
    version: 1,
    type: "authorization.checked",
    outcome,
    at,
    traceId: "t",
    namespaceId: "demo",
    actor: assistant,
    authority: alice,
    owner: alice,
    purpose: "demo",
    operationId: "c1",
    action: "read",
    resource: { namespace: "files", path: ["private", "diary.md"] },
  });
  const decisions = decisionsOf([
    checked("2026-11-16T09:00:02Z", "allowed"),
    checked("2026-11-16T09:00:01Z", "denied"),
  ]);
  expect(decisions.get("c1")).toEqual({
    outcome: "allowed",
    needs: "read files/private/diary.md",
    grantId: undefined,
    why: {
      actor: assistant,
      action: "read",
      resource: { namespace: "files", path: ["private", "diary.md"] },
      purpose: "demo",
      authority: alice,
      owner: alice,
    },
  });
});

test("what the agent carried out elsewhere within the turn is a step, and what its journal has is not one again", () => {
  const event = (id: string, ms: number, changes: object) =>
    ({
      id,
      version: 1,
      type: "authorization.checked",
      outcome: "allowed",
      at: new Date(start + ms).toISOString(),
      traceId: "t",
      namespaceId: "demo",
      actor: { kind: "agent", agentId: "assistant" },
      owner: { kind: "human", userId: "alice" },
      purpose: "demo",
      executionId: "x",
      tool: "deploy",
      operationId: "act-1",
      ...changes,
    }) as AuditEvent;
  const audited = [
    event("e3", 30, { type: "act.finished", outcome: "failed", reason: "no_disk" }),
    event("e1", 10, {}),
    event("e4", 40, { operationId: "act-2" }),
    event("e5", 50, { operationId: "act-3", outcome: "denied", reason: "no_matching_grant" }),
    event("e6", 60, { operationId: "act-4", executionId: "another" }),
    event("e7", 70, { operationId: "c1", tool: "files.read" }),
  ];
  expect(actSteps(audited, diary, "running")).toEqual([
    {
      key: "e1",
      kind: "tool",
      title: "deploy",
      callId: "act-1",
      notes: [],
      startedAt: start + 10,
      endedAt: start + 30,
      state: "failed",
      code: "no_disk",
    },
    { key: "e4", kind: "tool", title: "deploy", callId: "act-2", notes: [], startedAt: start + 40, state: "running" },
    {
      key: "e5",
      kind: "tool",
      title: "deploy",
      callId: "act-3",
      notes: [],
      startedAt: start + 50,
      endedAt: start + 50,
      state: "denied",
      code: "no_matching_grant",
    },
  ]);
});
