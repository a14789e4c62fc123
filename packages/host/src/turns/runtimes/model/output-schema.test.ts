import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "turnpike/contracts";
import { readOutputSchema, type OutputSchema } from "./output-schema.ts";

function opened(schema: JsonValue): OutputSchema {
  const read = readOutputSchema({ output: { schema } });
  if (read === undefined || "error" in read) throw new Error(read?.error.message);
  return read;
}

const person = {
  type: "object",
  properties: { name: { type: "string", minLength: 1 }, age: { anyOf: [{ type: "integer" }, { type: "null" }] } },
  required: ["name", "age"],
  additionalProperties: false,
};

describe("a request without a schema for its output", () => {
  for (const metadata of [
    undefined,
    {},
    { output: "short" },
    { output: {} },
    { output: [{ schema: {} }] },
    { schema: {} },
  ]) {
    test(JSON.stringify(metadata) ?? "without metadata", () => {
      expect(readOutputSchema(metadata as JsonObject)).toBeUndefined();
    });
  }
});

describe("an output", () => {
  const rows: { name: string; schema: JsonValue; text: string; value: JsonValue | undefined }[] = [
    {
      name: "that fits is its value",
      schema: person,
      text: '{"name":"Ada","age":36}',
      value: { name: "Ada", age: 36 },
    },
    {
      name: "may be in a fence",
      schema: person,
      text: '```json\n{"name":"Ada","age":null}\n```\n',
      value: { name: "Ada", age: null },
    },
    { name: "may be falsy", schema: { type: "boolean" }, text: "false", value: false },
    { name: "may be nothing", schema: { type: "null" }, text: "null", value: null },
    { name: "is not text around it", schema: person, text: 'Here: {"name":"Ada","age":36}', value: undefined },
    { name: "is not empty", schema: person, text: "", value: undefined },
    { name: "is not cut off", schema: person, text: '{"name":"Ada"', value: undefined },
    { name: "has what is required", schema: { required: ["a"] }, text: "{}", value: undefined },
    { name: "inherits nothing", schema: { required: ["constructor"] }, text: "{}", value: undefined },
    {
      name: "is not what it would inherit",
      schema: { properties: { constructor: { type: "string" } } },
      text: "{}",
      value: {},
    },
    { name: "has no other keys", schema: person, text: '{"name":"Ada","age":36,"isAdmin":true}', value: undefined },
    { name: "has no key of the prototype", schema: {}, text: '{"__proto__":{"isAdmin":true}}', value: undefined },
    {
      name: "fits a list",
      schema: { items: { enum: [{ a: 1 }, "b"] } },
      text: '[{"a":1},"b"]',
      value: [{ a: 1 }, "b"],
    },
    {
      name: "fits exactly one of two",
      schema: { oneOf: [{ type: "number" }, { type: "integer" }] },
      text: "1",
      value: undefined,
    },
    { name: "is not checked for its format", schema: { format: "email" }, text: '"no address"', value: "no address" },
    {
      name: "is compared with data as it is",
      schema: { const: { format: "a" } },
      text: '{"format":"b"}',
      value: undefined,
    },
  ];
  for (const { name, schema, text, value } of rows) {
    test(name, () => {
      expect(opened(schema).read(text)).toStrictEqual(value);
    });
  }
});

test("references are replaced by what they refer to", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: { "a/b": { type: "string", title: "Name" }, pair: { type: "array", items: { $ref: "#/$defs/a~1b" } } },
    type: "object",
    properties: { names: { $ref: "#/$defs/pair", description: "Two of them." } },
  };
  expect(opened(schema).schema).toStrictEqual({
    type: "object",
    properties: {
      names: { type: "array", items: { type: "string", title: "Name" }, description: "Two of them." },
    },
  });
});

describe("what is beside a reference holds together with what it leads to:", () => {
  const $defs = {
    named: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    closed: { type: "object", additionalProperties: false },
    adult: { type: "integer", minimum: 18 },
  };
  for (const { name, schema, fits, not } of [
    {
      name: "keys of both",
      schema: { $ref: "#/$defs/named", properties: { age: { type: "integer" } }, required: ["age"] },
      fits: { name: "Ada", age: 36 },
      not: [{ age: 36 }, { name: "Ada" }, { name: 1, age: 36 }],
    },
    { name: "the narrower limit", schema: { $ref: "#/$defs/adult", minimum: 0 }, fits: 18, not: [1] },
    {
      name: "no keys that the target does not have",
      schema: { $ref: "#/$defs/closed", properties: { a: {} } },
      fits: {},
      not: [{ a: 1 }],
    },
    {
      name: "a limit that only one of them has",
      schema: { $ref: "#/$defs/adult", maximum: 99 },
      fits: 18,
      not: [1, 100],
    },
  ] satisfies { name: string; schema: JsonObject; fits: JsonValue; not: JsonValue[] }[]) {
    test(name, () => {
      const { read } = opened({ ...schema, $defs });
      expect(read(JSON.stringify(fits))).toStrictEqual(fits);
      for (const value of not) expect(read(JSON.stringify(value))).toBeUndefined();
    });
  }
});

test("a schema is strict when each of its objects names all of its keys as required, and no others", () => {
  expect(opened(person).isStrict).toBe(true);
  expect(opened({ ...person, required: ["name"] }).isStrict).toBe(false);
  expect(opened({ ...person, additionalProperties: true }).isStrict).toBe(false);
  expect(opened({ type: "array", items: { type: "object" } }).isStrict).toBe(false);
});

describe("a keyword that would not be checked as it is written is refused before a model is asked:", () => {
  for (const { schema, says } of [
    { schema: { allOf: { type: "string" } }, says: "allOf has to be a list" },
    { schema: { properties: { a: { enum: "abc" } } }, says: "enum has to be a list" },
    { schema: { prefixItems: { type: "string" } }, says: "prefixItems has to be a list" },
    { schema: { required: 5 }, says: "required has to be a list of names" },
    { schema: { required: [5] }, says: "required has to be a list of names" },
    { schema: { type: { a: 1 } }, says: "type has to be a type" },
    { schema: { properties: ["a"] }, says: "properties has to be an object" },
    { schema: { dependentRequired: { a: "b" } }, says: "dependentRequired has to be" },
    { schema: { dependentRequired: 1 }, says: "dependentRequired has to be" },
    { schema: { minimum: 5, exclusiveMinimum: true }, says: "exclusiveMinimum has to be a number" },
    { schema: { minLength: "5" }, says: "minLength has to be a number" },
  ] satisfies { schema: JsonValue; says: string }[]) {
    test(JSON.stringify(schema), () => {
      const message = expect.stringContaining(says) as string;
      expect(readOutputSchema({ output: { schema } })).toMatchObject({ error: { code: "invalid_request", message } });
    });
  }
});

describe("a schema that cannot be checked in bounded time is refused, with what to change:", () => {
  const twice = (level: number): JsonObject => ({
    anyOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }],
  });
  const bomb = Object.fromEntries(Array.from({ length: 20 }, (_, level) => [`d${level}`, twice(level + 1)]));
  for (const { name, schema, says } of [
    { name: "no schema", schema: "string", says: "expected a JSON Schema" },
    { name: "one that allows everything or nothing", schema: true, says: "expected a JSON Schema" },
    { name: "an expression", schema: { properties: { a: { pattern: "^(a+)+$" } } }, says: "pattern is not supported" },
    {
      name: "expressions for keys",
      schema: { patternProperties: { "^(a+)+$": {} } },
      says: "patternProperties is not",
    },
    {
      name: "elements that differ",
      schema: { type: "array", uniqueItems: true },
      says: "uniqueItems is not supported",
    },
    {
      name: "one that refers to itself",
      schema: { properties: { child: { $ref: "#/" } } },
      says: "a $ref leads nowhere",
    },
    {
      name: "one that contains itself",
      schema: { $defs: { a: { items: { $ref: "#/$defs/a" } } }, $ref: "#/$defs/a" },
      says: "refers to itself",
    },
    { name: "a reference elsewhere", schema: { $ref: "https://a.b/schema" }, says: "into the schema itself" },
    { name: "a reference to the prototype", schema: { $ref: "#/constructor" }, says: "a $ref leads nowhere" },
    {
      name: "one that doubles twenty times",
      schema: { ...twice(0), $defs: { ...bomb, d20: {} } },
      says: "more than 2000 parts",
    },
    {
      name: "one with too many values to compare with",
      schema: { items: { enum: Array.from({ length: 2_001 }, (_, place) => place) } },
      says: "more than 2000 parts",
    },
    {
      name: "one with too large a value to compare with",
      schema: { items: { const: Array.from({ length: 2_001 }, (_, place) => place) } },
      says: "more than 2000 parts",
    },
    {
      name: "one that requires a key too often",
      schema: { items: { required: Array.from({ length: 2_001 }, () => "a") } },
      says: "more than 2000 parts",
    },
    { name: "a property of no schema", schema: { properties: { a: 1 } }, says: "expected a JSON Schema" },
  ] satisfies { name: string; schema: JsonValue; says: string }[]) {
    test(name, () => {
      const read = readOutputSchema({ output: { schema } });
      expect(read).toMatchObject({ error: { code: "invalid_request", retryable: false } });
      expect(JSON.stringify(read)).toContain(`metadata.output.schema: `);
      expect(JSON.stringify(read)).toContain(says);
    });
  }

  test("and an output that has too much to check for its schema does not fit", () => {
    const alternatives = Array.from({ length: 900 }, (_, place) => ({ required: [`key${place}`] }));
    const { read } = opened({ items: { oneOf: alternatives } });
    const listOf = (length: number): string => JSON.stringify(Array.from({ length }, () => ({ key899: 1 })));
    expect(read(listOf(100))).toHaveLength(100);
    expect(read(listOf(50_000))).toBeUndefined();
    const long = opened({ allOf: Array.from({ length: 1_900 }, () => ({ minLength: 1 })) });
    expect(long.read(JSON.stringify("a".repeat(10_000)))).toHaveLength(10_000);
    expect(long.read(JSON.stringify("a".repeat(900_000)))).toBeUndefined();
    // One that is simple may be as long as a reply.
    expect(opened({ items: { type: "integer" } }).read(`[${"1,".repeat(50_000)}1]`)).toHaveLength(50_001);
  });

  test("but a property may be called as a keyword is", () => {
    const schema = { properties: { pattern: { type: "string" }, uniqueItems: { enum: [{ $ref: 1 }] } } };
    expect(opened(schema).read('{"pattern":"a"}')).toStrictEqual({ pattern: "a" });
  });
});
