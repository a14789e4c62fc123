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
    {
      name: "a need for tasks",
      changes: { execution: { taskSupport: "required" } },
      why: "it runs as a task, which the host does not carry",
    },
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

  test("but not one that can run as a task and need not", () => {
    for (const taskSupport of ["optional", "forbidden"]) expect(read({ execution: { taskSupport } })).toBeDefined();
  });

  for (const nothing of [null, undefined, 5, "tool", []]) {
    test(`${JSON.stringify(nothing) ?? "undefined"} instead of a tool`, () => {
      expect(readTool("wiki", nothing)).toEqual({ ok: false, name: "", why: shape });
    });
  }
});

describe("what hides in a schema", () => {
  const schemaWith = (part: object): object => ({ type: "object", properties: { page: { type: "string", ...part } } });

  for (const hidden of [
    "\u{e0041}",
    "\u202e",
    "\u2066",
    "\u061c",
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\ufe0f",
    "\u{e0101}",
    "\u00ad",
    "\u3164",
  ]) {
    const code = hidden.codePointAt(0)?.toString(16);
    test(`U+${code} is removed from texts for readers, before a person reads them`, () => {
      const inputSchema = {
        title: `T${hidden}`,
        $comment: `c${hidden}c`,
        ...schemaWith({ description: `a${hidden}b` }),
      };
      const outputSchema = { type: "object", description: `${hidden}o` };
      const { descriptor } = read({ inputSchema, outputSchema, description: `d${hidden}` });
      expect(descriptor).toMatchObject({
        description: "d",
        inputSchema: { title: "T", $comment: "cc", ...schemaWith({ description: "ab" }) },
        outputSchema: { description: "o" },
      });
    });
  }

  for (const row of [
    { name: "the name of a property", schema: { type: "object", properties: { "pa\u200bge": {} } } },
    { name: "a property that is required", schema: { type: "object", required: ["pa\u200bge"] } },
    { name: "a value to choose from", schema: schemaWith({ enum: ["a", "b\u{e0041}"] }) },
    { name: "the only value", schema: schemaWith({ const: "b\u202e" }) },
    { name: "a text inside of a value", schema: schemaWith({ const: { description: "b\u202e" } }) },
    { name: "a default", schema: schemaWith({ default: "b\u202e" }) },
    { name: "an example", schema: schemaWith({ examples: ["b\u202e"] }) },
    { name: "a pattern", schema: schemaWith({ pattern: "^\u200b$" }) },
    { name: "a definition's name", schema: { type: "object", $defs: { "a\u200d": {} } } },
    { name: "an unknown keyword", schema: schemaWith({ "x-note": "a\u200b" }) },
  ]) {
    for (const key of ["inputSchema", "outputSchema"]) {
      test(`withdraws the tool when it is ${row.name} of its ${key}: the server would get another one`, () => {
        expect(readTool("wiki", { ...entry, [key]: row.schema })).toEqual({
          ok: false,
          name: "read_page",
          why: "its schema has hidden characters in a name or value",
        });
      });
    }
  }

  test("is not the inside of an emoji, which can be chosen", () => {
    const inputSchema = schemaWith({ enum: ["👩\u200d💻", "❤\ufe0f"] });
    expect(read({ inputSchema }).descriptor.inputSchema).toEqual(inputSchema);
  });

  test("is not a property that has the name of a keyword", () => {
    const inputSchema = { type: "object", properties: { description: { type: "string" }, enum: { type: "string" } } };
    expect(read({ inputSchema }).descriptor.inputSchema).toEqual(inputSchema);
  });
});

test("a tool is at most 131072 characters of JSON", () => {
  const around = JSON.stringify({ ...entry, inputSchema: { type: "object", $comment: "" } }).length;
  const ofLength = (length: number) => ({ inputSchema: { type: "object", $comment: "x".repeat(length - around) } });
  expect(readTool("wiki", { ...entry, ...ofLength(131_072) })).toMatchObject({ ok: true });
  expect(readTool("wiki", { ...entry, ...ofLength(131_073) })).toEqual({
    ok: false,
    name: "read_page",
    why: "it is larger than 131072 characters",
  });
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
    { name: "but not with other words for it", changes: { description: "Reads." }, isSame: false },
    { name: "but not with a hidden character", changes: { description: "Reads a page.\u200b" }, isSame: false },
    { name: "but not with another title", changes: { title: "Reader" }, isSame: false },
    { name: "but not with another output", changes: { outputSchema: { type: "object" } }, isSame: false },
    { name: "but not with another way to run", changes: { execution: { taskSupport: "optional" } }, isSame: false },
    { name: "with what the host does not use of it", changes: { _meta: { at: 1 }, icons: [] }, isSame: true },
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
