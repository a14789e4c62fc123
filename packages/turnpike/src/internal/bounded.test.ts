import { expect, test } from "vitest";
import { z } from "zod";
import * as valid from "../../test/valid-objects.ts";
import * as contracts from "../contracts/index.ts";
import { boundedArray, strictObject } from "./bounded.ts";
import { describeIssues } from "./describe-issues.ts";

const schemas = Object.entries(contracts).flatMap(([name, value]) =>
  value instanceof z.ZodType ? { name, value } : [],
);

/** Every schema inside a schema, itself included. */
function partsOf(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): Set<z.core.$ZodType> {
  if (seen.has(schema)) return seen;
  seen.add(schema);
  for (const part of Object.values(schema._zod.def)) {
    for (const inner of [part, ...(typeof part === "object" && part !== null ? Object.values(part) : [])]) {
      if (inner instanceof z.core.$ZodType) partsOf(inner, seen);
    }
  }
  return seen;
}

test("every array and object of the contracts is one whose size is checked before its parts", () => {
  const kinds: Record<string, string> = { array: "BoundedArray", object: "StrictObject", record: "none", map: "none" };
  const unbounded = schemas.flatMap(({ name, value }) =>
    [...partsOf(value)].flatMap(({ _zod: { def, traits } }) => {
      const kind = kinds[def.type];
      return kind === undefined || traits.has(kind) ? [] : [`${name}: ${def.type}`];
    }),
  );
  expect(unbounded).toEqual([]);
});

/** Values that would be a lot of work, with a count of the parts that were read. */
function hostileValues(): { name: string; value: unknown; reads(): number }[] {
  let reads = 0;
  const counted = (length: number, element: unknown) =>
    new Proxy(Object.assign([], { length }), {
      get(target, key, receiver): unknown {
        if (typeof key !== "string" || !/^\d+$/.test(key)) return Reflect.get(target, key, receiver);
        reads += 1;
        return element;
      },
    });
  let nested: unknown = [];
  for (let level = 0; level < 10_000; level += 1) nested = [nested];
  return [
    { name: "a million numbers", value: counted(1_000_000, 0) },
    { name: "a million strings", value: counted(1_000_000, "a") },
    { name: "64 times a million numbers", value: counted(64, counted(1_000_000, 0)) },
    { name: "64 times 64 numbers", value: counted(64, counted(64, 0)) },
    { name: "10,000 levels", value: nested },
    { name: "2,000 keys", value: Object.fromEntries(Array.from({ length: 2000 }, (_, key) => [`k${key}`, 0])) },
    { name: "a million letters", value: "a".repeat(1_000_000) },
    { name: "a million blanks", value: " ".repeat(1_000_000) },
  ].map((row) => ({ ...row, reads: () => reads }));
}

/** Every place of a value, as the value with something else there, or with many keys more. */
function placements(value: unknown, hostile: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [hostile];
  const inside = Object.entries(value).flatMap(([key, part]) =>
    placements(part, hostile).map((placed) =>
      Array.isArray(value) ? value.with(Number(key), placed) : { ...value, [key]: placed },
    ),
  );
  const isKeys = typeof hostile === "object" && !Array.isArray(hostile);
  return [hostile, ...inside, ...(isKeys && !Array.isArray(value) ? [{ ...value, ...hostile }] : [])];
}

/** How much there is to say about a refusal. */
function sizeOf(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 1), 0);
}

for (const { name, schema, complete } of [
  { name: "a grant", schema: contracts.GrantSchema, complete: valid.grant },
  { name: "an access context", schema: contracts.AccessContextSchema, complete: valid.accessContext },
  {
    name: "an authorization request",
    schema: contracts.AuthorizationRequestSchema,
    complete: valid.authorizationRequest,
  },
  { name: "a namespace update", schema: contracts.NamespaceUpdateSchema, complete: valid.namespaceUpdate },
  { name: "a tool call", schema: contracts.ToolCallSchema, complete: valid.toolCall },
  { name: "a tool descriptor", schema: contracts.ToolDescriptorSchema, complete: valid.toolDescriptor },
  { name: "a resource operation", schema: contracts.ResourceOperationSchema, complete: valid.resourceOperation },
  { name: "a message", schema: contracts.MessageEnvelopeSchema, complete: valid.messageEnvelope },
  { name: "a turn request", schema: contracts.TurnRequestSchema, complete: valid.turnRequest },
  { name: "an escalated turn", schema: contracts.TurnResultSchema, complete: valid.turnResults.escalated },
  { name: "a reach result", schema: contracts.ReachResultSchema, complete: valid.reachResults.computed },
]) {
  test(`${name} costs little to check, whatever is wherever in it`, () => {
    for (const { name: hostile, value, reads } of hostileValues()) {
      for (const body of placements(complete, value)) {
        const before = reads();
        const { error } = schema.safeParse(body);
        const hasFewReads = reads() - before <= 64 * 64 + 64;
        expect({ hostile, hasFewReads, hasFewProblems: sizeOf(error?.issues ?? []) <= 40 }).toEqual({
          hostile,
          hasFewReads: true,
          hasFewProblems: true,
        });
      }
    }
  });
}

const pair = strictObject({ names: boundedArray(z.string(), { max: 20 }) });

test("a list that is too long is refused by its length alone", () => {
  const refused = pair.safeParse({ names: Array.from({ length: 21 }, () => 0) });
  expect(describeIssues(refused.error?.issues ?? [])).toBe("/names: expected at most 20 elements");
});

test("the elements that follow enough wrong ones are not checked", () => {
  let reads = 0;
  const never = z.string().refine(() => {
    reads += 1;
    return false;
  });
  boundedArray(never, { max: 100 }).safeParse(Array.from({ length: 100 }, () => "a"));
  // The first one twice: it shows that the list does not fit, and is then the first of eight to be named.
  expect(reads).toBe(9);
});

test("elements with keys that are not known do not hide wrong elements behind them", () => {
  const rows = [...Array.from({ length: 20 }, () => ({ names: [], later: 1 })), { names: 7 }];
  const { issues } = boundedArray(pair, { max: 100 }).safeParse(rows).error ?? { issues: [] };
  expect(issues.at(-1)).toMatchObject({ code: "invalid_type", path: [20, "names"] });
});

test("an object of many unknown keys is refused by their number, and the first are named", () => {
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 0]));
  expect(describeIssues(pair.safeParse({ names: 7, ...keys }).error?.issues ?? [])).toBe(
    "(root): expected at most 9 keys; /k0: expected no such key; /k1: expected no such key; and 1 more",
  );
});

test("an object of a few unknown keys is described in full", () => {
  expect(describeIssues(pair.safeParse({ names: 7, a: 1 }).error?.issues ?? [])).toBe(
    "/names: expected array; /a: expected no such key",
  );
});

test("a __proto__ key is refused, whether JSON.parse made it or other code", () => {
  const refused = pair.safeParse(JSON.parse('{"names":[],"__proto__":{}}'));
  expect(describeIssues(refused.error?.issues ?? [])).toBe("(root): expected no __proto__ key");
});

test("a bounded array has its bounds and its kind when it is refined", () => {
  const sorted = boundedArray(z.string(), { min: 1, max: 2 }).refine((names) => names.length < 9);
  expect(z.toJSONSchema(sorted)).toMatchObject({ type: "array", minItems: 1, maxItems: 2 });
  expect([["a"], ["a", "b"], [], ["a", "b", "c"], "a"].map((value) => sorted.safeParse(value).success)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("an element that would be checked later is a mistake in the schema", () => {
  const later = boundedArray(
    z.string().refine(() => Promise.resolve(false)),
    { max: 2 },
  );
  expect(() => later.safeParse(["a"])).toThrow(z.core.$ZodAsyncError);
});
