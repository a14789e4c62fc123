import { describe, expect, test } from "vitest";
import { isSameTool, readTool, type McpTool } from "./mcp-tool.ts";

const entry = { name: "read_page", description: "Reads a page.", inputSchema: { type: "object" } };

function read(changes: object): McpTool {
  const reading = readTool("wiki", { ...entry, ...changes });
  if (!reading.ok) throw new Error(reading.why);
  return reading.tool;
}

test("a tool gets the server's namespace, a capability of its own, and keeps its schema as it is", () => {
  const inputSchema = { type: "object", $defs: { a: { type: "string" } }, properties: { p: { $ref: "#/$defs/a" } } };
  expect(read({ inputSchema }).descriptor).toEqual({
    name: "mcp.wiki.read_page",
    description: "Reads a page.",
    namespace: "mcp.wiki",
    source: "mcp.wiki",
    readWrite: "write",
    inputSchema,
    requiredCapability: { action: "call", resource: { namespace: "mcp.wiki", path: ["read_page"] } },
    annotations: { destructive: true, idempotent: false },
  });
});

describe("what is not declared is assumed to be dangerous", () => {
  const rows: { hints: object | undefined; readWrite: string; annotations: object }[] = [
    { hints: undefined, readWrite: "write", annotations: { destructive: true, idempotent: false } },
    { hints: {}, readWrite: "write", annotations: { destructive: true, idempotent: false } },
    { hints: { readOnlyHint: true }, readWrite: "read", annotations: { readOnly: true, idempotent: false } },
    { hints: { readOnlyHint: false }, readWrite: "write", annotations: { destructive: true, idempotent: false } },
    { hints: { destructiveHint: false }, readWrite: "write", annotations: { destructive: false, idempotent: false } },
    { hints: { idempotentHint: true }, readWrite: "write", annotations: { destructive: true, idempotent: true } },
    {
      hints: { readOnlyHint: true, destructiveHint: true },
      readWrite: "write",
      annotations: { destructive: true, idempotent: false },
    },
    {
      hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
      readWrite: "read",
      annotations: { readOnly: true, idempotent: true },
    },
  ];
  for (const { hints, readWrite, annotations } of rows) {
    test(JSON.stringify(hints) ?? "no annotations", () => {
      expect(read({ annotations: hints }).descriptor).toMatchObject({ readWrite, annotations });
    });
  }
});

describe("an entry that does not fit is left out with a reason", () => {
  const name = "its name does not fit";
  const shape = "it is no tool with an input schema for an object";
  for (const row of [
    { name: "a slash in the name", changes: { name: "a/b" }, why: name },
    { name: "a space in the name", changes: { name: "a b" }, why: name },
    { name: "a name in another script", changes: { name: "읽기" }, why: name },
    { name: "no name", changes: { name: "" }, why: name },
    { name: "a name too long", changes: { name: "x".repeat(129) }, why: name },
    { name: "the name .", changes: { name: "." }, why: name },
    { name: "the name ..", changes: { name: ".." }, why: name },
    { name: "the name __proto__", changes: { name: "__proto__" }, why: name },
    { name: "a name that is a number", changes: { name: 5 }, why: shape },
    { name: "no input schema", changes: { inputSchema: undefined }, why: shape },
    { name: "an input schema for a list", changes: { inputSchema: { type: "array" } }, why: shape },
    { name: "an annotation that is a word", changes: { annotations: { readOnlyHint: "yes" } }, why: shape },
    {
      name: "a key __proto__ in the schema",
      changes: { inputSchema: JSON.parse('{"type":"object","properties":{"__proto__":{}}}') as object },
      why: shape,
    },
  ]) {
    test(row.name, () => {
      expect(readTool("wiki", { ...entry, ...row.changes })).toMatchObject({ ok: false, why: row.why });
    });
  }

  for (const nothing of [null, undefined, 5, "tool", []]) {
    test(`${JSON.stringify(nothing) ?? "undefined"} instead of a tool`, () => {
      expect(readTool("wiki", nothing)).toEqual({ ok: false, name: "", why: shape });
    });
  }
});

describe("a description", () => {
  for (const row of [
    { name: "is cut to what the contract takes", changes: { description: "x".repeat(9000) }, words: "x".repeat(8192) },
    { name: "loses what cannot be seen", changes: { description: "a\u0000\u001bb" }, words: "ab" },
    { name: "that is missing is the title", changes: { description: undefined, title: "Page" }, words: "Page" },
    {
      name: "of nothing visible is said for it",
      changes: { description: "\u0000" },
      words: "The tool read_page of an MCP server.",
    },
  ]) {
    test(row.name, () => {
      expect(read(row.changes).descriptor.description).toBe(row.words);
    });
  }
});

test("an output schema is passed on when it is an object's", () => {
  const outputSchema = { type: "object", properties: {} };
  expect(read({ outputSchema }).descriptor.outputSchema).toEqual(outputSchema);
  expect(read({ outputSchema: { type: "array" } }).descriptor.outputSchema).toBeUndefined();
});

describe("a tool is the same", () => {
  for (const row of [
    { name: "with other words for it", changes: { description: "Reads." }, isSame: true },
    {
      name: "with the keys in another order",
      changes: { inputSchema: { properties: {}, type: "object" } },
      isSame: true,
    },
    {
      name: "but not with another input",
      changes: { inputSchema: { type: "object", properties: { p: {} } } },
      isSame: false,
    },
    { name: "but not with another effect", changes: { annotations: { readOnlyHint: true } }, isSame: false },
  ]) {
    test(row.name, () => {
      const before = read({ inputSchema: { type: "object", properties: {} } });
      expect(isSameTool(before, read({ inputSchema: { type: "object", properties: {} }, ...row.changes }))).toBe(
        row.isSame,
      );
    });
  }
});
