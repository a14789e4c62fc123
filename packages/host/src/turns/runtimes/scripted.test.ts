import { describe, expect, test } from "vitest";
import { agent, alice, descriptorOf, envelopeOf } from "../../../../turnpike/test/deployment.ts";
import { journalWorld, key } from "../../../../turnpike/test/journal-turns.ts";
import { escalationGrant, runGrant, toolGrant, toolOf, turnWorldOf } from "../../../../turnpike/test/turns.ts";
import type { JsonValue } from "../../../../turnpike/src/contracts/index.ts";
import { escalationTool } from "../../../../turnpike/src/runtime/index.ts";
import { demoRuntime } from "./scripted.ts";

const message = (payload: JsonValue) => envelopeOf({ sender: alice, receiver: agent, payload });

describe("a turn of the demo reads one file, and answers with what is in it:", () => {
  for (const { payload, path } of [
    { payload: { read: "notes/plan.md" }, path: "notes/plan.md" },
    { payload: { read: 5 }, path: "notes/todo.md" },
    { payload: "hello", path: "notes/todo.md" },
  ]) {
    test(JSON.stringify(payload), async () => {
      const read = toolOf("files.read", { work: () => Promise.resolve("Buy milk.") });
      const world = turnWorldOf(demoRuntime, { tools: [read, escalationTool()] });
      const result = await world.run({ message: message(payload) });
      expect(result).toMatchObject({ status: "succeeded", output: ["Buy milk."] });
      expect(read.calls).toMatchObject([{ id: "turn-1-read", tool: "files.read", arguments: { path } }]);
    });
  }
});

describe("a turn of the demo that is to pay", () => {
  const pay = { to: "bob", amount: 20 };

  test("pays what its message says, once", async () => {
    const tool = {
      ...toolOf("payments.pay"),
      descriptor: descriptorOf({ name: "payments.pay", namespace: "payments" }),
    };
    const world = turnWorldOf(demoRuntime, { tools: [tool] });
    const context = { enabledToolNamespaces: ["payments"] };
    const result = await world.run({ message: message({ pay }), context });
    expect(result).toMatchObject({ status: "succeeded", output: ["turn-1-pay"] });
    expect(tool.calls).toMatchObject([{ arguments: pay }]);
  });

  test("does not escalate when it may not", async () => {
    expect(await turnWorldOf(demoRuntime).run({ message: message({ pay }) })).toMatchObject({
      status: "succeeded",
      output: [{ denied: "tool_unavailable" }],
    });
  });
});

describe("a turn of the demo that may not read", () => {
  const read = () => toolOf("files.read");
  const asked = message({ read: "/notes/plan.md" });

  test("says so when it may not ask either", async () => {
    const world = turnWorldOf(demoRuntime, { tools: [read()], grants: [runGrant] });
    expect(await world.run({ message: asked })).toMatchObject({
      status: "succeeded",
      output: [{ denied: "tool_unavailable" }],
    });
  });

  for (const { name, answer, grants, output } of [
    {
      name: "reads again after an approval",
      answer: { status: "succeeded", output: { answer: "approved" } },
      grants: [runGrant, escalationGrant, toolGrant],
      output: ["turn-1-read-again"],
    },
    {
      name: "says that it was denied once more when the approval was for something else",
      answer: { status: "succeeded", output: { answer: "approved" } },
      grants: [runGrant, escalationGrant],
      output: [{ denied: "tool_unavailable" }],
    },
    {
      name: "says so after a denial",
      answer: { status: "denied", error: { code: "escalation_denied", message: "No." } },
      grants: [runGrant, escalationGrant, toolGrant],
      output: [{ denied: "escalation_denied" }],
    },
  ] as const)
    test(`asks for that file alone, and ${name}`, async () => {
      const escalations = {
        add: () => Promise.resolve({ id: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" }),
      };
      const options = { escalations, tools: [read(), escalationTool()] };
      const world = journalWorld(demoRuntime, { ...options, grants: [runGrant, escalationGrant] });
      const { journal } = world;
      expect(await world.run({ message: asked }, { isAsync: true })).toMatchObject({
        status: "escalated",
        escalation: {
          reason: "I was asked to read /notes/plan.md.",
          requestedAuthority: {
            capabilities: [
              { resource: { namespace: "files", path: ["notes", "plan.md"] }, actions: ["read"], scope: "exact" },
            ],
          },
        },
      });
      const callId = "turn-1-ask-1";
      journal.answer(key, callId, {
        callId,
        tool: "service.escalate",
        completedAt: "2026-01-01T12:00:00Z",
        ...answer,
      });
      const next = journalWorld(demoRuntime, { ...options, journal, grants });
      expect(await next.resume({ context: { message: asked } })).toMatchObject({ status: "succeeded", output });
    });
});
