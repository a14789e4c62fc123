import type { ArgumentRule, JsonObject } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { misnamedArgument, placesOfCall } from "./places.ts";

describe("an optional argument that a tool does not declare is named, because nothing would be bound by it", () => {
  const schema: JsonObject = {
    properties: { to: { type: "string" }, event: { properties: { guests: { type: "array" } } } },
  };
  for (const row of [
    { name: "one with another name", rule: { paths: [["$to"], ["$cc?"]] }, misnamed: "cc" },
    { name: "a nested one with another name", rule: { path: ["$event.guest?"] }, misnamed: "event.guest" },
    { name: "but not one that it has", rule: { paths: [["$to?"], ["$event.guests?"]] }, misnamed: undefined },
    {
      name: "but not one that has to be there, without which calls are denied",
      rule: { path: ["$cc"] },
      misnamed: undefined,
    },
    { name: "but not without a rule", rule: undefined, misnamed: undefined },
  ] satisfies { name: string; rule: ArgumentRule | undefined; misnamed: string | undefined }[]) {
    test(row.name, () => expect(misnamedArgument(row.rule, schema)).toBe(row.misnamed));
  }
});

test("a call whose arguments a rule cannot bind is denied for them, and trying again does not help", () => {
  expect(placesOfCall({ path: ["$to"] })({ to: "bob" })).toEqual([["bob"]]);
  const error = { name: "ToolError", code: "invalid_tool_arguments", retryable: false } as Partial<Error>;
  const message = "to: this argument is missing; a rule of the host decides by it, so add it.";
  expect(() => placesOfCall({ path: ["$to"] })({})).toThrow(expect.objectContaining({ ...error, message }) as Error);
});
