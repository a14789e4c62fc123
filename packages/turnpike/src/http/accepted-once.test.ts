import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { exchanges, httpWorldOf, requestFor } from "../../test/http.ts";
import { callOf, capability, contextOf, grantOf, later, noteTool, runAgent, worldOf } from "../../test/deployment.ts";
import {
  callsInTurn,
  calling,
  completed,
  recordingRun,
  mayEscalate,
  pluginOf,
  requestOf,
  toolGrant,
  toolOf,
  turnWorldOf,
} from "../../test/turns.ts";
import * as contracts from "../contracts/index.ts";
import { createKernel, defineTool, deriveGrant, type Kernel } from "../kernel/index.ts";
import { createTurnExecutor, standardRuntime } from "../runtime/index.ts";
import { memoryGrants, scriptedDriver } from "../testing/index.ts";
import { createServiceApi } from "./service-api.ts";

type SchemaName = keyof typeof contracts & `${string}Schema`;

/** How often each of these schemas checked a value from here on, wherever it was met. */
function countChecks(...names: SchemaName[]): () => Partial<Record<SchemaName, number>> {
  const schemas: Record<SchemaName, { _zod: { run: (...args: never[]) => unknown } }> = { ...contracts };
  const spies = names.map((name) => [name, vi.spyOn(schemas[name]._zod, "run")] as const);
  return () => Object.fromEntries(spies.map(([name, { mock }]) => [name, mock.calls.length]));
}

/** A value whose part is counted each time it is read. */
function readCounter<T extends object>(value: T, key: keyof T): { value: T; reads: () => number } {
  const part = value[key];
  let reads = 0;
  const get = (): unknown => {
    reads += 1;
    return part;
  };
  return { value: Object.defineProperty({ ...value }, key, { enumerable: true, get }), reads: () => reads };
}

const definedTool = defineTool({
  name: "files.read",
  description: "Reads one note.",
  namespace: "files",
  readWrite: "read",
  input: z.strictObject({ note: z.string() }),
  requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
  run: ({ note }) => ({ text: note }),
});

afterEach(() => {
  vi.restoreAllMocks();
});

test("a tool call over HTTP is checked once, and so are its context, what the tool parsed and what it returned", async () => {
  const { handler } = httpWorldOf({ kernel: { tools: [definedTool] } });
  const checks = countChecks(
    "DiscoveryContextSchema",
    "ToolCallSchema",
    "JsonObjectSchema",
    "JsonValueSchema",
    "AuthorizationRequestSchema",
    "ToolResultSchema",
  );
  const response = await handler(requestFor(exchanges.invokeTool));
  expect(await response.json()).toMatchObject({ status: "succeeded", output: { text: "today" } });
  expect(checks()).toStrictEqual({
    DiscoveryContextSchema: 1,
    ToolCallSchema: 1,
    // The arguments as they were sent. What the tool made of them, and its output, is read as JSON without a schema.
    JsonObjectSchema: 1,
    JsonValueSchema: 0,
    // What it needs was accepted with the tool.
    AuthorizationRequestSchema: 0,
    // A defined tool's result is made here, of an output that was checked.
    ToolResultSchema: 0,
  });
});

test("a tool call of an embedder with plain values is checked, once", async () => {
  const { kernel } = worldOf({ grants: [grantOf("notes")], tools: [noteTool()] });
  const checks = countChecks("DiscoveryContextSchema", "ToolCallSchema", "ToolResultSchema");
  expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({ status: "succeeded" });
  expect(checks()).toStrictEqual({ DiscoveryContextSchema: 1, ToolCallSchema: 1, ToolResultSchema: 1 });
  expect(await kernel.invokeTool(contextOf(), callOf({ id: "" }))).toMatchObject({
    error: { code: "invalid_request" },
  });
});

test("arguments and an output are read once on their way through a turn", async () => {
  const args = readCounter({ note: "today" }, "note");
  const output = readCounter({ text: "milk" }, "text");
  const tool = toolOf("files.read", { work: () => Promise.resolve(output.value) });
  const { run } = turnWorldOf(callsInTurn({ ...calling("call-1"), arguments: args.value }), { tools: [tool] });
  expect(await run()).toMatchObject({ status: "succeeded", output: ["succeeded"] });
  expect([args.reads(), output.reads()]).toStrictEqual([1, 1]);
});

test("what a tool parsed and what it returned is read once", async () => {
  const parsed = readCounter({ note: "today" }, "note");
  const returned = readCounter({ text: "milk" }, "text");
  const tool = defineTool({
    name: "files.read",
    description: "Reads one note.",
    namespace: "files",
    readWrite: "read",
    input: z.strictObject({ note: z.string() }).transform(() => parsed.value),
    requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
    run: () => returned.value,
  });
  const { kernel } = worldOf({ grants: [grantOf("notes")], tools: [tool] });
  expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({ output: { text: "milk" } });
  expect([parsed.reads(), returned.reads()]).toStrictEqual([1, 1]);
});

const twoCalls = standardRuntime(
  scriptedDriver([
    { type: "tools", calls: [calling("call-1"), calling("call-2")] },
    { type: "complete", output: { said: "done" } },
  ]),
);

test("a turn over HTTP is checked once, its context once, and each call of its model once", async () => {
  const { handler } = httpWorldOf({ runtime: twoCalls });
  const checks = countChecks(
    "DiscoveryContextSchema",
    "TurnRequestSchema",
    "MessageEnvelopeSchema",
    "ToolCallSchema",
    "ToolResultSchema",
  );
  const response = await handler(requestFor(exchanges.executeTurn));
  expect(await response.json()).toMatchObject({ status: "succeeded", output: { said: "done" } });
  expect(checks()).toStrictEqual({
    DiscoveryContextSchema: 1,
    // The envelope is checked with the turn that it is part of.
    TurnRequestSchema: 1,
    MessageEnvelopeSchema: 0,
    ToolCallSchema: 2,
    ToolResultSchema: 2,
  });
});

test("a turn of an embedder with plain values is checked, once", async () => {
  const { run } = turnWorldOf(() => Promise.resolve(completed()));
  const checks = countChecks("DiscoveryContextSchema", "TurnRequestSchema");
  expect(await run()).toMatchObject({ status: "succeeded" });
  expect(checks()).toStrictEqual({ DiscoveryContextSchema: 1, TurnRequestSchema: 1 });
  await expect(run({ executionId: "" })).rejects.toThrow("This is no turn request: /executionId");
});

test("an accepted request that is spread and changed is checked anew", async () => {
  const { kernel } = worldOf({ grants: [grantOf("run", { capabilities: [runAgent] })] });
  const inner = createTurnExecutor({ kernel, runtime: pluginOf(() => Promise.resolve(completed())) });
  const changing = { execute: inner.execute.bind(inner) };
  const { handler } = httpWorldOf({
    api: createServiceApi({
      kernel,
      turns: { execute: (turn, options) => changing.execute({ ...turn, executionId: "" }, options) },
    }),
  });
  const response = await handler(requestFor(exchanges.executeTurn));
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: "internal_error" } }]);
});

for (const row of [
  {
    name: "an escalation of a driver",
    schema: "AuthorityRequestInputSchema",
    decision: { type: "escalate", reason: "May I?", requestedAuthority: { capabilities: [runAgent] } },
    ends: "escalated",
  },
  {
    name: "a failure of a driver",
    schema: "ErrorObjectSchema",
    decision: { type: "fail", error: { code: "no_idea", message: "I do not know." } },
    ends: "failed",
  },
] as const) {
  test(`${row.name} is checked once on its way to the turn's result`, async () => {
    const runtime = standardRuntime(scriptedDriver([structuredClone(row.decision) as never]));
    const { run } = turnWorldOf(runtime);
    const checks = countChecks(row.schema);
    expect(await run()).toMatchObject({ status: row.ends });
    expect(checks()).toStrictEqual({ [row.schema]: 1 });
  });
}

test("a grant in memory is checked once, when it is issued, whatever is decided on it and on its children", async () => {
  const root = grantOf("root", { subject: { kind: "human", userId: "alice" }, constraints: { delegationDepth: 1 } });
  const checks = countChecks("GrantSchema");
  const derived = deriveGrant(root, {
    id: "notes",
    subject: contextOf().actor,
    capabilities: root.capabilities,
    issuedAt: root.issuedAt,
  });
  if (!derived.ok) throw new Error(derived.reason);
  // The parent, and the child as it was asked for; the results of both are not checked again.
  expect(checks()).toStrictEqual({ GrantSchema: 2 });
  const kernel = createKernel({ grants: memoryGrants([root, derived.grant]), audit: "none" });
  expect(checks()).toStrictEqual({ GrantSchema: 3 });
  const request = { action: "read", resource: { namespace: "files", path: ["notes"] } };
  for (const time of [1, 2])
    expect(await kernel.authorize(contextOf(), request), `time ${time}`).toMatchObject({ allowed: true });
  await kernel.reach(contextOf());
  expect(checks()).toStrictEqual({ GrantSchema: 3 });
});

test("a grant that a source freezes is read by two checks and by its freezing, and never again", async () => {
  const { value, reads } = readCounter(grantOf("notes"), "capabilities");
  const held = Object.freeze([Object.freeze(value)]);
  const { kernel } = worldOf({ source: { load: () => Promise.resolve(held) }, tools: [noteTool()] });
  for (const time of [1, 2, 3])
    expect(await kernel.invokeTool(contextOf(), callOf()), `time ${time}`).toMatchObject({ status: "succeeded" });
  expect(reads()).toBe(3);
});

test("a change of tool namespaces checks the names that are in force, and not the context again", async () => {
  const { kernel } = worldOf({ namespaceSettings: { applyUpdate: () => Promise.resolve(["mail"]) } });
  const checks = countChecks("DiscoveryContextSchema", "NamespaceUpdateSchema", "IdentifierSchema");
  await kernel.updateToolNamespaces(contextOf(), { enable: ["mail"] });
  expect(checks()).toMatchObject({ DiscoveryContextSchema: 1, NamespaceUpdateSchema: 1 });
});

test("an access that shrinks in a turn is not checked as a whole again", async () => {
  const access = { check: () => Promise.resolve({ isActive: true as const, enabledToolNamespaces: ["files"] }) };
  const { run } = turnWorldOf(callsInTurn(calling("call-1"), calling("call-2")), { access });
  const checks = countChecks("DiscoveryContextSchema");
  expect(await run()).toMatchObject({ output: ["succeeded", "succeeded"] });
  expect(checks()).toStrictEqual({ DiscoveryContextSchema: 1 });
});

/** The api over a kernel whose lists are cached, and a runtime that records what it is given. */
function listingApi(kernel: Kernel) {
  const lists: (readonly contracts.ToolDescriptor[])[] = [];
  const overheard: Kernel = {
    ...kernel,
    async listTools(...args) {
      const tools = await kernel.listTools(...args);
      lists.push(tools);
      return tools;
    },
  };
  const { run, given } = recordingRun();
  const turns = createTurnExecutor({ kernel, runtime: pluginOf(run) });
  return { api: createServiceApi({ kernel: overheard, turns }), lists, given };
}

test("the tools of a turn are listed once: the runtime is offered the very list", async () => {
  const { kernel } = worldOf({
    grants: [toolGrant, grantOf("run", { capabilities: [runAgent] })],
    tools: [noteTool()],
  });
  const { api, lists, given } = listingApi(kernel);
  await api.executeTurn(contextOf(), requestOf());
  expect(lists).toHaveLength(1);
  expect(given[0]?.turn.tools.map(({ name }) => name)).toStrictEqual(["files.read"]);
  expect(given[0]?.turn.tools).toBe(lists[0]);
});

test("tools are checked again when the admission itself took the last use of their grant", async () => {
  const both = grantOf("both", {
    capabilities: [capability("files", ["notes"], "read"), runAgent],
    constraints: { maxUses: 1 },
  });
  const { kernel } = worldOf({ grants: [both], tools: [noteTool()] });
  const { api, lists, given } = listingApi(kernel);
  await api.executeTurn(contextOf(), requestOf());
  expect(lists[0]?.map(({ name }) => name)).toStrictEqual(["files.read"]);
  expect(given[0]?.turn.tools).toStrictEqual([]);
});

test("tools are checked again when a grant went between the list and the admission", async () => {
  const world = worldOf({
    grants: [toolGrant, grantOf("run", { capabilities: [runAgent, mayEscalate] })],
    tools: [noteTool()],
  });
  const { api, lists, given } = listingApi({
    ...world.kernel,
    async listTools(...args) {
      const tools = await world.kernel.listTools(...args);
      world.grants.revoke("demo", toolGrant.id, "2026-01-01T00:00:01Z");
      return tools;
    },
  });
  await api.executeTurn(contextOf(), requestOf());
  expect(lists[0]?.map(({ name }) => name)).toStrictEqual(["files.read"]);
  expect(given[0]?.turn.tools).toStrictEqual([]);
});

test("tools are checked again when a grant ended between the list and the admission", async () => {
  const ending = grantOf("ending", { constraints: { expiresAt: "2026-01-01T12:05:00Z" } });
  const { run, given } = recordingRun();
  const grants = [ending, grantOf("run", { capabilities: [runAgent] })];
  const world = turnWorldOf(run, { grants, tools: [noteTool()] });
  const context = contextOf({ enabledToolNamespaces: ["files", "service"] });
  const tools = await world.kernel.listTools(context);
  await world.run({ tools });
  await world.run({ tools, context: { now: later } });
  expect(given.map(({ turn }) => turn.tools.map(({ name }) => name))).toStrictEqual([["files.read"], []]);
});

test("an admission asks once how many uses of a bounded grant are left, for tools and reach together", async () => {
  const asked: string[] = [];
  const usage = {
    used: (_namespaceId: string, grantId: string) => {
      asked.push(grantId);
      return Promise.resolve(0);
    },
    consume: () => Promise.resolve(true),
  };
  const bounded = grantOf("bounded", { constraints: { maxUses: 3 } });
  const { run } = turnWorldOf(() => Promise.resolve(completed()), {
    grants: [grantOf("run", { capabilities: [runAgent] }), bounded],
    usage,
  });
  expect(await run()).toMatchObject({ status: "succeeded" });
  expect(asked).toStrictEqual(["bounded"]);
});
