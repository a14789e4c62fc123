import fc from "fast-check";
import { expect, test } from "vitest";
import { testContract } from "../../test/contract-rows.ts";
import { JsonObjectSchema, JsonValueSchema } from "../contracts/index.ts";
import { readJson } from "./json.ts";

const noJson = "expected a JSON value";
const notFinite = "expected a finite number";
const tooDeep = "expected at most 64 levels of nesting";
const tooMany = "expected at most 100000 values in the whole document";
const noProto = "expected no __proto__ key";

function nestedLists(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level += 1) value = [value];
  return value;
}

function nestedObjects(levels: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < levels; level += 1) value = { in: value };
  return value;
}

class Point {
  readonly x = 1;
}

const cyclic: unknown[] = [];
cyclic.push(cyclic);
const repeated = { a: 1 };

for (const { name, value } of [
  { name: "null", value: null },
  { name: "a string with a lone surrogate", value: "\ud800" },
  { name: "the largest number", value: Number.MAX_VALUE },
  { name: "minus zero", value: -0 },
  { name: "an empty list", value: [] },
  { name: "an object without a prototype", value: Object.assign(Object.create(null), { a: 1 }) },
  { name: "a constructor key", value: { constructor: { prototype: { polluted: true } } } },
  { name: "a prototype key", value: { prototype: 1 } },
  { name: "toString and hasOwnProperty keys", value: { toString: 1, hasOwnProperty: 2 } },
  { name: "__proto__ as a string", value: ["__proto__"] },
  { name: "the same part in two places", value: [repeated, repeated] },
  { name: "64 levels of lists", value: nestedLists(64) },
  { name: "64 levels of objects", value: nestedObjects(64) },
  { name: "a value below 64 levels", value: JSON.parse(`${"[".repeat(64)}1${"]".repeat(64)}`) },
  { name: "100,000 values side by side", value: Array(99_999).fill(1) },
  { name: "100,000 values below each other", value: Array.from({ length: 33_333 }, () => [{ a: 1 }]) },
]) {
  test(`${name} can be said in JSON`, () => {
    expect(readJson(value)).toEqual({ ok: true, value });
  });
}

test("what was read is a frozen copy", () => {
  const mine = { list: [{ deep: 1 }] };
  const reading = readJson(mine);
  mine.list.push({ deep: 2 });
  expect(reading).toEqual({ ok: true, value: { list: [{ deep: 1 }] } });
  expect(Object.isFrozen(mine)).toBe(false);
});

test("a getter is read once and never again", () => {
  let reads = 0;
  const moody = {
    get path() {
      reads += 1;
      return reads;
    },
  };
  const reading = readJson(moody);
  expect(JSON.stringify([reading, reading])).toBe('[{"ok":true,"value":{"path":1}},{"ok":true,"value":{"path":1}}]');
  expect(reads).toBe(1);
});

test("what was read is known again and not read twice", () => {
  const first = readJson({ list: [1] });
  expect(first.ok && readJson(first.value)).toEqual(first);
  expect(first.ok && Object.is(JsonValueSchema.parse(first.value), first.value)).toBe(true);
});

test("a list cannot bring a toJSON that tells something else", () => {
  expect(JSON.stringify(readJson(Object.assign([1], { toJSON: () => "lie" })))).toBe('{"ok":true,"value":[1]}');
});

for (const { name, value, path, expected } of [
  { name: "undefined", value: undefined, path: [], expected: noJson },
  { name: "undefined in an object", value: { a: undefined }, path: ["a"], expected: noJson },
  { name: "NaN", value: [Number.NaN], path: [0], expected: notFinite },
  { name: "Infinity", value: { a: [1, Infinity] }, path: ["a", 1], expected: notFinite },
  { name: "minus Infinity", value: -Infinity, path: [], expected: notFinite },
  { name: "a function", value: { run: () => 1 }, path: ["run"], expected: noJson },
  { name: "a bigint", value: [1n], path: [0], expected: noJson },
  { name: "a symbol", value: [Symbol("s")], path: [0], expected: noJson },
  { name: "a Date", value: { at: new Date(0) }, path: ["at"], expected: noJson },
  { name: "a Map", value: new Map(), path: [], expected: noJson },
  { name: "a typed array", value: new Uint8Array(1), path: [], expected: noJson },
  { name: "a boxed string", value: [Object("text")], path: [0], expected: noJson },
  { name: "a class instance", value: { point: new Point() }, path: ["point"], expected: noJson },
  { name: "a list with a hole", value: Object.assign([], { 1: "b" }), path: [0], expected: noJson },
  { name: "65 levels of lists", value: nestedLists(65), path: Array(64).fill(0), expected: tooDeep },
  { name: "65 levels of objects", value: nestedObjects(65), path: Array(64).fill("in"), expected: tooDeep },
  { name: "100,000 levels of lists", value: nestedLists(100_000), path: Array(64).fill(0), expected: tooDeep },
  { name: "100,000 levels of objects", value: nestedObjects(100_000), path: Array(64).fill("in"), expected: tooDeep },
  { name: "a list within itself", value: cyclic, path: Array(64).fill(0), expected: tooDeep },
  { name: "100,001 values side by side", value: Array(100_000).fill(1), path: [], expected: tooMany },
  { name: "100,001 values", value: [[Array(99_998).fill(1)]], path: [0, 0], expected: tooMany },
  { name: "a list of a billion holes", value: Object.assign([], { length: 1e9 }), path: [], expected: tooMany },
  {
    name: "100,001 values of an object",
    value: { in: Object.fromEntries(Array.from({ length: 99_999 }, (_, key) => [`k${key}`, 1])) },
    path: ["in"],
    expected: tooMany,
  },
  { name: "__proto__ at the top", value: JSON.parse(`{"__proto__":1}`), path: [], expected: noProto },
  { name: "__proto__ at depth", value: JSON.parse(`{"a":[0,{"__proto__":null}]}`), path: ["a", 1], expected: noProto },
]) {
  test(`${name} cannot be said in JSON`, () => {
    expect(readJson(value)).toEqual({ ok: false, problem: { path, expected } });
  });
}

testContract("a JSON value", JsonValueSchema, [
  { name: "that is null", value: null },
  { name: "that is a list", value: [1, "a", { b: [] }] },
  { name: "that is undefined", value: undefined, refusedAt: "" },
  { name: "with a bigint inside", value: { a: [1n] }, refusedAt: "/a/0" },
]);

testContract("a JSON object", JsonObjectSchema, [
  { name: "that is empty", value: {} },
  { name: "that is null", value: null, refusedAt: "" },
  { name: "that is a list", value: [], refusedAt: "" },
  { name: "that is a string", value: "{}", refusedAt: "" },
  { name: "with a bigint inside", value: { a: [1n] }, refusedAt: "/a/0" },
]);

test("whatever JSON can say, up to 64 levels and without __proto__, is read as it is", () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 63, depthSize: "medium" }),
    fc.json({ maxDepth: 63 }).map((text): unknown => JSON.parse(text)),
  );
  fc.assert(
    fc.property(value, (json) => {
      fc.pre(!JSON.stringify(json).includes(`"__proto__":`));
      expect(readJson(json)).toEqual({ ok: true, value: json });
    }),
  );
});
