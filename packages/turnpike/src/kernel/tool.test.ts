import { afterEach, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import {
  callOf,
  contextOf,
  descriptorOf,
  grantOf,
  needs,
  noteTool,
  portSecret,
  said,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { never } from "../../test/turns.ts";
import { ToolResultSchema, type JsonObject, type ToolResult } from "../contracts/index.ts";
import type { ToolHandler } from "./ports.ts";
import { defineTool, ToolError, type ToolDefinition, type ToolRun } from "./tool.ts";

const input = z.object({ note: z.string().min(1), lines: z.int().default(10) });
const output = z.object({ text: z.string() });
type Definition = ToolDefinition<typeof input, typeof output>;

function definition(changes: Partial<Definition> = {}): Definition {
  return {
    name: "files.read",
    description: "Reads one note.",
    namespace: "files",
    readWrite: "read",
    input,
    output,
    requires: needs("notes"),
    run: ({ note, lines }) => ({ text: `${lines} lines of ${note}` }),
    ...changes,
  };
}

interface Called {
  result: ToolResult;
  world: World;
}

async function callTool(tool: ToolHandler, args: JsonObject = { note: "today" }): Promise<Called> {
  const world = worldOf({ grants: [grantOf("grant-1")], tools: [tool] });
  const result = await world.kernel.invokeTool(contextOf(), callOf({ arguments: args }));
  return { result, world };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("a descriptor has the JSON Schemas of the zod schemas: input as sent, output as returned", () => {
  expect(defineTool(definition({ annotations: { readOnly: true, idempotent: true } })).descriptor).toStrictEqual({
    name: "files.read",
    description: "Reads one note.",
    namespace: "files",
    source: "host",
    readWrite: "read",
    inputSchema: {
      type: "object",
      properties: {
        note: { type: "string", minLength: 1 },
        lines: { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991, default: 10 },
      },
      required: ["note"],
    },
    outputSchema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
    requiredCapability: { action: "read", resource: { namespace: "files", path: ["notes"] } },
    annotations: { readOnly: true, idempotent: true },
  });
});

test("a tool without an output schema declares none and may return any JSON", async () => {
  const { output: _none, ...rest } = definition();
  const tool = defineTool({ ...rest, run: ({ note }) => [note, null, 1] });
  expect(tool.descriptor).not.toHaveProperty("outputSchema");
  const { result } = await callTool(tool);
  expect(result).toMatchObject({ status: "succeeded", output: ["today", null, 1] });
});

test("a source that is named is in the descriptor", () => {
  expect(defineTool(definition({ source: "mcp" })).descriptor.source).toBe("mcp");
});

test("run gets the parsed arguments in their own type, and context, call and signal beside them", async () => {
  const seen: unknown[] = [];
  const tool = defineTool(
    definition({
      run(args, { context, call, signal }) {
        expectTypeOf(args).toEqualTypeOf<{ note: string; lines: number }>();
        seen.push(args, context, call.id, signal instanceof AbortSignal);
        return { text: "" };
      },
    }),
  );
  await callTool(tool);
  expect(seen).toStrictEqual([{ note: "today", lines: 10 }, contextOf(), "call-1", true]);
});

test("what run returns, at once or later, is wrapped into the result of its call", async () => {
  for (const run of [() => ({ text: "milk" }), () => Promise.resolve({ text: "milk" })]) {
    const { result } = await callTool(defineTool(definition({ run })));
    expect(ToolResultSchema.safeParse(result).success).toBe(true);
    expect(result).toMatchObject({
      status: "succeeded",
      callId: "call-1",
      tool: "files.read",
      output: { text: "milk" },
    });
  }
});

test("a fixed requirement is needed as it is; one with a ceiling is derived from the parsed arguments", async () => {
  const fixed = defineTool(definition());
  const derived = defineTool(
    definition({ requires: { ceiling: needs("notes"), of: ({ note, lines }) => needs("notes", note, String(lines)) } }),
  );
  expect(derived.descriptor.requiredCapability).toStrictEqual(needs("notes"));
  for (const [tool, path] of [
    [fixed, ["notes"]],
    [derived, ["notes", "today", "10"]],
  ] as const) {
    const { world } = await callTool(tool);
    expect(world.events[0]).toMatchObject({ type: "authorization.checked", action: "read", resource: { path } });
  }
});

for (const row of [
  { name: "accepts arguments that fit", args: { note: "today", lines: 3 }, accepted: true },
  { name: "fills in a default", args: { note: "today" }, accepted: true },
  { name: "refuses a missing argument", args: {}, accepted: false, place: "/note" },
  { name: "refuses an argument of another type", args: { note: 5 }, accepted: false, place: "/note" },
  { name: "refuses an argument out of range", args: { note: "" }, accepted: false, place: "/note" },
]) {
  test(`a defined tool ${row.name}`, async () => {
    const { result } = await callTool(defineTool(definition()), row.args);
    expect(said(result)).toBe(row.accepted ? "succeeded" : "invalid_tool_arguments");
    expect(JSON.stringify(result).includes("/note")).toBe(row.place !== undefined);
  });
}

test("the message about refused arguments names the place and never repeats the value", async () => {
  const { result } = await callTool(defineTool(definition()), { note: "today", lines: "s3cret-value" });
  expect(result).toMatchObject({ error: { code: "invalid_tool_arguments" } });
  expect(JSON.stringify(result)).toContain("/lines");
  expect(JSON.stringify(result)).not.toContain("s3cret-value");
});

test("an output that does not fit its schema never reaches the caller, and the operator is told", async () => {
  const run = untyped<Definition["run"]>(() => ({ text: 5, leak: "s3cret-output" }));
  const { result, world } = await callTool(defineTool(definition({ run })));
  expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_result" } });
  expect(JSON.stringify(result)).not.toContain("s3cret-output");
  expect(world.portErrors).toMatchObject([{ failure: { port: "tools", id: "files.read" } }]);
});

test("an output is stripped to what its schema declares", async () => {
  const run = untyped<Definition["run"]>(() => ({ text: "milk", leak: "s3cret-output" }));
  const { result } = await callTool(defineTool(definition({ run })));
  expect(result).toMatchObject({ status: "succeeded", output: { text: "milk" } });
  expect(JSON.stringify(result)).not.toContain("s3cret-output");
});

for (const row of [
  {
    name: "with a code and words",
    error: new ToolError("note_locked", "Try tomorrow."),
    expected: { code: "note_locked", message: "Try tomorrow." },
  },
  {
    name: "that may be retried",
    error: new ToolError("note_locked", "Try tomorrow.", { retryable: true }),
    expected: { code: "note_locked", message: "Try tomorrow.", retryable: true },
  },
  {
    name: "that may not be retried",
    error: new ToolError("note_locked", "Never.", { retryable: false, cause: new Error(portSecret) }),
    expected: { code: "note_locked", message: "Never.", retryable: false },
  },
]) {
  test(`a ToolError ${row.name} reaches the caller as it is, without its cause`, async () => {
    const run = (): never => {
      throw row.error;
    };
    const { result } = await callTool(defineTool(definition({ run })));
    expect(result).toMatchObject({ status: "failed", callId: "call-1", tool: "files.read" });
    expect("error" in result && result.error).toStrictEqual(row.expected);
    expect(JSON.stringify(result)).not.toContain(portSecret);
  });
}

for (const row of [
  { name: "an Error", thrown: new Error(portSecret) },
  { name: "a string", thrown: portSecret },
  {
    name: "something that only looks like a ToolError",
    thrown: { name: "ToolError", code: portSecret, message: portSecret },
  },
]) {
  test(`${row.name} that run throws stays inside: the caller gets a code, the operator the error`, async () => {
    const run = (): Promise<never> => Promise.reject(row.thrown);
    const { result, world } = await callTool(defineTool(definition({ run })));
    expect(result).toMatchObject({ status: "failed", error: { code: "tool_execution_failed" } });
    expect(JSON.stringify(result)).not.toContain(portSecret);
    expect(world.portErrors).toStrictEqual([{ error: row.thrown, failure: { port: "tools", id: "files.read" } }]);
  });
}

for (const row of [
  { name: "in parse, with no words", tool: () => noteTool({ parse: raises(new ToolError("bad", "")) }) },
  {
    name: "in parse, with 5000 characters",
    tool: () => noteTool({ parse: raises(new ToolError("bad", "x".repeat(5000))) }),
  },
  { name: "in run, with no words", tool: () => defineTool(definition({ run: raises(new ToolError("bad", "")) })) },
  {
    name: "in run, with 5000 characters",
    tool: () => defineTool(definition({ run: raises(new ToolError("bad", "x".repeat(5000))) })),
  },
  {
    name: "in run, with an empty code",
    tool: () => defineTool(definition({ run: raises(new ToolError("", "words")) })),
  },
]) {
  test(`whatever a ToolError says ${row.name}, the result fits the contract`, async () => {
    const { result } = await callTool(row.tool());
    expect(result.status).toBe("failed");
    expect(ToolResultSchema.safeParse(result).success).toBe(true);
  });
}

function raises(error: Error): () => never {
  return () => {
    throw error;
  };
}

for (const row of [
  { name: "an input that is no object", changes: { input: untyped<typeof input>(z.string()) } },
  {
    name: "an input that JSON Schema cannot say",
    changes: { input: untyped<typeof input>(z.object({ when: z.date() })) },
  },
  { name: "an empty name", changes: { name: "" } },
  { name: "an empty namespace", changes: { namespace: " " } },
  { name: "no description", changes: { description: "" } },
  { name: "a description that is too long", changes: { description: "x".repeat(8193) } },
  { name: "an annotation against its own readWrite", changes: { annotations: { destructive: true } } },
  { name: "a requirement whose path climbs", changes: { requires: needs("..") } },
  { name: "a ceiling that is no request", changes: { requires: { ceiling: needs("a/b"), of: () => needs("notes") } } },
] satisfies { name: string; changes: Partial<Definition> }[]) {
  test(`a definition with ${row.name} throws when it is made`, () => {
    expect(() => defineTool(definition(row.changes))).toThrow(Error);
    expect(() => defineTool(definition())).not.toThrow();
  });
}

test("a tool written by hand is as good as a defined one", async () => {
  const { result } = await callTool(noteTool({ descriptor: descriptorOf() }));
  expect(result).toStrictEqual({
    status: "succeeded",
    callId: "call-1",
    tool: "files.read",
    completedAt: "2026-01-01T12:00:00Z",
    output: "text of today",
  });
});

test("no signal is made for a run that does not read its own", async () => {
  const signals = vi.spyOn(globalThis, "AbortController");
  const { result } = await callTool(defineTool(definition()));
  expect([result.status, signals.mock.calls.length]).toStrictEqual(["succeeded", 0]);
});

for (const row of [
  { name: "early", read: (run: ToolRun, stored: AbortSignal[]) => void stored.push(run.signal) },
  {
    name: "through a copy of its run",
    read: (run: ToolRun, stored: AbortSignal[]) => void stored.push({ ...run }.signal),
  },
]) {
  test(`a run that reads its signal ${row.name} sees it fire when its time is up`, async () => {
    vi.useFakeTimers();
    const stored: AbortSignal[] = [];
    const tool = defineTool(definition({ run: (_args, run) => (row.read(run, stored), never()) }));
    const { kernel } = worldOf({ grants: [grantOf("grant-1")], tools: [tool], toolTimeoutMs: 50 });
    const calling = kernel.invokeTool(contextOf(), callOf());
    await vi.advanceTimersByTimeAsync(49);
    expect(stored.map(({ aborted }) => aborted)).toStrictEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(said(await calling)).toBe("tool_execution_failed");
    expect(stored.map(({ aborted }) => aborted)).toStrictEqual([true]);
  });
}

test("a run that reads its signal only when it was given up sees that it has fired", async () => {
  vi.useFakeTimers();
  const runs: ToolRun[] = [];
  const tool = defineTool(definition({ run: (_args, run) => (runs.push(run), never()) }));
  const { kernel } = worldOf({ grants: [grantOf("grant-1")], tools: [tool], toolTimeoutMs: 50 });
  const calling = kernel.invokeTool(contextOf(), callOf());
  await vi.advanceTimersByTimeAsync(50);
  await calling;
  expect(runs.map(({ signal }) => signal.aborted)).toStrictEqual([true]);
});

test("a tool whose invoke was replaced is called by the new one, with a signal", async () => {
  const tool = defineTool(definition());
  const seen: boolean[] = [];
  const { invoke } = tool;
  const watched: ToolHandler = {
    ...tool,
    invoke(context, call, signal) {
      seen.push(signal instanceof AbortSignal);
      return invoke(context, call, signal);
    },
  };
  expect((await callTool(watched)).result.status).toBe("succeeded");
  expect(seen).toStrictEqual([true]);
});
