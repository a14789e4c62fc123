import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { leastCpuMs, maxCpuMs } from "../../test/hostile-bodies.ts";
import * as valid from "../../test/valid-objects.ts";
import {
  AccessContextSchema,
  NamespaceUpdateSchema,
  PrincipalRefSchema,
  ResourceRefSchema,
  ToolCallSchema,
  TurnOptionsSchema,
  TurnRequestSchema,
} from "../contracts/index.ts";
import { describeIssues } from "./describe-issues.ts";

function describeRefusal(schema: z.ZodType, value: unknown): string {
  return describeIssues(schema.safeParse(value).error?.issues ?? []);
}

const call = valid.toolCall;
const request = valid.turnRequest;

for (const { name, schema, value, message } of [
  { name: "a wrong type", schema: ToolCallSchema, value: { ...call, id: 7 }, message: "/id: expected string" },
  { name: "a missing key", schema: ResourceRefSchema, value: { path: [] }, message: "/namespace: expected string" },
  {
    name: "an unknown key",
    schema: ToolCallSchema,
    value: { ...call, grants: 1 },
    message: "/grants: expected no such key",
  },
  { name: "a wrong root", schema: ToolCallSchema, value: "call", message: "(root): expected object" },
  {
    name: "a string too short",
    schema: ToolCallSchema,
    value: { ...call, id: "" },
    message: "/id: expected 1 or more characters",
  },
  {
    name: "a string too long",
    schema: ToolCallSchema,
    value: { ...call, id: "a".repeat(257) },
    message: "/id: expected at most 256 characters",
  },
  {
    name: "a list too long",
    schema: ResourceRefSchema,
    value: { namespace: "files", path: Array(65).fill("a") },
    message: "/path: expected at most 64 elements",
  },
  {
    name: "a number too small",
    schema: TurnOptionsSchema,
    value: { maxSteps: 0 },
    message: "/maxSteps: expected 1 or more",
  },
  {
    name: "a number too big",
    schema: TurnOptionsSchema,
    value: { maxSteps: 1001 },
    message: "/maxSteps: expected at most 1000",
  },
  { name: "a fraction", schema: TurnOptionsSchema, value: { maxSteps: 1.5 }, message: "/maxSteps: expected int" },
  {
    name: "a wrong literal",
    schema: TurnRequestSchema,
    value: { ...request, version: 2 },
    message: `/version: expected 1 or "1"`,
  },
  {
    name: "a wrong kind",
    schema: PrincipalRefSchema,
    value: { kind: "robot" },
    message: `/kind: expected "human" or "agent" or "group" or "service"`,
  },
  {
    name: "a bad timestamp",
    schema: ToolCallSchema,
    value: { ...call, requestedAt: "now" },
    message: "/requestedAt: expected an RFC 3339 date-time with an offset",
  },
  {
    name: "a place in a list",
    schema: NamespaceUpdateSchema,
    value: { enable: ["files", 7] },
    message: "/enable/1: expected string",
  },
  {
    name: "a place deep in JSON",
    schema: ToolCallSchema,
    value: { ...call, arguments: { a: [{ b: 1n }] } },
    message: "/arguments/a/0/b: expected a JSON value",
  },
  {
    name: "a rule between two fields",
    schema: NamespaceUpdateSchema,
    value: { enable: ["a"], disable: ["a"] },
    message: "/disable: expected no name that is also in enable",
  },
  {
    name: "three places",
    schema: TurnOptionsSchema,
    value: { maxSteps: 0, maxToolCalls: 0, timeoutMs: 0 },
    message: "/maxSteps: expected 1 or more; /maxToolCalls: expected 1 or more; /timeoutMs: expected 1 or more",
  },
  {
    name: "more than three places",
    schema: TurnOptionsSchema,
    value: { a: 1, b: 2, c: 3, d: 4, e: 5 },
    message: "/a: expected no such key; /b: expected no such key; /c: expected no such key; and 2 more",
  },
  {
    name: "two faults in one place once",
    schema: z.string().min(2).regex(/a/, "expected an a"),
    value: "",
    message: "(root): expected 2 or more characters",
  },
  {
    name: "a bound that is not allowed itself",
    schema: z.strictObject({ amount: z.number().positive(), share: z.number().lt(1) }),
    value: { amount: 0, share: 1 },
    message: "/amount: expected more than 0; /share: expected less than 1",
  },
  {
    name: "a key with a slash",
    schema: TurnOptionsSchema,
    value: { "a/b": 1 },
    message: "/a~1b: expected no such key",
  },
  {
    name: "a key with a tilde",
    schema: TurnOptionsSchema,
    value: { "a~b": 1 },
    message: "/a~0b: expected no such key",
  },
  {
    name: "a key that looks escaped",
    schema: TurnOptionsSchema,
    value: { "~1": 1 },
    message: "/~01: expected no such key",
  },
  { name: "an empty key", schema: TurnOptionsSchema, value: { "": 1 }, message: "/: expected no such key" },
  {
    name: "a key with a line break",
    schema: TurnOptionsSchema,
    value: { "a\r\nb": 1 },
    message: "/a\\u{d}\\u{a}b: expected no such key",
  },
  {
    name: "a key that turns the writing round",
    schema: TurnOptionsSchema,
    value: { "a\u202eb": 1 },
    message: "/a\\u{202e}b: expected no such key",
  },
  {
    name: "a key with a Unicode line separator",
    schema: TurnOptionsSchema,
    value: { "a\u2028b": 1 },
    message: "/a\\u{2028}b: expected no such key",
  },
  {
    name: "a key of 119 characters",
    schema: TurnOptionsSchema,
    value: { ["k".repeat(119)]: 1 },
    message: `/${"k".repeat(119)}: expected no such key`,
  },
  {
    name: "an overlong key",
    schema: TurnOptionsSchema,
    value: { ["k".repeat(120)]: 1 },
    message: `/${"k".repeat(119)}...: expected no such key`,
  },
]) {
  test(`${name} is described`, () => {
    expect(describeRefusal(schema, value)).toBe(message);
  });
}

/** Every place of a JSON-like value, as the value with something else put there. */
function replacements(value: unknown, secret: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [secret];
  return [
    secret,
    ...Object.entries(value).flatMap(([key, part]) =>
      replacements(part, secret).map((replaced) =>
        Array.isArray(value) ? value.with(Number(key), replaced) : { ...value, [key]: replaced },
      ),
    ),
  ];
}

for (const { name, schema, complete } of [
  { name: "turn request", schema: TurnRequestSchema, complete: request },
  { name: "access context", schema: AccessContextSchema, complete: valid.accessContext },
]) {
  test(`a secret is never repeated, wherever in a ${name} it is`, () => {
    const secret = fc.string({ minLength: 8, maxLength: 600, unit: "grapheme-ascii" }).map((text) => `§${text}§`);
    fc.assert(
      fc.property(secret, fc.constantFrom("bare", "in a list", "in an object"), (text, form) => {
        const placed = { bare: text, "in a list": [text], "in an object": { kind: text, version: text } }[form];
        for (const value of replacements(complete, placed)) expect(describeRefusal(schema, value)).not.toContain(text);
      }),
      { numRuns: 50 },
    );
  });
}

test("a description is one line, whatever the keys are", () => {
  const key = fc.string({
    unit: fc.constantFrom("a", "/", "\n", "\r", "\t", "\u0085", "\u2028", "\u2029"),
    minLength: 1,
  });
  fc.assert(
    fc.property(fc.array(key, { minLength: 1 }), (keys) => {
      const value = Object.fromEntries(keys.map((each) => [each, 1]));
      expect(describeRefusal(TurnOptionsSchema, value)).toMatch(/^[^\n\r\t\u0085\u2028\u2029]+$/u);
    }),
  );
});

test("a description stays short, however many and however long the keys are", () => {
  const value = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${"k".repeat(1000)}${index}`, 1]));
  expect(describeRefusal(ToolCallSchema, { ...call, ...value }).length).toBeLessThan(600);
});

test("of very many places three are named and the others not even counted", () => {
  let reads = 0;
  const issue = {
    code: "invalid_type" as const,
    expected: "string" as const,
    message: "",
    get path() {
      reads += 1;
      return [reads];
    },
  };
  expect(describeIssues(Array.from({ length: 100_000 }, () => issue))).toBe(
    "/1: expected string; /2: expected string; /3: expected string; and many more",
  );
  expect(reads).toBeLessThan(200);
});

test("a very long key is cut before it is escaped", async () => {
  const value = { [`${"~/\n".repeat(2_000_000)}`]: 1 };
  const { issues } = TurnOptionsSchema.safeParse(value).error ?? { issues: [] };
  const expected = `/${"~0~1\\u{a}".repeat(13)}~0...: expected no such key`;
  expect(await leastCpuMs(() => expect(describeIssues(issues)).toBe(expected))).toBeLessThan(maxCpuMs);
});

test("a value that fits no alternative is told so, by a list of values where there is one", () => {
  const kinds = z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]);
  const either = z.object({ either: z.union([z.string(), z.number()]) });
  expect(describeRefusal(kinds, { kind: "c" })).toBe('/kind: expected "a" or "b"');
  expect(describeRefusal(either, { either: true })).toBe("/either: expected one of the shapes allowed here");
});
