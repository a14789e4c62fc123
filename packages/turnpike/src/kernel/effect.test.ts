import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  callOf,
  capability,
  contextOf,
  envelopeOf,
  grantOf,
  noteTool,
  now,
  operationOf,
  portSecret,
  providerOf,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { never } from "../../test/turns.ts";
import type { ErrorObject, JsonValue, ResourceResult, ToolResult } from "../contracts/index.ts";
import { memoryGrants } from "../testing/index.ts";
import { createKernel } from "./kernel.ts";
import type { KernelOptions, ToolHandler } from "./ports.ts";
import { defineTool, ToolError } from "./tool.ts";

const grants = [
  grantOf("grant-1", {
    capabilities: [capability("files", ["notes"], "read"), capability("service.messaging", ["human", "bob"], "send")],
  }),
];

/** A host whose tool, provider and transport all do the same. */
function acting(act: (signal: AbortSignal) => unknown, options: Partial<KernelOptions> = {}): World {
  const { grants: _none, ...ports } = options;
  return worldOf({
    grants,
    tools: [noteTool({ invoke: async (_context, _call, signal) => untyped<ToolResult>(act(signal)) })],
    resources: [{ namespace: "files", invoke: async (_operation, signal) => untyped<ResourceResult>(act(signal)) }],
    messages: { deliver: async (_context, _envelope, signal) => untyped(act(signal)) },
    ...ports,
  });
}

type Answer = { status: string; error?: ErrorObject };

interface Act {
  name: string;
  operate: (world: World) => Promise<Answer>;
  /** A result of this act, with these parts. */
  result: (parts: object) => object;
  failed: string;
  invalid: string;
  event: string;
}

const acts: Act[] = [
  {
    name: "a tool",
    operate: ({ kernel }) => kernel.invokeTool(contextOf(), callOf()),
    result: (parts) => ({ status: "succeeded", callId: "call-1", tool: "files.read", completedAt: now, ...parts }),
    failed: "tool_execution_failed",
    invalid: "invalid_tool_result",
    event: "tool.invoked",
  },
  {
    name: "a resource provider",
    operate: ({ kernel }) => kernel.invokeResource(contextOf(), operationOf()),
    result: (parts) => ({ status: "succeeded", operationId: "operation-1", completedAt: now, ...parts }),
    failed: "resource_execution_failed",
    invalid: "invalid_resource_result",
    event: "resource.invoked",
  },
  {
    name: "a message transport",
    operate: ({ kernel }) => kernel.sendMessage(contextOf(), envelopeOf()),
    result: ({ output: _none, ...parts }: { output?: unknown }) => ({
      status: "delivered",
      messageId: "message-1",
      timestamp: now,
      ...parts,
    }),
    failed: "message_delivery_failed",
    invalid: "invalid_message_receipt",
    event: "message.sent",
  },
];

describe("what acts has a time limit", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  for (const { name, operate, failed, event } of acts) {
    for (const { limit, options } of [
      { limit: 120_000, options: {} },
      { limit: 50, options: { toolTimeoutMs: 50 } },
    ]) {
      test(`${name} that does not end within ${limit} ms has failed, its signal fires, and it is recorded`, async () => {
        const signals: AbortSignal[] = [];
        const world = acting((signal) => (signals.push(signal), never()), options);
        const acted = operate(world);
        await vi.advanceTimersByTimeAsync(limit - 1);
        expect(signals.map(({ aborted }) => aborted)).toStrictEqual([false]);
        await vi.advanceTimersByTimeAsync(1);
        expect(await acted).toMatchObject({
          status: "failed",
          error: { code: failed, message: "It did not end in time; the effect may have happened.", retryable: false },
        });
        expect(signals.map(({ aborted }) => aborted)).toStrictEqual([true]);
        expect(world.events.at(-1)).toMatchObject({ type: event, outcome: "failed", reason: failed });
        expect(world.portErrors).toMatchObject([{ error: { message: `No answer within ${limit} ms.` } }]);
        expect(vi.getTimerCount()).toBe(0);
      });
    }
  }
});

describe("what is answered has a size limit", () => {
  const rows: { name: string; parts: object; fits: boolean }[] = [
    { name: "an output of as many bytes as allowed", parts: { output: "x".repeat(98) }, fits: true },
    { name: "an output of one byte more", parts: { output: "x".repeat(99) }, fits: false },
    { name: "metadata that is too large", parts: { output: null, metadata: { note: "x".repeat(99) } }, fits: false },
    {
      name: "details of an error that are too large",
      parts: { status: "failed", error: { code: "mine", message: "x", details: { note: "x".repeat(99) } } },
      fits: false,
    },
  ];
  for (const { name, operate, result, invalid } of acts) {
    for (const { name: what, parts, fits } of rows) {
      if (invalid === "invalid_message_receipt" && what.startsWith("an output")) continue;
      test(`${name} that answers ${what} is ${fits ? "heard" : invalid}`, async () => {
        const { error } = await operate(acting(() => result(parts), { maxToolOutputBytes: 100 }));
        const message = "The output is larger than 100 bytes; it may have had an effect.";
        expect(error).toStrictEqual(fits ? undefined : { code: invalid, message, retryable: false });
      });
    }
  }

  test("without a setting the limit is one mebibyte", async () => {
    const [tool] = acts;
    for (const { length, code } of [
      { length: 1_048_574, code: undefined },
      { length: 1_048_575, code: "invalid_tool_result" },
    ]) {
      const answer = await tool?.operate(acting(() => tool.result({ output: "x".repeat(length) })));
      expect(answer?.error?.code).toBe(code);
    }
  });
});

for (const [name, value] of [
  ["toolTimeoutMs", 0],
  ["toolTimeoutMs", 1.5],
  ["toolTimeoutMs", 2_147_483_648],
  ["toolTimeoutMs", Number.NaN],
  ["maxToolOutputBytes", 0],
  ["maxToolOutputBytes", Number.POSITIVE_INFINITY],
] as const) {
  test(`a kernel is not made with a ${name} of ${value}`, () => {
    expect(() => createKernel({ grants: memoryGrants(), audit: "none", [name]: value })).toThrow(RangeError);
  });
}

const trap = (): never => {
  throw new Error(portSecret);
};
/** Not as a promise would: what throws there is a rejection like any other. */
const throwing = new Proxy(
  {},
  { get: (_target, key) => (key === "then" ? undefined : trap()), getPrototypeOf: trap, ownKeys: trap, has: trap },
);

/** An error whose own words cannot be read. */
class UnreadableError extends ToolError {
  override toResult(): ToolResult {
    return trap();
  }
}

describe("after the effect nothing throws out of the operation", () => {
  const unreadable: { name: string; value: (result: Act["result"]) => unknown }[] = [
    { name: "a proxy that throws", value: () => throwing },
    {
      name: "a result whose status throws",
      value: (result) => Object.defineProperty(result({ output: null }), "status", { get: trap, enumerable: true }),
    },
    {
      name: "a result with a part that throws",
      value: (result) => result({ output: { deep: [throwing] }, metadata: { deep: [throwing] } }),
    },
    {
      name: "a result with a getter that throws",
      value: (result) =>
        result({ output: Object.defineProperty({}, "text", { get: trap, enumerable: true }), metadata: throwing }),
    },
  ];
  for (const { name, operate, result, failed, invalid, event } of acts) {
    for (const { name: what, value } of unreadable) {
      test(`${name} that answers ${what}: ${invalid}, recorded`, async () => {
        let ran = 0;
        const world = acting(() => ((ran += 1), value(result)));
        const answer = await operate(world);
        expect(answer).toMatchObject({ status: "failed", error: { code: invalid } });
        expect(JSON.stringify(answer)).not.toContain(portSecret);
        expect(world.events.at(-1)).toMatchObject({ type: event, outcome: "failed", reason: invalid });
        expect([ran, world.portErrors.length]).toStrictEqual([1, 1]);
      });
    }

    for (const { name: what, thrown } of [
      { name: "a proxy that throws", thrown: throwing },
      { name: "an error whose own words throw", thrown: new UnreadableError("mine", "x") },
      { name: "nothing at all", thrown: undefined },
    ]) {
      test(`${name} that throws ${what}: ${failed}, recorded`, async () => {
        const world = acting(() => {
          throw thrown;
        });
        expect(await operate(world)).toMatchObject({ status: "failed", error: { code: failed } });
        expect(world.events.at(-1)).toMatchObject({ type: event, outcome: "failed", reason: failed });
      });
    }
  }

  for (const { name, output } of [
    { name: "with an output schema", output: z.strictObject({ text: z.string() }) },
    { name: "without one", output: undefined },
  ]) {
    test(`a defined tool ${name} whose output cannot be read has an invalid result`, async () => {
      const tool = defineTool({
        name: "files.read",
        description: "Reads.",
        namespace: "files",
        readWrite: "read",
        input: z.looseObject({}),
        ...(output && { output: output as unknown as z.ZodType<JsonValue, JsonValue> }),
        requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
        run: () => untyped<JsonValue>(Object.defineProperty({}, "text", { get: trap, enumerable: true })),
      });
      const { kernel } = worldOf({ grants, tools: [tool] });
      expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({
        status: "failed",
        error: { code: "invalid_tool_result" },
      });
    });
  }
});

describe("before the effect a tool that cannot be read refuses its own calls", () => {
  const rows: { name: string; parts: Partial<ToolHandler>; code: string }[] = [
    { name: "parses to a proxy that throws", parts: { parse: () => throwing }, code: "invalid_tool_arguments" },
    {
      name: "throws a proxy that throws",
      parts: {
        parse: () => {
          throw throwing;
        },
      },
      code: "invalid_tool_arguments",
    },
    {
      name: "requires a proxy that throws",
      parts: { requirement: () => untyped(throwing) },
      code: "invalid_tool_requirement",
    },
  ];
  for (const { name, parts, code } of rows) {
    test(`one that ${name}: ${code}`, async () => {
      const tool = noteTool(parts);
      const { kernel } = worldOf({ grants, tools: [tool] });
      expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({ status: "failed", error: { code } });
      expect(tool.calls).toStrictEqual([]);
    });
  }

  test("one whose requirement cannot even be read: tool_requirement_resolution_failed", async () => {
    const tool = Object.defineProperty(noteTool(), "requirement", { get: trap });
    const { kernel } = worldOf({ grants, tools: [tool] });
    expect(await kernel.invokeTool(contextOf(), callOf())).toMatchObject({
      error: { code: "tool_requirement_resolution_failed" },
    });
  });
});

describe("a provider that throws when it is read takes only its own namespaces down", () => {
  const mail = noteTool({ name: "mail.find" });
  const rows: { name: string; tools: () => unknown }[] = [
    { name: "with a descriptor", tools: () => [Object.defineProperty({ ...mail }, "descriptor", { get: trap })] },
    {
      name: "with a part of a descriptor",
      tools: () => [{ ...mail, descriptor: { ...mail.descriptor, metadata: throwing } }],
    },
    { name: "with a tool", tools: () => [throwing] },
    { name: "with a list", tools: () => throwing },
  ];
  for (const { name, tools } of rows) {
    test(name, async () => {
      const { kernel } = worldOf({
        grants,
        tools: [noteTool()],
        toolProviders: [providerOf("post", ["mail"], async () => untyped<ToolHandler[]>(tools()))],
      });
      const context = contextOf({ enabledToolNamespaces: ["files", "mail"] });
      expect((await kernel.listTools(context)).map((tool) => tool.name)).toStrictEqual(["files.read"]);
      expect(await kernel.invokeTool(context, callOf({ tool: "mail.find" }))).toMatchObject({
        error: { code: "tool_catalog_unavailable" },
      });
    });
  }

  test("with its namespaces: they are read once, when it is registered", async () => {
    let reads = 0;
    const provider = {
      id: "post",
      get namespaces() {
        if ((reads += 1) > 2) trap();
        return ["mail"];
      },
      tools: () => Promise.resolve([mail]),
    };
    const { kernel } = worldOf({ grants, toolProviders: [provider] });
    const context = contextOf({ enabledToolNamespaces: ["mail"] });
    expect((await kernel.listTools(context)).map((tool) => tool.name)).toStrictEqual(["mail.find"]);
    expect(await kernel.listToolNamespaces(context)).toMatchObject({ namespaces: [{ namespace: "mail" }] });
  });
});
