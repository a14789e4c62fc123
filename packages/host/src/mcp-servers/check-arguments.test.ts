import type { JsonObject } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { checkArguments } from "./check-arguments.ts";

const schema = {
  type: "object",
  properties: {
    to: { type: "string" },
    count: { type: "integer" },
    size: { type: "number" },
    tags: { type: "array" },
    options: { type: "object" },
    urgent: { type: ["boolean", "null"] },
    note: { type: "string", nullable: true },
    any: {},
    odd: { type: "date" },
    wrong: 5,
    reference: { $ref: "#/$defs/x", type: "string" },
    page: { type: "integer", default: 1 },
  },
  required: ["to", "page"],
} as unknown as JsonObject;

describe("arguments are refused before the gate decides", () => {
  for (const row of [
    { name: "when one is missing", args: {}, why: "/to: expected a value" },
    { name: "when one is no text", args: { to: 5 }, why: "/to: expected string" },
    { name: "when one is null", args: { to: null }, why: "/to: expected string" },
    { name: "when one is no whole number", args: { to: "a", count: 1.5 }, why: "/count: expected integer" },
    { name: "when one is a number in a text", args: { to: "a", size: "5" }, why: "/size: expected number" },
    { name: "when one is no list", args: { to: "a", tags: "a" }, why: "/tags: expected array" },
    { name: "when one is a list", args: { to: "a", options: [] }, why: "/options: expected object" },
    {
      name: "when one is of none of its types",
      args: { to: "a", urgent: "no" },
      why: "/urgent: expected boolean or null",
    },
  ]) {
    test(row.name, () => {
      expect(() => checkArguments(schema, row.args as never)).toThrow(
        expect.objectContaining({ code: "invalid_tool_arguments", message: row.why }),
      );
    });
  }

  test("when the tool has no such argument, and says that it has no others", () => {
    const closed = { ...schema, additionalProperties: false };
    expect(() => checkArguments(closed, { to: "a", cc: "b" })).toThrow("/cc: the tool has no such argument");
    expect(() => checkArguments(closed, { to: "a", toString: "b" } as never)).toThrow("/toString: the tool has no");
    expect(() => checkArguments({ ...closed, patternProperties: {} }, { to: "a", cc: "b" })).not.toThrow();
    expect(() => checkArguments(schema, { to: "a", cc: "b" })).not.toThrow();
  });

  test("when what is required is only what every object has", () => {
    expect(() => checkArguments({ required: ["toString"] }, {})).toThrow("/toString: expected a value");
  });
});

describe("arguments are left to the server", () => {
  for (const row of [
    { name: "when they fit", args: { to: "a", count: 2, size: 0.5, tags: [], options: {}, urgent: null } },
    { name: "when a text may be null", args: { to: "a", note: null } },
    { name: "when nothing is said about one", args: { to: "a", any: [5] } },
    { name: "when its type is unknown", args: { to: "a", odd: 5 } },
    { name: "when its schema is none", args: { to: "a", wrong: {} } },
    { name: "when its schema is elsewhere", args: { to: "a", reference: 5 } },
  ]) {
    test(row.name, () => expect(() => checkArguments(schema, row.args as never)).not.toThrow());
  }

  for (const odd of [{}, { required: "to" }, { required: [5] }, { properties: [] }, { $ref: "#", required: ["to"] }]) {
    test(`when the schema is ${JSON.stringify(odd)}`, () => {
      expect(() => checkArguments(odd as never, { words: "a" })).not.toThrow();
    });
  }
});
