import { describe, expect, test } from "vitest";
import { context, untyped } from "../../test/decisions.ts";
import { memoryGrants, memoryResources } from "../testing/index.ts";
import { createKernel } from "./kernel.ts";
import type { KernelOptions, ToolHandler } from "./ports.ts";

const grants = memoryGrants();

function tool(name: string, changes: object = {}): ToolHandler {
  return {
    descriptor: {
      name,
      description: "Reads a note.",
      namespace: "notes",
      source: "host",
      readWrite: "read",
      inputSchema: { type: "object" },
      requiredCapability: { action: "read", resource: { namespace: "notes", path: [] } },
      ...changes,
    },
    parse: (args) => args,
    invoke: ({ now }, call) =>
      Promise.resolve({ status: "succeeded", callId: call.id, tool: call.tool, completedAt: now, output: null }),
  };
}

const many = (count: number): ToolHandler[] => Array.from({ length: count }, (_, place) => tool(`notes.tool-${place}`));

/** Why no kernel can be made of these options, or that it was. */
function outcomeOf(options: KernelOptions): string {
  try {
    createKernel(options);
    return "made";
  } catch (error) {
    return String(error);
  }
}

describe("a kernel", () => {
  const rows: { name: string; options: Omit<KernelOptions, "grants">; refusal?: RegExp }[] = [
    { name: "with the written choice of no audit is made", options: { audit: "none" } },
    { name: "with a sink is made", options: { audit: { record: () => Promise.resolve() } } },
    { name: "without a choice of audit is refused", options: untyped({}), refusal: /audit/ },
    { name: "with an undefined choice of audit is refused", options: untyped({ audit: undefined }), refusal: /audit/ },
    {
      name: "with two tools of different names is made",
      options: { audit: "none", tools: [tool("notes.read"), tool("notes.list")] },
    },
    {
      name: "with two tools of one name is refused",
      options: { audit: "none", tools: [tool("notes.read"), tool("notes.read")] },
      refusal: /notes\.read/,
    },
    {
      name: "with a tool that does not fit the contract is refused",
      options: { audit: "none", tools: [tool("notes.read", { readWrite: "both" })] },
      refusal: /notes\.read/,
    },
    { name: "with 512 tools is made", options: { audit: "none", tools: many(512) } },
    { name: "with 513 tools is refused", options: { audit: "none", tools: many(513) }, refusal: /512/ },
    {
      name: "with providers of two resource namespaces is made",
      options: { audit: "none", resources: [memoryResources("documents"), memoryResources("mail")] },
    },
    {
      name: "with two providers of one resource namespace is refused",
      options: { audit: "none", resources: [memoryResources("documents"), memoryResources("documents")] },
      refusal: /documents/,
    },
  ];
  for (const { name, options, refusal = /^made$/ } of rows) {
    test(`${name}`, () => {
      expect(outcomeOf({ grants, ...options })).toMatch(refusal);
    });
  }

  test("with the least a host can give answers everything with nothing", async () => {
    const kernel = createKernel({ grants, audit: "none" });
    expect(await kernel.reach(context())).toEqual({ status: "computed", reach: [] });
    expect(await kernel.listTools(context())).toEqual([]);
  });
});
