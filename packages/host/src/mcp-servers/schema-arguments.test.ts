import type { JsonObject } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { argumentsOf } from "./schema-arguments.ts";

function names(schema: JsonObject): string[] {
  return argumentsOf(schema).map(({ keys, isRequired }) => `${keys.join(".")}${isRequired ? "" : "?"}`);
}

const text = { type: "string" };

describe("the arguments of a schema are", () => {
  for (const row of [
    { name: "none of one that declares none", schema: { type: "object" }, are: [] },
    {
      name: "its properties, with whether they have to be there",
      schema: { type: "object", properties: { to: text, cc: text }, required: ["to"] },
      are: ["to", "cc?"],
    },
    {
      name: "nested ones, which have to be there when what is around them has to",
      schema: {
        properties: {
          event: { properties: { who: text, note: text }, required: ["who"] },
          place: { properties: { room: text }, required: ["room"] },
        },
        required: ["event"],
      },
      are: ["event", "event.who", "event.note?", "place?", "place.room?"],
    },
    {
      name: "those of the objects of a list",
      schema: {
        properties: { items: { type: "array", items: { properties: { sku: text }, required: ["sku"] } } },
        required: ["items"],
      },
      are: ["items", "items.sku"],
    },
    {
      name: "those behind references of its own",
      schema: {
        properties: { event: { $ref: "#/$defs/a~1b" } },
        required: ["event"],
        $defs: { "a/b": { properties: { who: text }, required: ["who"] } },
      },
      are: ["event", "event.who"],
    },
    {
      name: "those of every alternative",
      schema: {
        properties: {
          to: {
            anyOf: [
              { properties: { user: text }, required: ["user"] },
              { properties: { group: text, user: text } },
              { type: "null" },
            ],
          },
        },
        required: ["to"],
      },
      are: ["to", "to.user?", "to.group?"],
    },
    {
      name: "those of all its parts",
      schema: { allOf: [{ properties: { a: text }, required: ["a"] }, { oneOf: [{ properties: { b: text } }] }] },
      are: ["a?", "b?"],
    },
    {
      name: "nothing behind a reference to elsewhere",
      schema: {
        properties: { a: { $ref: "https://x.org/s" }, b: { $ref: "#/nowhere" }, c: { $ref: "#/constructor/name" } },
      },
      are: ["a?", "b?", "c?"],
    },
    {
      name: "nothing of what is no schema",
      schema: { properties: { a: true, b: null, c: ["x"], d: { properties: [] } }, required: "a" },
      are: ["a?", "b?", "c?", "d?"],
    },
  ] satisfies { name: string; schema: JsonObject; are: string[] }[]) {
    test(row.name, () => expect(names(row.schema)).toEqual(row.are));
  }

  test("those of a schema that refers to itself, a few levels deep", () => {
    const found = names({
      $defs: { node: { properties: { next: { $ref: "#/$defs/node" } } } },
      properties: { root: { $ref: "#/$defs/node" } },
    });
    expect(found).toHaveLength(8);
  });

  test("a thousand of a schema that has more", () => {
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_one, place) => [`a${place}`, text]));
    expect(names({ properties: many })).toHaveLength(1024);
  });
});
