import { expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  later,
  needs,
  noteTool,
  operationOf,
  providerOf,
  refusingAudit,
  rejection,
  runAgent,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import {
  AuditEventSchema,
  type AuditEvent,
  type MessageEnvelope,
  type MessageResult,
  type ResourceOperationRequest,
  type ResourceResult,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { memoryMessages, memoryNamespaceSettings, memoryResources } from "../testing/index.ts";
import { createKernel } from "./kernel.ts";
import type { KernelOptions } from "./ports.ts";

const note = { namespace: "files", path: ["notes", "today"] };
const letter = { namespace: "service.messaging", path: ["human", "bob"] };
const grants = [
  grantOf("grant-1"),
  grantOf("run", { capabilities: [runAgent] }),
  grantOf("escalate", { capabilities: [capability("service", ["escalation"], "request")] }),
  grantOf("send", { capabilities: [capability("service.messaging", ["human", "bob"], "send")] }),
];

/** Every port in memory, and a context with every optional field. */
function fullWorld(options: Parameters<typeof worldOf>[0] = {}): World {
  return worldOf({
    grants,
    tools: [noteTool()],
    resources: [memoryResources("files")],
    messages: memoryMessages(),
    namespaceSettings: memoryNamespaceSettings(["files"]),
    ...options,
  });
}

const context = contextOf({ executionId: "turn-1" });

async function runTurn({ kernel }: World): Promise<void> {
  const admission = await kernel.admitTurn(context, { agent });
  if (admission.kind === "refused") return;
  const { scope } = admission;
  const { signal } = new AbortController();
  await scope.invokeTool(callOf(), later, signal);
  await scope.refuseTool(callOf({ id: "call-2" }), later, "step_limit_exceeded");
  await scope.escalate({ reason: "May I?" }, later, signal);
  await scope.end({ outcome: "escalated" }, later);
}

interface OperationRow {
  name: string;
  world?: Parameters<typeof worldOf>[0];
  operate: (world: World) => Promise<unknown>;
  events: Record<string, unknown>[];
}

const checked = { type: "authorization.checked", outcome: "allowed" };
const refused = { type: "authorization.checked", outcome: "denied" };

const operations: OperationRow[] = [
  {
    name: "authorize that allows",
    operate: ({ kernel }) => kernel.authorize(context, needs("notes", "today")),
    events: [{ ...checked, action: "read", resource: note, grantId: "grant-1" }],
  },
  {
    name: "authorize that denies, with each grant and the first condition it failed",
    world: {
      grants: [
        grantOf("grant-1", { revokedAt: "2026-01-01T11:00:00Z" }),
        grantOf("grant-2", { capabilities: [capability("mail", [], "*")] }),
      ],
    },
    operate: ({ kernel }) => kernel.authorize(context, needs("notes", "today")),
    events: [
      {
        ...refused,
        action: "read",
        resource: note,
        reason: "no_matching_grant",
        metadata: {
          grants: [
            { grantId: "grant-1", failed: "revoked" },
            { grantId: "grant-2", failed: "namespace" },
          ],
        },
      },
    ],
  },
  {
    name: "authorize of something that is no request",
    operate: ({ kernel }) => kernel.authorize(context, needs("..")),
    events: [{ ...refused, reason: "invalid_request" }],
  },
  {
    name: "invokeTool that succeeds",
    operate: ({ kernel }) => kernel.invokeTool(context, callOf()),
    events: [
      { ...checked, tool: "files.read", operationId: "call-1", action: "read", resource: note, grantId: "grant-1" },
      { type: "tool.invoked", outcome: "succeeded", tool: "files.read", operationId: "call-1" },
    ],
  },
  {
    name: "invokeTool that is denied",
    world: { grants: [grantOf("grant-1", { capabilities: [capability("files", ["notes", "other"], "read")] })] },
    operate: ({ kernel }) => kernel.invokeTool(context, callOf()),
    events: [
      {
        ...refused,
        tool: "files.read",
        operationId: "call-1",
        action: "read",
        resource: note,
        reason: "no_matching_grant",
        metadata: { grants: [{ grantId: "grant-1", failed: "path" }] },
      },
      {
        type: "tool.invoked",
        outcome: "denied",
        tool: "files.read",
        operationId: "call-1",
        reason: "no_matching_grant",
      },
    ],
  },
  {
    name: "invokeTool of a hidden tool",
    operate: ({ kernel }) => kernel.invokeTool(context, callOf({ tool: "files.none" })),
    events: [
      {
        type: "tool.invoked",
        outcome: "denied",
        tool: "files.none",
        operationId: "call-1",
        reason: "tool_unavailable",
        metadata: { hidden: "not-registered" },
      },
    ],
  },
  {
    name: "invokeTool whose handler fails",
    world: { tools: [noteTool({ invoke: fails })] },
    operate: ({ kernel }) => kernel.invokeTool(context, callOf()),
    events: [
      { ...checked, tool: "files.read", operationId: "call-1", action: "read", resource: note, grantId: "grant-1" },
      {
        type: "tool.invoked",
        outcome: "failed",
        tool: "files.read",
        operationId: "call-1",
        reason: "tool_execution_failed",
      },
    ],
  },
  {
    name: "invokeResource that succeeds",
    operate: ({ kernel }) => kernel.invokeResource(context, operationOf({ resource: { ...note, owner: alice } })),
    events: [
      {
        ...checked,
        operationId: "operation-1",
        action: "read",
        resource: { ...note, owner: alice },
        grantId: "grant-1",
      },
      {
        type: "resource.invoked",
        outcome: "succeeded",
        operationId: "operation-1",
        action: "read",
        resource: { ...note, owner: alice },
      },
    ],
  },
  {
    name: "invokeResource that fails",
    world: { resources: [] },
    operate: ({ kernel }) => kernel.invokeResource(context, operationOf({ resource: { ...note, owner: alice } })),
    events: [
      {
        ...checked,
        operationId: "operation-1",
        action: "read",
        resource: { ...note, owner: alice },
        grantId: "grant-1",
      },
      {
        type: "resource.invoked",
        outcome: "failed",
        operationId: "operation-1",
        action: "read",
        resource: { ...note, owner: alice },
        reason: "resource_provider_not_found",
      },
    ],
  },
  {
    name: "sendMessage that succeeds",
    operate: ({ kernel }) => kernel.sendMessage(context, envelopeOf()),
    events: [
      { ...checked, messageId: "message-1", receiver: bob, action: "send", resource: letter, grantId: "send" },
      { type: "message.sent", outcome: "succeeded", messageId: "message-1", receiver: bob },
    ],
  },
  {
    name: "sendMessage that is no message of this context",
    operate: ({ kernel }) => kernel.sendMessage(context, envelopeOf({ sender: bob })),
    events: [
      {
        type: "message.sent",
        outcome: "denied",
        messageId: "message-1",
        receiver: bob,
        reason: "message_context_mismatch",
      },
    ],
  },
  {
    name: "listTools",
    operate: ({ kernel }) => kernel.listTools(context),
    events: [{ type: "tool.catalog.listed", outcome: "succeeded", metadata: { toolCount: 1 } }],
  },
  {
    name: "listTools without its grants",
    world: { source: { load: fails } },
    operate: ({ kernel }) => rejection(kernel.listTools(context)),
    events: [
      { type: "tool.catalog.listed", outcome: "failed", reason: "authority_unavailable", metadata: { toolCount: 0 } },
    ],
  },
  {
    name: "listToolNamespaces",
    operate: ({ kernel }) => kernel.listToolNamespaces(context),
    events: [{ type: "tool.namespaces.listed", outcome: "succeeded" }],
  },
  {
    name: "updateToolNamespaces",
    operate: ({ kernel }) => kernel.updateToolNamespaces(context, { enable: ["mail", "mail"], disable: ["files"] }),
    events: [
      { type: "tool.namespaces.updated", outcome: "allowed", metadata: { enable: ["mail"], disable: ["files"] } },
      { type: "tool.namespaces.updated", outcome: "succeeded", metadata: { enabled: ["mail"] } },
    ],
  },
  {
    name: "reach",
    operate: ({ kernel }) => kernel.reach(context),
    events: [{ type: "reach.read", outcome: "succeeded" }],
  },
  {
    name: "reach without its grants",
    world: { source: { load: fails } },
    operate: ({ kernel }) => kernel.reach(context),
    events: [{ type: "reach.read", outcome: "failed", reason: "authority_unavailable" }],
  },
  {
    name: "a turn",
    operate: runTurn,
    events: [
      { ...checked, action: "invoke", resource: runAgent.resource, grantId: "run" },
      { type: "turn.started", outcome: "allowed" },
      {
        ...checked,
        at: later,
        tool: "files.read",
        operationId: "call-1",
        action: "read",
        resource: note,
        grantId: "grant-1",
      },
      { type: "tool.invoked", outcome: "succeeded", at: later, tool: "files.read", operationId: "call-1" },
      {
        type: "tool.invoked",
        outcome: "denied",
        at: later,
        tool: "files.read",
        operationId: "call-2",
        reason: "step_limit_exceeded",
      },
      {
        ...checked,
        at: later,
        action: "request",
        resource: { namespace: "service", path: ["escalation"] },
        grantId: "escalate",
      },
      { type: "escalation.requested", outcome: "escalated", at: later, receiver: alice },
      { type: "turn.ended", outcome: "escalated", at: later },
    ],
  },
];

for (const row of operations) {
  test(`${row.name} leaves exactly its own events, in order`, async () => {
    const world = fullWorld(row.world);
    await row.operate(world);
    const about = {
      version: 1,
      at: "2026-01-01T12:00:00Z",
      traceId: "trace-1",
      namespaceId: "demo",
      actor: { kind: "agent", agentId: "helper" },
      authority: { kind: "human", userId: "alice" },
      owner: { kind: "human", userId: "alice" },
      purpose: "help",
      executionId: "turn-1",
    };
    expect(world.events.map(({ id: _id, ...event }) => event)).toStrictEqual(
      row.events.map((event) => ({ ...about, ...event })),
    );
    for (const event of world.events) expect(AuditEventSchema.safeParse(event).error).toBeUndefined();
    expect(new Set(world.events.map(({ id }) => id)).size).toBe(world.events.length);
  });
}

test("an event has no authority and no execution where the context has none", async () => {
  const { authority: _open, ...open } = contextOf();
  const world = fullWorld();
  await world.kernel.listTools(open);
  expect(world.events).toHaveLength(1);
  expect(world.events[0]).not.toHaveProperty("authority");
  expect(world.events[0]).not.toHaveProperty("executionId");
});

for (const row of [
  {
    name: "invokeTool",
    operate: ({ kernel }: World) => kernel.invokeTool(context, untyped<ToolCall>({ ...callOf(), grants: [] })),
  },
  {
    name: "invokeResource",
    operate: ({ kernel }: World) =>
      kernel.invokeResource(
        context,
        untyped<ResourceOperationRequest>(operationOf({ resource: { namespace: "files", path: [".."] } })),
      ),
  },
  {
    name: "sendMessage",
    operate: ({ kernel }: World) =>
      kernel.sendMessage(context, untyped<MessageEnvelope>({ ...envelopeOf(), grants: [] })),
  },
]) {
  test(`a denial of ${row.name} with invalid_request is in the audit log like every other decision`, async () => {
    const world = fullWorld();
    expect(await row.operate(world)).toMatchObject({ status: "denied", error: { code: "invalid_request" } });
    expect(world.events).toMatchObject([{ outcome: "denied", reason: "invalid_request" }]);
  });
}

const isDecision = ({ outcome }: AuditEvent): boolean => outcome === "allowed" || outcome === "denied";
const isOutcome = (event: AuditEvent): boolean => !isDecision(event);

interface EffectRow {
  name: string;
  operate: (kernel: World["kernel"]) => Promise<unknown>;
  unrecorded: Record<string, unknown>;
  recorded: Record<string, unknown>;
}

const effects: EffectRow[] = [
  {
    name: "invokeTool",
    operate: (kernel) => kernel.invokeTool(context, callOf()),
    unrecorded: { status: "failed", callId: "call-1", error: { code: "audit_unavailable" } },
    recorded: { status: "succeeded", callId: "call-1", output: "text of today" },
  },
  {
    name: "invokeResource",
    operate: (kernel) => kernel.invokeResource(context, operationOf()),
    unrecorded: { status: "failed", operationId: "operation-1", error: { code: "audit_unavailable" } },
    recorded: { status: "succeeded", operationId: "operation-1" },
  },
  {
    name: "sendMessage",
    operate: (kernel) => kernel.sendMessage(context, envelopeOf()),
    unrecorded: { status: "failed", messageId: "message-1", error: { code: "audit_unavailable" } },
    recorded: { status: "delivered", messageId: "message-1" },
  },
];

for (const row of effects) {
  test(`${row.name}: a decision the sink refuses means no effect; an outcome it refuses means the true result`, async () => {
    const effect = { tool: noteTool(), resources: memoryResources("files"), messages: memoryMessages() };
    const count = (): number =>
      effect.tool.calls.length + effect.resources.operations.length + effect.messages.delivered.length;
    const ports = { tools: [effect.tool], resources: [effect.resources], messages: effect.messages };

    const before = fullWorld({ ...ports, audit: refusingAudit(isDecision) });
    expect(await row.operate(before.kernel)).toMatchObject(row.unrecorded);
    expect(count()).toBe(0);

    const after = fullWorld({ ...ports, audit: refusingAudit(isOutcome) });
    expect(await row.operate(after.kernel)).toMatchObject(row.recorded);
    expect(count()).toBe(1);
    expect(after.auditErrors).toMatchObject([{ error: expect.any(Error), event: { outcome: "succeeded" } }]);
  });

  test(`${row.name}: the decision is in the audit log before the effect, the outcome after it`, async () => {
    const order: string[] = [];
    const happens = <T>(result: unknown): Promise<T> => {
      order.push("effect");
      return Promise.resolve(untyped<T>(result));
    };
    const { kernel } = fullWorld({
      audit: {
        record(event) {
          order.push(event.outcome);
          return Promise.resolve();
        },
      },
      tools: [noteTool({ invoke: () => happens<ToolResult>({}) })],
      resources: [{ namespace: "files", invoke: () => happens<ResourceResult>({}) }],
      messages: { deliver: () => happens<MessageResult>({}) },
    });
    await row.operate(kernel);
    expect(order).toStrictEqual(["allowed", "effect", "failed"]);
  });

  test(`${row.name}: with audit "none" there is no audit log and the effect happens`, async () => {
    const { kernel, events } = fullWorld({ audit: "none" });
    expect(await row.operate(kernel)).toMatchObject(row.recorded);
    expect(events).toStrictEqual([]);
  });
}

for (const row of [
  { name: "allows", request: needs("notes", "today"), recorded: { allowed: true, reasonCode: "allowed" } },
  { name: "denies", request: needs("private"), recorded: { allowed: false, reasonCode: "no_matching_grant" } },
]) {
  test(`authorize that ${row.name} answers audit_unavailable and nothing more when the sink refuses`, async () => {
    expect(await fullWorld().kernel.authorize(context, row.request)).toMatchObject(row.recorded);
    const { kernel } = fullWorld({ audit: refusingAudit(() => true) });
    expect(await kernel.authorize(context, row.request)).toStrictEqual({
      allowed: false,
      reasonCode: "audit_unavailable",
    });
  });
}

test("a reach that cannot be recorded is not shown", async () => {
  expect(await fullWorld().kernel.reach(context)).toMatchObject({ status: "computed" });
  const { kernel } = fullWorld({ audit: refusingAudit(() => true) });
  expect(await kernel.reach(context)).toMatchObject({ status: "unavailable" });
});

for (const row of [
  { name: "rejects", record: fails },
  {
    name: "throws before it returns a promise",
    record: (): never => {
      throw new Error("disk full");
    },
  },
]) {
  test(`a sink that ${row.name} refuses, also when the observer of that throws`, async () => {
    const { kernel } = fullWorld({
      audit: { record: row.record },
      onAuditError() {
        throw new Error("the observer fell over");
      },
    });
    expect(await kernel.invokeTool(context, callOf())).toMatchObject({
      status: "failed",
      error: { code: "audit_unavailable" },
    });
  });
}

test("whether there is an audit log has to be written down", () => {
  const { audit: _unsaid, ...rest }: KernelOptions = { grants: { load: () => Promise.resolve([]) }, audit: "none" };
  expect(() => createKernel(untyped<KernelOptions>(rest))).toThrow(TypeError);
  expect(() => createKernel({ ...rest, audit: "none" })).not.toThrow();
});

test("arguments, outputs, inputs, payloads, reasons and metadata of callers never enter the audit log", async () => {
  const secret = "s3cret-content";
  const content = { text: secret, [secret]: [secret] };
  const failing = { code: "own_code", message: secret, details: content };
  const world = fullWorld({
    tools: [
      noteTool({
        requirement: () => needs("notes", "today"),
        invoke: (_context, { id: callId, tool, arguments: { fails: isFailing } }) => {
          const about = { callId, tool, completedAt: "2026-01-01T12:00:00Z", metadata: content };
          return Promise.resolve(
            isFailing === true
              ? { status: "failed", ...about, error: failing }
              : { status: "succeeded", ...about, output: content },
          );
        },
      }),
      noteTool({
        name: "files.throw",
        requirement: () => needs("notes"),
        invoke: () => Promise.reject(new Error(secret)),
      }),
    ],
    resources: [
      {
        namespace: "files",
        invoke: ({ operationId, input }) => {
          const about = { operationId, completedAt: "2026-01-01T12:00:00Z", metadata: content };
          return Promise.resolve(
            input === null
              ? { status: "denied", ...about, error: failing }
              : { status: "succeeded", ...about, output: content },
          );
        },
      },
    ],
    messages: {
      deliver: (_context, { id: messageId, replyTo }) => {
        const about = { messageId, timestamp: "2026-01-01T12:00:00Z", metadata: content };
        return Promise.resolve(
          replyTo === undefined ? { status: "delivered", ...about } : { status: "failed", ...about, error: failing },
        );
      },
    },
    toolProviders: [providerOf("post", ["mail"], () => Promise.reject(new Error(secret)))],
    grants: [...grants, grantOf("unrelated", { metadata: content, capabilities: [capability("other", [], "*")] })],
  });
  const { kernel } = world;
  const wide = { ...context, enabledToolNamespaces: ["files", "mail"] };
  await kernel.invokeTool(wide, callOf({ arguments: content }));
  await kernel.invokeTool(wide, callOf({ arguments: { ...content, fails: true } }));
  await kernel.invokeTool(wide, callOf({ tool: "files.throw", arguments: content }));
  await kernel.invokeTool(wide, callOf({ tool: "files.none", arguments: content }));
  await kernel.invokeTool(wide, callOf({ tool: "mail.find", arguments: content }));
  await kernel.invokeResource(wide, operationOf({ input: content, metadata: content }));
  await kernel.invokeResource(wide, operationOf({ input: null, metadata: content }));
  await kernel.invokeResource(wide, operationOf({ action: "write", input: content, metadata: content }));
  await kernel.sendMessage(
    wide,
    envelopeOf({ payload: content, provenance: { source: secret, parentIds: [], metadata: content } }),
  );
  await kernel.sendMessage(wide, envelopeOf({ payload: content, replyTo: "message-0" }));
  await kernel.sendMessage(wide, envelopeOf({ payload: content, receiver: alice }));
  await kernel.listTools(wide);
  const admission = await kernel.admitTurn(wide, { agent });
  if (admission.kind === "refused") throw new Error(admission.reason);
  const { scope } = admission;
  const { signal } = new AbortController();
  await scope.invokeTool(callOf({ arguments: content }), later, signal);
  await scope.refuseTool(callOf({ arguments: content }), later, "duplicate_call_id");
  const requestedAuthority = { capabilities: [capability("other", ["place"], "read")], metadata: content };
  const escalated = await scope.escalate({ reason: secret, requestedAuthority }, later, signal);
  expect(escalated.kind).toBe("pending");
  await scope.end({ outcome: "escalated" }, later);

  expect(world.events.length).toBeGreaterThan(20);
  expect(JSON.stringify(world.events)).not.toContain(secret);
  for (const event of world.events) expect(AuditEventSchema.safeParse(event).error).toBeUndefined();
});
