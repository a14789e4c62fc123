import { expect, test } from "vitest";
import { differencesOf } from "./definition-differences.ts";

const before = {
  name: "send",
  description: "Sends a letter.",
  inputSchema: { type: "object", properties: { to: { type: "string" }, cc: {} }, required: ["to"] },
};

function compare(after: object): unknown[] {
  return differencesOf(JSON.stringify(before), JSON.stringify(after)).map(({ path, ...values }) => [
    path.join("/"),
    values,
  ]);
}

for (const row of [
  { name: "nothing, when nothing differs", after: before, differences: [] },
  {
    name: "words, with everything that is hidden in them",
    after: { ...before, description: "Sends a letter.\u200b" },
    differences: [["description", { before: "Sends a letter.", after: "Sends a letter.\u200b" }]],
  },
  {
    name: "what is new and what is gone in a schema, by its path",
    after: {
      ...before,
      inputSchema: { ...before.inputSchema, properties: { to: { type: "string" }, bcc: { type: "string" } } },
    },
    differences: [
      ["inputSchema/properties/bcc/type", { after: "string" }],
      ["inputSchema/properties/cc", { before: {} }],
    ],
  },
  {
    name: "a value that became of another kind",
    after: { ...before, inputSchema: { ...before.inputSchema, required: [1, null] } },
    differences: [
      ["inputSchema/required/0", { before: "to", after: 1 }],
      ["inputSchema/required/1", { after: null }],
    ],
  },
  {
    name: "a list that became an object of the same values",
    after: { ...before, inputSchema: { ...before.inputSchema, required: { 0: "to" } } },
    differences: [
      ["inputSchema/required/0", { after: "to" }],
      ["inputSchema/required/0", { before: "to" }],
    ],
  },
  {
    name: "annotations",
    after: { ...before, annotations: { readOnlyHint: true } },
    differences: [["annotations/readOnlyHint", { after: true }]],
  },
]) {
  test(`the difference is ${row.name}`, () => {
    expect(compare(row.after)).toEqual(row.differences);
  });
}

test("of a new tool everything is a difference, and a key of dots or slashes is one step", () => {
  expect(differencesOf(undefined, '{"name":"a","b/c.d":{"__proto__":1}}')).toEqual([
    { path: ["b/c.d", "__proto__"], after: 1 },
    { path: ["name"], after: "a" },
  ]);
});

test("of a definition with more places than a person reads the parts are compared as wholes", () => {
  let schema: object = Array(30_000).fill(1);
  for (let depth = 0; depth < 50; depth += 1) schema = { ["a".repeat(1200)]: schema };
  const after = { ...before, inputSchema: schema };
  expect(compare(after)).toEqual([["inputSchema", { before: before.inputSchema, after: schema }]]);
});
