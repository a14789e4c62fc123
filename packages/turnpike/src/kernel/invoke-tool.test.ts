import { expect, test } from "vitest";
import {
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  deferred,
  descriptorOf,
  fails,
  grantOf,
  needs,
  noteTool,
  portSecret,
  providerOf,
  rejection,
  said,
  refusingAudit,
  untyped,
  worldOf,
  type TestTool,
} from "../../test/deployment.ts";
import {
  ToolResultSchema,
  type AccessContext,
  type AuthorizationRequest,
  type Grant,
  type JsonObject,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { ToolError } from "./tool.ts";
import type { ToolHandler } from "./ports.ts";

const grants = [grantOf("grant-1")];

function boundedTo(maxUses: number, id = "grant-1"): Grant {
  return grantOf(id, { constraints: { maxUses } });
}

function raises(error: unknown): () => never {
  return () => {
    throw error;
  };
}

function answering(answer: (call: ToolCall) => unknown): TestTool {
  return noteTool({ invoke: (_context, call) => Promise.resolve(untyped<ToolResult>(answer(call))) });
}

function succeeded({ id, tool }: ToolCall): JsonObject {
  return { status: "succeeded", callId: id, tool, completedAt: "2026-01-01T12:00:00Z", output: null };
}

interface PipelineRow {
  name: string;
  tool?: TestTool;
  call?: Partial<ToolCall>;
  context?: Partial<AccessContext>;
  grants?: readonly Grant[];
  status: "succeeded" | "denied" | "failed";
  code?: string;
  /** Whether the handler ran, and so whether a use is gone. */
  ran: boolean;
}

const bounded = [boundedTo(1)];

/** In the order of the semantics: a row breaks its own step and every later one that can be broken with it. */
const pipeline: PipelineRow[] = [
  { name: "a call that passes every step", status: "succeeded", ran: true },
  {
    name: "a call of another trace, for a tool that is not there",
    call: { traceId: "trace-2", tool: "files.none" },
    status: "denied",
    code: "trace_mismatch",
    ran: false,
  },
  {
    name: "a call of a tool that is not registered",
    call: { tool: "files.none" },
    status: "denied",
    code: "tool_unavailable",
    ran: false,
  },
  {
    name: "a call of a hidden tool, with arguments it would refuse",
    tool: noteTool({ parse: raises(new ToolError("bad", "Bad.")) }),
    context: { enabledToolNamespaces: [] },
    status: "denied",
    code: "tool_unavailable",
    ran: false,
  },
  {
    name: "a call of a tool without a grant, with arguments it would refuse",
    tool: noteTool({ parse: raises(new ToolError("bad", "Bad.")) }),
    grants: [],
    status: "denied",
    code: "tool_unavailable",
    ran: false,
  },
  {
    name: "a call with arguments the tool refuses, before its requirement is asked",
    tool: noteTool({ parse: raises(new ToolError("bad", "Bad.")), requirement: raises(new Error(portSecret)) }),
    status: "failed",
    code: "invalid_tool_arguments",
    ran: false,
  },
  {
    name: "a call whose parser falls over",
    tool: noteTool({ parse: raises(new Error(portSecret)) }),
    status: "failed",
    code: "invalid_tool_arguments",
    ran: false,
  },
  {
    name: "a call whose requirement cannot be derived",
    tool: noteTool({ requirement: raises(new Error(portSecret)) }),
    status: "failed",
    code: "tool_requirement_resolution_failed",
    ran: false,
  },
  {
    name: "a call whose requirement is outside the ceiling, though a grant covers it",
    tool: noteTool({ requirement: () => needs("private") }),
    grants: [boundedTo(1), grantOf("grant-2", { capabilities: [capability("files", [], "*")] })],
    status: "failed",
    code: "invalid_tool_requirement",
    ran: false,
  },
  {
    name: "a call whose exact requirement no grant covers, though one shows the tool",
    grants: [
      grantOf("grant-1", {
        capabilities: [capability("files", ["notes", "other"], "read")],
        constraints: { maxUses: 1 },
      }),
    ],
    status: "denied",
    code: "no_matching_grant",
    ran: false,
  },
  {
    name: "a call whose handler throws",
    tool: noteTool({ invoke: fails }),
    status: "failed",
    code: "tool_execution_failed",
    ran: true,
  },
  {
    name: "a call whose handler answers nonsense",
    tool: answering(() => "done"),
    status: "failed",
    code: "invalid_tool_result",
    ran: true,
  },
];

for (const row of pipeline) {
  test(`${row.name} is ${row.status}${row.code === undefined ? "" : ` with ${row.code}`}`, async () => {
    const tool = row.tool ?? noteTool();
    const { kernel, usage } = worldOf({ grants: row.grants ?? bounded, tools: [tool] });
    const result = await kernel.invokeTool(contextOf(row.context), callOf(row.call));
    expect(result.status).toBe(row.status);
    expect("error" in result ? result.error.code : undefined).toBe(row.code);
    expect(result).toMatchObject({ callId: "call-1", tool: row.call?.tool ?? "files.read" });
    expect(ToolResultSchema.safeParse(result).success).toBe(true);
    expect(JSON.stringify(result)).not.toContain(portSecret);
    expect(tool.calls).toHaveLength(row.ran ? 1 : 0);
    expect(await usage.used("demo", "grant-1")).toBe(row.ran ? 1 : 0);
  });
}

test("unknown, disabled and ungranted tools are answered byte for byte alike, and only the audit log says which it was", async () => {
  const rows = [
    { hidden: "not-registered", tools: [], grants, enabled: ["files"] },
    { hidden: "namespace-disabled", tools: [noteTool()], grants, enabled: [] },
    { hidden: "not-granted", tools: [noteTool()], grants: [], enabled: ["files"] },
    {
      hidden: "not-granted",
      tools: [noteTool()],
      grants: [grantOf("grant-1", { revokedAt: "2026-01-01T11:00:00Z" })],
      enabled: ["files"],
    },
  ];
  const answers = new Set<string>();
  for (const row of rows) {
    const { kernel, events } = worldOf({ tools: row.tools, grants: row.grants });
    answers.add(JSON.stringify(await kernel.invokeTool(contextOf({ enabledToolNamespaces: row.enabled }), callOf())));
    expect(events).toMatchObject([
      { type: "tool.invoked", outcome: "denied", reason: "tool_unavailable", metadata: { hidden: row.hidden } },
    ]);
  }
  const [answer = "", ...others] = answers;
  expect(others).toStrictEqual([]);
  expect(JSON.parse(answer)).toMatchObject({ status: "denied", callId: "call-1", error: { code: "tool_unavailable" } });
});

test("a provider's tool is hidden alike: not offered, not enabled, not granted", async () => {
  const offered = providerOf("post", ["mail"], () => Promise.resolve([noteTool({ name: "mail.find" })]));
  const rows = [
    { provider: providerOf("post", ["mail"]), grants, enabled: ["mail"] },
    { provider: offered, grants, enabled: ["files"] },
    { provider: offered, grants: [], enabled: ["mail"] },
    { provider: providerOf("post", ["mail"], fails), grants, enabled: [] },
  ];
  const answers = new Set<string>();
  for (const row of rows) {
    const { kernel } = worldOf({ toolProviders: [row.provider], grants: row.grants });
    const context = contextOf({ enabledToolNamespaces: row.enabled });
    answers.add(JSON.stringify(await kernel.invokeTool(context, callOf({ tool: "mail.find" }))));
  }
  expect(answers.size).toBe(1);
});

const byNote: Grant[] = [
  grantOf("grant-1", { capabilities: [capability("files", ["notes", "today"], "read", { scope: "exact" })] }),
];

for (const row of [
  { name: "as sent", parse: (args: JsonObject) => args, args: { note: "today" }, status: "succeeded" },
  {
    name: "as sent, for a note without a grant",
    parse: (args: JsonObject) => args,
    args: { note: "diary" },
    status: "denied",
  },
  {
    name: "as parsed into the granted note",
    parse: () => ({ note: "today" }),
    args: { note: "TODAY" },
    status: "succeeded",
  },
  {
    name: "as parsed into a note without a grant",
    parse: () => ({ note: "diary" }),
    args: { note: "today" },
    status: "denied",
  },
]) {
  test(`the exact requirement comes from the arguments ${row.name}: ${row.status}`, async () => {
    const tool = noteTool({ parse: row.parse });
    const { kernel } = worldOf({ grants: byNote, tools: [tool] });
    const result = await kernel.invokeTool(contextOf(), callOf({ arguments: row.args }));
    expect(result.status).toBe(row.status);
    expect(tool.calls).toHaveLength(row.status === "succeeded" ? 1 : 0);
  });
}

test("without a requirement of its own a tool needs its whole ceiling", async () => {
  const { requirement: _none, ...rest } = noteTool();
  const above = worldOf({ grants, tools: [rest] });
  expect(await above.kernel.invokeTool(contextOf(), callOf())).toMatchObject({ status: "succeeded" });
  const below = worldOf({ grants: byNote, tools: [rest] });
  expect(await below.kernel.invokeTool(contextOf(), callOf())).toMatchObject({
    status: "denied",
    error: { code: "no_matching_grant" },
  });
});

const everything = [grantOf("grant-1", { capabilities: [capability("files", [], "*"), capability("mail", [], "*")] })];

for (const row of [
  { name: "at the ceiling", requirement: needs("notes"), inside: true },
  { name: "below the ceiling", requirement: needs("notes", "2026", "today"), inside: true },
  {
    name: "below the ceiling for the context's owner by name",
    requirement: owned(needs("notes"), alice),
    inside: true,
  },
  { name: "above the ceiling", requirement: needs(), inside: false },
  { name: "beside the ceiling", requirement: needs("photos"), inside: false },
  { name: "beside the ceiling with a shared prefix", requirement: needs("notes2"), inside: false },
  { name: "for another action", requirement: { ...needs("notes"), action: "write" }, inside: false },
  { name: "for every action", requirement: { ...needs("notes"), action: "*" }, inside: false },
  {
    name: "in another resource namespace",
    requirement: { action: "read", resource: { namespace: "mail", path: ["notes"] } },
    inside: false,
  },
  { name: "for another owner", requirement: owned(needs("notes"), bob), inside: false },
  { name: "with a path that climbs", requirement: needs("notes", "..", "private"), inside: false },
  { name: "with a slash in a segment", requirement: needs("notes", "a/b"), inside: false },
  { name: "that is no request", requirement: untyped<AuthorizationRequest>({}), inside: false },
  { name: "that is missing", requirement: untyped<AuthorizationRequest>(undefined), inside: false },
  {
    name: "with a key too many",
    requirement: untyped<AuthorizationRequest>({ ...needs("notes"), scope: "exact" }),
    inside: false,
  },
  {
    name: "that is only promised",
    requirement: untyped<AuthorizationRequest>(Promise.resolve(needs("notes"))),
    inside: false,
  },
]) {
  test(`a requirement ${row.name} is ${row.inside ? "decided" : "invalid_tool_requirement"}`, async () => {
    const tool = noteTool({ requirement: () => row.requirement });
    const { kernel } = worldOf({ grants: everything, tools: [tool] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(said(result)).toBe(row.inside ? "succeeded" : "invalid_tool_requirement");
    expect(result.status).toBe(row.inside ? "succeeded" : "failed");
    expect(tool.calls).toHaveLength(row.inside ? 1 : 0);
  });
}

function owned({ action, resource }: AuthorizationRequest, owner: typeof alice): AuthorizationRequest {
  return { action, resource: { ...resource, owner } };
}

test("a handler gets the trusted context, the parsed and frozen call, and a signal", async () => {
  const seen: unknown[] = [];
  const tool = noteTool({
    parse: () => ({ note: "today", tags: ["a"] }),
    requirement(context, args) {
      seen.push(["requirement", Object.isFrozen(context), Object.isFrozen(args)]);
      return needs("notes");
    },
    invoke(context, call, signal) {
      const tags = call.arguments["tags"];
      seen.push([
        "invoke",
        context,
        call,
        signal,
        Object.isFrozen(call) && Object.isFrozen(call.arguments) && Object.isFrozen(tags),
      ]);
      return Promise.resolve(untyped<ToolResult>(succeeded(call)));
    },
  });
  const { signal } = new AbortController();
  await worldOf({ grants, tools: [tool] }).kernel.invokeTool(contextOf(), callOf(), { signal });
  expect(seen).toStrictEqual([
    ["requirement", true, true],
    ["invoke", contextOf(), callOf({ arguments: { note: "today", tags: ["a"] } }), signal, true],
  ]);
});

test("a class instance has its this in parse, requirement and invoke", async () => {
  class Counter implements ToolHandler {
    readonly descriptor = descriptorOf();
    readonly #note = "today";
    count = 0;

    parse(): JsonObject {
      this.count += 1;
      return { note: this.#note };
    }

    requirement(): AuthorizationRequest {
      this.count += 1;
      return needs("notes", this.#note);
    }

    invoke(_context: AccessContext, call: ToolCall): Promise<ToolResult> {
      this.count += 1;
      return Promise.resolve({
        status: "succeeded",
        callId: call.id,
        tool: call.tool,
        completedAt: "2026-01-01T12:00:00Z",
        output: this.#note,
      });
    }
  }
  const counter = new Counter();
  const result = await worldOf({ grants, tools: [counter] }).kernel.invokeTool(contextOf(), callOf());
  expect(result).toMatchObject({ status: "succeeded", output: "today" });
  expect(counter.count).toBe(3);
});

for (const row of [
  { name: "nothing", parsed: undefined },
  { name: "a list", parsed: [] },
  { name: "a text", parsed: "today" },
  { name: "a date inside", parsed: { note: "today", when: new Date(0) } },
  { name: "a missing value inside", parsed: { note: undefined } },
  { name: "a promise", parsed: Promise.resolve({ note: "today" }) },
  { name: "a circle", parsed: circle() },
]) {
  test(`a parser that answers ${row.name} fails the call with invalid_tool_arguments`, async () => {
    const tool = noteTool({ parse: () => untyped<JsonObject>(row.parsed) });
    const result = await worldOf({ grants, tools: [tool] }).kernel.invokeTool(contextOf(), callOf());
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_arguments" } });
    expect(tool.calls).toStrictEqual([]);
  });
}

function circle(): JsonObject {
  const object: JsonObject = {};
  object["self"] = object;
  return object;
}

for (const row of [
  { name: "arguments", tool: noteTool({ parse: () => untyped<JsonObject>("today") }), code: "invalid_tool_arguments" },
  { name: "requirement", tool: noteTool({ requirement: () => needs("private") }), code: "invalid_tool_requirement" },
]) {
  test(`of a tool that answers nonsense about its ${row.name} the operator is told`, async () => {
    const { kernel, portErrors } = worldOf({ grants: everything, tools: [row.tool] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(result).toMatchObject({ status: "failed", error: { code: row.code } });
    expect(portErrors).toMatchObject([{ error: expect.any(Error), failure: { port: "tools", id: "files.read" } }]);
  });
}

test("only a ToolError's words about the arguments reach the caller", async () => {
  for (const row of [
    { error: new ToolError("bad", "Name a note."), shown: true },
    { error: new Error("Name a note."), shown: false },
  ]) {
    const { kernel, portErrors } = worldOf({ grants, tools: [noteTool({ parse: raises(row.error) })] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_arguments" } });
    expect(JSON.stringify(result).includes("Name a note.")).toBe(row.shown);
    expect(portErrors.map(({ error }) => error)).toStrictEqual(row.shown ? [] : [row.error]);
  }
});

for (const row of [
  { name: "of this call", answer: succeeded, valid: true },
  {
    name: "that failed and has an output key all the same",
    answer: (call: ToolCall) => ({
      ...succeeded(call),
      status: "failed",
      output: undefined,
      error: { code: "own", message: "Own." },
    }),
    valid: false,
  },
  { name: "of another call", answer: (call: ToolCall) => ({ ...succeeded(call), callId: "call-2" }), valid: false },
  { name: "of another tool", answer: (call: ToolCall) => ({ ...succeeded(call), tool: "files.other" }), valid: false },
  { name: "with another status", answer: (call: ToolCall) => ({ ...succeeded(call), status: "done" }), valid: false },
  { name: "without an output", answer: (call: ToolCall) => ({ ...succeeded(call), output: undefined }), valid: false },
  {
    name: "with a function in it",
    answer: (call: ToolCall) => ({ ...succeeded(call), output: [() => 1] }),
    valid: false,
  },
  {
    name: "with a number JSON cannot say",
    answer: (call: ToolCall) => ({ ...succeeded(call), output: Number.NaN }),
    valid: false,
  },
  {
    name: "with a date in it",
    answer: (call: ToolCall) => ({ ...succeeded(call), output: new Date(0) }),
    valid: false,
  },
  { name: "with a big number in it", answer: (call: ToolCall) => ({ ...succeeded(call), output: 1n }), valid: false },
  { name: "with a circle in it", answer: (call: ToolCall) => ({ ...succeeded(call), output: circle() }), valid: false },
  { name: "with a key too many", answer: (call: ToolCall) => ({ ...succeeded(call), grants: [] }), valid: false },
  {
    name: "with a time that is none",
    answer: (call: ToolCall) => ({ ...succeeded(call), completedAt: "noon" }),
    valid: false,
  },
  { name: "that is missing", answer: () => undefined, valid: false },
]) {
  test(`a result ${row.name} ${row.valid ? "is the caller's" : "becomes invalid_tool_result and the operator is told"}`, async () => {
    const { kernel, portErrors } = worldOf({ grants, tools: [answering(row.answer)] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    const refused = { status: "failed", callId: "call-1", tool: "files.read", error: { code: "invalid_tool_result" } };
    expect(result).toMatchObject(row.valid ? succeeded(callOf()) : refused);
    expect(portErrors.map(({ failure }) => failure)).toStrictEqual(
      row.valid ? [] : [{ port: "tools", id: "files.read" }],
    );
  });
}

for (const status of ["denied", "failed"] as const) {
  test(`a result that is ${status} by the tool's own account passes with the tool's own code`, async () => {
    const { output: _none, ...common } = succeeded(callOf());
    const own = { ...common, status, error: { code: "note_locked", message: "Try tomorrow." } };
    const result = await worldOf({ grants, tools: [answering(() => own)] }).kernel.invokeTool(contextOf(), callOf());
    expect(result).toStrictEqual(own);
  });
}

test("each run takes one use; when none is left the call is denied and nothing runs", async () => {
  const tool = noteTool();
  const { kernel, usage } = worldOf({ grants: [boundedTo(2)], tools: [tool] });
  const statuses: string[] = [];
  for (const id of ["call-1", "call-2", "call-3"]) {
    const result = await kernel.invokeTool(contextOf(), callOf({ id }));
    statuses.push("error" in result ? result.error.code : result.status);
  }
  expect(statuses).toStrictEqual(["succeeded", "succeeded", "grant_exhausted"]);
  expect(tool.calls.map((call) => call.id)).toStrictEqual(["call-1", "call-2"]);
  expect(await usage.used("demo", "grant-1")).toBe(2);
});

test("no use is taken where an unbounded grant covers the call", async () => {
  const { kernel, usage } = worldOf({ grants: [boundedTo(1), grantOf("grant-2")], tools: [noteTool()] });
  expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({ status: "succeeded" });
  expect(await usage.used("demo", "grant-1")).toBe(0);
});

test("calls at the same time take no more uses than there are", async () => {
  const tool = noteTool();
  const { kernel } = worldOf({ grants: [boundedTo(3)], tools: [tool] });
  const ids = Array.from({ length: 10 }, (_, place) => `call-${place}`);
  const results = await Promise.all(ids.map((id) => kernel.invokeTool(contextOf(), callOf({ id }))));
  expect(results.filter((result) => result.status === "succeeded")).toHaveLength(3);
  expect(tool.calls).toHaveLength(3);
});

test("the host's policy can refuse a call that a grant allows, and takes no use", async () => {
  for (const row of [
    { policy: { narrow: () => undefined }, status: "succeeded", used: 1 },
    { policy: { narrow: () => ({ metadata: { why: "night" } }) }, status: "denied", used: 0 },
  ]) {
    const tool = noteTool();
    const { kernel, usage } = worldOf({ grants: bounded, tools: [tool], policy: row.policy });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(result.status).toBe(row.status);
    expect("error" in result && result.error.code).toBe(row.status === "denied" && "host_policy_denied");
    expect(tool.calls).toHaveLength(row.used);
    expect(await usage.used("demo", "grant-1")).toBe(row.used);
  }
});

for (const row of [
  {
    name: "a context that does not fit",
    context: { ...contextOf(), now: "noon" },
    call: callOf(),
    code: "invalid_context",
  },
  { name: "a context without authority", context: withoutAuthority(), call: callOf(), code: "invalid_context" },
  {
    name: "a call that brings a context",
    context: contextOf(),
    call: { ...callOf(), context: contextOf() },
    code: "invalid_request",
  },
  {
    name: "a call whose arguments are a list",
    context: contextOf(),
    call: { ...callOf(), arguments: [] },
    code: "invalid_request",
  },
  {
    name: "a call whose arguments are no JSON",
    context: contextOf(),
    call: { ...callOf(), arguments: { when: new Date(0) } },
    code: "invalid_request",
  },
]) {
  test(`${row.name} is denied with ${row.code} and nothing runs`, async () => {
    const tool = noteTool();
    const { kernel } = worldOf({ grants, tools: [tool] });
    const result = await kernel.invokeTool(untyped<AccessContext>(row.context), untyped<ToolCall>(row.call));
    expect(result).toMatchObject({ status: "denied", callId: "call-1", error: { code: row.code } });
    expect(tool.calls).toStrictEqual([]);
  });
}

function withoutAuthority(): Omit<AccessContext, "authority"> {
  const { authority: _open, ...rest } = contextOf();
  return rest;
}

test("an abort before the call rejects with its reason; nothing is asked, taken, run or recorded", async () => {
  const tool = noteTool();
  const reason = new Error("the caller went away");
  const provider = providerOf("post", ["files"]);
  const { kernel, usage, events } = worldOf({ grants: bounded, tools: [tool], toolProviders: [provider] });
  expect(await rejection(kernel.invokeTool(contextOf(), callOf(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect([tool.calls.length, provider.asked, events.length, await usage.used("demo", "grant-1")]).toStrictEqual([
    0, 0, 0, 0,
  ]);
});

test("an abort while the grants are read rejects with its reason; nothing is taken, run or recorded", async () => {
  const tool = noteTool();
  const reason = new Error("the caller went away");
  const answer = deferred<readonly Grant[]>();
  const { kernel, usage, events, portErrors } = worldOf({ source: { load: () => answer.promise }, tools: [tool] });
  const controller = new AbortController();
  const calling = rejection(kernel.invokeTool(contextOf(), callOf(), { signal: controller.signal }));
  controller.abort(reason);
  answer.resolve(bounded);
  expect(await calling).toBe(reason);
  expect([tool.calls.length, events.length, await usage.used("demo", "grant-1")]).toStrictEqual([0, 0, 0]);
  expect(portErrors).toStrictEqual([]);
});

test("an abort while the decision is recorded rejects with its reason, and nothing runs", async () => {
  const tool = noteTool();
  const controller = new AbortController();
  const reason = new Error("the caller went away");
  const record = (): Promise<void> => {
    controller.abort(reason);
    return Promise.resolve();
  };
  const { kernel } = worldOf({ grants, tools: [tool], audit: { record } });
  expect(await rejection(kernel.invokeTool(contextOf(), callOf(), { signal: controller.signal }))).toBe(reason);
  expect(tool.calls).toStrictEqual([]);
});

test("an abort after the effect changes nothing: the caller gets the true result and the audit log has it", async () => {
  const controller = new AbortController();
  const tool = noteTool({
    invoke(_context, call) {
      controller.abort(new Error("the caller went away"));
      return Promise.resolve(untyped<ToolResult>(succeeded(call)));
    },
  });
  const { kernel, events } = worldOf({ grants, tools: [tool] });
  expect(await kernel.invokeTool(contextOf(), callOf(), { signal: controller.signal })).toMatchObject({
    status: "succeeded",
  });
  expect(events.at(-1)).toMatchObject({ type: "tool.invoked", outcome: "succeeded" });
});

test("a decision that the sink refuses fails the call, and nothing runs", async () => {
  const tool = noteTool();
  const { kernel } = worldOf({ grants, tools: [tool], audit: refusingAudit(() => true) });
  expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({
    status: "failed",
    error: { code: "audit_unavailable" },
  });
  expect(tool.calls).toStrictEqual([]);
});

for (const row of [
  { name: "throws", invoke: raises(new ToolError("note_locked", "Try tomorrow.")) },
  { name: "rejects with", invoke: () => Promise.reject(new ToolError("note_locked", "Try tomorrow.")) },
]) {
  test(`a plain handler that ${row.name} a ToolError fails with its code and words, and no port is to blame`, async () => {
    const { kernel, portErrors } = worldOf({ grants, tools: [noteTool({ invoke: row.invoke })] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(result).toMatchObject({
      status: "failed",
      callId: "call-1",
      tool: "files.read",
      error: { code: "note_locked", message: "Try tomorrow." },
    });
    expect(ToolResultSchema.safeParse(result).success).toBe(true);
    expect(portErrors).toStrictEqual([]);
  });
}

test("the audit log of a tool that is not granted names each grant with the first condition it failed", async () => {
  const { kernel, events } = worldOf({
    tools: [noteTool()],
    grants: [
      grantOf("old", { constraints: { expiresAt: "2026-01-01T11:00:00Z" } }),
      grantOf("revoked", { revokedAt: "2026-01-01T11:00:00Z" }),
      grantOf("other-purpose", { constraints: { purposes: ["billing"] } }),
      grantOf("other-place", { capabilities: [capability("mail", [], "read")] }),
      grantOf("other-action", { capabilities: [capability("files", ["notes"], "write")] }),
    ],
  });
  expect(said(await kernel.invokeTool(contextOf(), callOf()))).toBe("tool_unavailable");
  expect(events.at(-1)).toMatchObject({ type: "tool.invoked", outcome: "denied", reason: "tool_unavailable" });
  expect(events.at(-1)?.metadata).toStrictEqual({
    hidden: "not-granted",
    grants: [
      { grantId: "old", failed: "expired" },
      { grantId: "revoked", failed: "revoked" },
      { grantId: "other-purpose", failed: "purpose" },
      { grantId: "other-place", failed: "namespace" },
      { grantId: "other-action", failed: "action" },
    ],
  });
});

for (const row of [
  { name: "parse", part: { parse: untyped<ToolHandler["parse"]>(fails) }, code: "invalid_tool_arguments" },
  {
    name: "requirement",
    part: { requirement: untyped<NonNullable<ToolHandler["requirement"]>>(fails) },
    code: "invalid_tool_requirement",
  },
]) {
  test(`an async ${row.name} that rejects is refused with ${row.code} and leaves no unhandled rejection`, async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", onUnhandled);
    try {
      const tool = noteTool(row.part);
      const result = await worldOf({ grants, tools: [tool] }).kernel.invokeTool(contextOf(), callOf());
      await new Promise((resolve) => setImmediate(resolve));
      expect(result).toMatchObject({ status: "failed", error: { code: row.code } });
      expect([tool.calls, unhandled]).toStrictEqual([[], []]);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });
}
