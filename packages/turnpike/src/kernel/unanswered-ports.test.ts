import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  agent,
  callOf,
  capability,
  contextOf,
  deferred,
  envelopeOf,
  grantOf,
  needs,
  noteTool,
  now,
  operationOf,
  rejection,
  runAgent,
  said,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { listenersOf, never } from "../../test/turns.ts";
import type { AuditEvent } from "../contracts/index.ts";
import {
  memoryAudit,
  memoryMessages,
  memoryNamespaceSettings,
  memoryPermits,
  memoryResources,
} from "../testing/index.ts";
import type { AuditSink } from "./ports.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const everything = [
  capability("files", ["notes"], "read"),
  capability("service.messaging", ["human", "bob"], "send"),
  capability("service", ["escalation"], "request"),
  runAgent,
];
const plain = grantOf("grant-1", { capabilities: everything });
const bounded = grantOf("grant-1", { capabilities: everything, constraints: { maxUses: 9 } });
const derived = grantOf("grant-1", { capabilities: everything, parentId: "parent" });
const careful = grantOf("grant-1", { capabilities: everything.map((one) => ({ ...one, approval: "each" as const })) });
const context = contextOf();
const gone = new Error("the caller went away");

type Operation = (world: World, signal: AbortSignal) => Promise<unknown>;

const operations: Record<string, Operation> = {
  authorize: ({ kernel }, signal) => kernel.authorize(context, needs("notes", "today"), { signal }),
  listTools: ({ kernel }, signal) => kernel.listTools(context, { signal }),
  listToolNamespaces: ({ kernel }, signal) => kernel.listToolNamespaces(context, { signal }),
  updateToolNamespaces: ({ kernel }, signal) => kernel.updateToolNamespaces(context, {}, { signal }),
  invokeTool: ({ kernel }, signal) => kernel.invokeTool(context, callOf(), { signal }),
  invokeResource: ({ kernel }, signal) => kernel.invokeResource(context, operationOf(), { signal }),
  sendMessage: ({ kernel }, signal) => kernel.sendMessage(context, envelopeOf(), { signal }),
  reach: ({ kernel }, signal) => kernel.reach(context, { signal }),
  explain: ({ kernel }, signal) => kernel.explain(context, needs("notes", "today"), { signal }),
  admitTurn: ({ kernel }, signal) => kernel.admitTurn(context, { agent, message: envelopeOf() }, { signal }),
  "a call in a turn": inTurn((scope, signal) => scope.invokeTool(callOf(), now, signal)),
  "an escalation": inTurn((scope, signal) => scope.escalate({ reason: "May I?" }, now, signal)),
};

function inTurn(
  act: (scope: Awaited<ReturnType<typeof admitted>>, signal: AbortSignal) => Promise<unknown>,
): Operation {
  return async (world, signal) => act(await admitted(world), signal);
}

async function admitted({ kernel }: World) {
  const admission = await kernel.admitTurn(context, { agent });
  if (admission.kind === "refused") throw new Error(`refused: ${admission.reason}`);
  return admission.scope;
}

type WorldOptions = NonNullable<Parameters<typeof worldOf>[0]>;

function worldWith(options: WorldOptions): World {
  return worldOf({
    grants: [plain],
    tools: [noteTool()],
    resources: [memoryResources("files")],
    messages: memoryMessages(),
    namespaceSettings: memoryNamespaceSettings(["files"]),
    ...options,
  });
}

/** A sink that never answers to the events that `picks` picks, and stores the others. */
function silentAudit(picks: (event: AuditEvent) => boolean): AuditSink & { events: readonly AuditEvent[] } {
  const { events, record } = memoryAudit();
  return { events, record: (event) => (picks(event) ? never() : record(event)) };
}

const beforeAnyEffect: { port: string; options: WorldOptions; holds: string[] }[] = [
  {
    port: "a grant source that never loads",
    options: { source: { load: never } },
    holds: ["authorize", "listTools", "invokeTool", "invokeResource", "sendMessage", "reach", "explain", "admitTurn"],
  },
  {
    port: "a grant source that never finds a parent",
    options: { source: { load: () => Promise.resolve([derived]), find: never } },
    holds: ["authorize", "listTools", "invokeTool", "invokeResource", "sendMessage", "reach", "explain", "admitTurn"],
  },
  {
    port: "a usage store that never answers",
    options: { grants: [bounded], usage: { used: never, consume: never } },
    holds: ["authorize", "listTools", "invokeTool", "invokeResource", "sendMessage", "reach", "explain", "admitTurn"],
  },
  {
    port: "a permit store that never answers",
    options: { grants: [careful], permits: { find: never, waiting: never, use: never, ask: never } },
    holds: ["authorize", "invokeTool", "invokeResource", "sendMessage", "explain", "admitTurn"],
  },
  {
    port: "a permit store that never asks",
    options: { grants: [careful], permits: { ...memoryPermits(), ask: never } },
    holds: ["invokeTool", "invokeResource", "sendMessage", "admitTurn"],
  },
  {
    port: "a sink that never stores a decision",
    options: { audit: silentAudit(({ outcome }) => outcome === "allowed") },
    holds: ["authorize", "updateToolNamespaces", "invokeTool", "invokeResource", "sendMessage", "admitTurn"],
  },
  {
    port: "a sink that never stores a list",
    options: { audit: silentAudit(({ type }) => /listed|reach/.test(type)) },
    holds: ["listTools", "listToolNamespaces", "reach"],
  },
  {
    port: "a sink that never stores a turn's start",
    options: { audit: silentAudit(({ type }) => type === "turn.started") },
    holds: ["admitTurn"],
  },
  {
    port: "a sink that never stores an escalation",
    options: { audit: silentAudit(({ type }) => type === "escalation.requested") },
    holds: ["an escalation"],
  },
  {
    port: "a guard that never answers",
    options: { access: { check: never } },
    holds: ["a call in a turn", "an escalation"],
  },
];

describe("before any effect the operation ends with its caller", () => {
  for (const { port, options, holds } of beforeAnyEffect) {
    for (const name of holds) {
      test(`${port} does not hold ${name}`, async () => {
        const caller = new AbortController();
        const tool = noteTool();
        const operating = rejection(
          operations[name]?.(worldWith({ ...options, tools: [tool] }), caller.signal) ?? never(),
        );
        await vi.advanceTimersByTimeAsync(0);
        expect(listenersOf(caller.signal)).toBe(1);
        caller.abort(gone);
        expect(await operating).toBe(gone);
        expect([listenersOf(caller.signal), tool.calls.length]).toStrictEqual([0, 0]);
      });
    }
  }
});

for (const [name, operate] of Object.entries(operations)) {
  test(`${name} leaves nothing on a signal that lives on and never fires`, async () => {
    const { signal } = new AbortController();
    const one = worldWith({ grants: [bounded] });
    for (let time = 0; time < 5; time += 1) await operate(one, signal);
    expect(listenersOf(signal)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
}

interface EffectRow {
  name: string;
  operation: string;
  /** A port that answers only when the gate is opened. */
  options: (gate: Promise<void>) => WorldOptions;
  truth: string;
  unknown: string;
  event: string;
}

const settings = memoryNamespaceSettings(["files"]);
const effects: EffectRow[] = [
  {
    name: "a tool",
    operation: "invokeTool",
    options: (gate) => {
      const { invoke } = noteTool();
      return { tools: [noteTool({ invoke: async (...args) => (await gate, invoke(...args)) })] };
    },
    truth: "succeeded",
    unknown: "tool_execution_failed",
    event: "tool.invoked",
  },
  {
    name: "a resource provider",
    operation: "invokeResource",
    options: (gate) => {
      const files = memoryResources("files");
      return {
        resources: [{ namespace: "files", invoke: async (...args) => (await gate, files.invoke(...args)) }],
      };
    },
    truth: "succeeded",
    unknown: "resource_execution_failed",
    event: "resource.invoked",
  },
  {
    name: "a message transport",
    operation: "sendMessage",
    options: (gate) => ({ messages: { deliver: async (...args) => (await gate, memoryMessages().deliver(...args)) } }),
    truth: "delivered",
    unknown: "message_delivery_failed",
    event: "message.sent",
  },
  {
    name: "a settings store",
    operation: "updateToolNamespaces",
    options: (gate) => ({
      namespaceSettings: { applyUpdate: async (...args) => (await gate, settings.applyUpdate(...args)) },
    }),
    truth: "listed",
    unknown: "namespace_settings_unavailable",
    event: "tool.namespaces.updated",
  },
];

/** What the caller gets in one word. */
function shortly(answer: unknown): string {
  if (typeof answer !== "object" || answer === null) return String(answer);
  if ("code" in answer) return String(answer.code);
  return "namespaces" in answer ? "listed" : said(answer as { status: string });
}

describe("once the effect has begun its outcome is recorded, whatever the caller does", () => {
  for (const row of effects) {
    for (const { after, expected } of [
      { after: 999, expected: "truth" },
      { after: 1_000, expected: "unknown" },
    ] as const) {
      test(`${row.name} that answers ${after} ms after its caller has gone: ${row[expected]}`, async () => {
        const caller = new AbortController();
        const gate = deferred<void>();
        const one = worldWith(row.options(gate.promise));
        const operating = operations[row.operation]?.(one, caller.signal).catch((error: unknown) => error);
        await vi.advanceTimersByTimeAsync(5_000);
        caller.abort(gone);
        await vi.advanceTimersByTimeAsync(after);
        gate.resolve();
        expect(shortly(await operating)).toBe(row[expected]);
        const outcome = one.events.findLast(({ type }) => type === row.event);
        expect(outcome?.reason).toBe(expected === "truth" ? undefined : row.unknown);
        expect([listenersOf(caller.signal), vi.getTimerCount()]).toStrictEqual([0, 0]);
      });
    }

    test(`a sink that never stores the outcome of ${row.name} does not hold its caller, who gets the truth`, async () => {
      const caller = new AbortController();
      const audit = silentAudit(({ type, outcome }) => type === row.event && outcome !== "allowed");
      const auditErrors: AuditEvent[] = [];
      const onAuditError = (_error: unknown, event: AuditEvent): void => void auditErrors.push(event);
      const one = worldWith({ ...row.options(Promise.resolve()), audit, onAuditError });
      const operating = operations[row.operation]?.(one, caller.signal);
      await vi.advanceTimersByTimeAsync(60_000);
      caller.abort(gone);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(shortly(await operating)).toBe(row.truth);
      expect(auditErrors).toMatchObject([{ type: row.event }]);
      expect(listenersOf(caller.signal)).toBe(0);
    });
  }
});

describe("an escalation that the queue is storing is an effect", () => {
  for (const { after, answer, outcome, auditLog } of [
    { after: 999, answer: undefined, outcome: { kind: "pending" }, auditLog: ["escalated"] },
    {
      after: 999,
      answer: "full" as const,
      outcome: { kind: "refused", reason: "too_many_escalations" },
      auditLog: ["escalated", "failed too_many_escalations"],
    },
    {
      after: 1_000,
      answer: undefined,
      outcome: { kind: "refused", reason: "escalation_unavailable" },
      auditLog: ["escalated", "failed escalation_unavailable"],
    },
  ]) {
    test(`a queue that answers ${answer ?? "that it stores it"} ${after} ms after its caller has gone: ${outcome.reason ?? "stored"}`, async () => {
      const caller = new AbortController();
      const gate = deferred<void>();
      const one = worldWith({ escalations: { add: async () => (await gate.promise, answer) } });
      const operating = operations["an escalation"]?.(one, caller.signal);
      await vi.advanceTimersByTimeAsync(5_000);
      caller.abort(gone);
      await vi.advanceTimersByTimeAsync(after);
      gate.resolve();
      expect(await operating).toMatchObject(outcome);
      const requested = one.events.filter(({ type }) => type === "escalation.requested");
      expect(requested.map((event) => [event.outcome, event.reason ?? []].flat().join(" "))).toStrictEqual(auditLog);
      expect([listenersOf(caller.signal), vi.getTimerCount()]).toStrictEqual([0, 0]);
    });
  }
});

test("a use that was being taken when the caller went is what it is, and nothing runs on it", async () => {
  const caller = new AbortController();
  const gate = deferred<boolean>();
  const tool = noteTool();
  const one = worldWith({
    grants: [bounded],
    tools: [tool],
    usage: { used: () => Promise.resolve(0), consume: () => gate.promise },
  });
  const operating = rejection(one.kernel.invokeTool(context, callOf(), { signal: caller.signal }));
  await vi.advanceTimersByTimeAsync(0);
  caller.abort(gone);
  expect(await operating).toBe(gone);
  gate.resolve(true);
  await vi.advanceTimersByTimeAsync(0);
  expect([tool.calls.length, one.events.length]).toStrictEqual([0, 0]);
});

for (const row of [
  { name: "an admitted turn", end: async (one: World) => (await admitted(one)).end({ outcome: "succeeded" }, now) },
  {
    name: "a turn that was never admitted",
    end: (one: World) => one.kernel.recordTurnEnd(context, { outcome: "denied", reason: "actor_mismatch" }),
  },
]) {
  test(`a sink that never stores the end of ${row.name} does not hold it for longer than a second`, async () => {
    const auditErrors: AuditEvent[] = [];
    const onAuditError = (_error: unknown, event: AuditEvent): void => void auditErrors.push(event);
    const one = worldWith({ audit: silentAudit(({ type }) => type === "turn.ended"), onAuditError });
    let isOver = false;
    const ending = row.end(one).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(auditErrors).toMatchObject([{ type: "turn.ended" }]);
  });
}
