import { expect, test } from "vitest";
import { argumentsOf, fieldsOf, readArguments } from "./argument-form.ts";

const schema = {
  type: "object",
  properties: {
    path: { type: "string", maxLength: 200, description: "Where" },
    content: { type: "string" },
    limit: { type: "integer", default: 10 },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    order: { enum: ["name", 2, null] },
    tags: { type: "array", items: { type: "string" } },
    any: true,
  },
  required: ["path"],
};
const fields = fieldsOf(schema) ?? [];
const typed = (values: Record<string, string>) => new Map(Object.entries({ path: "notes", ...values }));

test("each argument has a field of its kind, and what has none is JSON", () => {
  expect(fields.map(({ name, kind, isRequired, initial }) => [name, kind, isRequired, initial])).toEqual([
    ["path", "text", true, ""],
    ["content", "lines", false, ""],
    ["limit", "integer", false, "10"],
    ["ratio", "number", false, ""],
    ["deep", "boolean", false, ""],
    ["order", "choice", false, ""],
    ["tags", "json", false, ""],
    ["any", "json", false, ""],
  ]);
});

for (const [name, shape] of Object.entries({
  "no object": { type: "array" },
  "no properties": { type: "object" },
  "a choice of shapes": { type: "object", properties: {}, oneOf: [{}] },
  "a reference": { type: "object", properties: {}, $ref: "#/$defs/x" },
})) {
  test(`${name} is asked for as JSON`, () => expect(fieldsOf(shape)).toBeUndefined());
}

for (const { name, values, told } of [
  { name: "texts stay texts, even those that look like numbers", values: { path: "12" }, told: { path: "12" } },
  {
    name: "numbers become numbers",
    values: { limit: "3", ratio: "-1.5e2" },
    told: { path: "notes", limit: 3, ratio: -150 },
  },
  { name: "false is a value", values: { deep: "false" }, told: { path: "notes", deep: false } },
  { name: "a choice has its type", values: { order: "2" }, told: { path: "notes", order: 2 } },
  {
    name: "numbers that stay what they are, and digits in texts, are sent",
    values: { ratio: "1e21", any: '["12345678901234567890","\\"1e-400",0e5,-0.0]' },
    told: { path: "notes", ratio: 1e21, any: ["12345678901234567890", '"1e-400', 0, -0] },
  },
  { name: "JSON is read", values: { tags: '["a"]' }, told: { path: "notes", tags: ["a"] } },
  { name: "an empty field is left out", values: { content: "" }, told: { path: "notes" } },
]) {
  test(name, () => expect(argumentsOf(fields, typed(values))).toEqual({ arguments: told }));
}

for (const { name, values, at } of [
  { name: "a text in a field for numbers", values: { limit: "many" }, at: "limit" },
  { name: "a fraction where a whole number is asked for", values: { limit: "1.5" }, at: "limit" },
  { name: "infinity", values: { ratio: "Infinity" }, at: "ratio" },
  { name: "a whole number that would be rounded", values: { limit: "9007199254740993" }, at: "limit" },
  { name: "a number that would become 0", values: { ratio: "1e-400" }, at: "ratio" },
  { name: "a number in JSON that would be rounded", values: { tags: '["1", 9007199254740993]' }, at: "tags" },
  { name: "a number in JSON that would become 0", values: { any: '{"a":-1e-999}' }, at: "any" },
  { name: "broken JSON", values: { tags: "[" }, at: "tags" },
  { name: "nothing where something is needed", values: { path: "" }, at: "path" },
]) {
  test(`${name} is said at its field`, () => {
    const read = argumentsOf(fields, typed(values));
    expect("problems" in read && [...read.problems.keys()]).toEqual([at]);
  });
}

test("an argument may be called like something that every object has", () => {
  const hostile = fieldsOf(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"boolean"}}}')) ?? [];
  const read = argumentsOf(hostile, new Map([["__proto__", "true"]]));
  expect(JSON.stringify(read)).toBe('{"arguments":{"__proto__":true}}');
});

test("arguments as JSON are an object, and nothing is an empty one", () => {
  expect(readArguments('{"a":1}')).toEqual({ arguments: { a: 1 } });
  expect(readArguments(" ")).toEqual({ arguments: {} });
  expect(readArguments("[1]")).toHaveProperty("problem");
  expect(readArguments("{")).toHaveProperty("problem");
});
