import { describe, expect, test } from "vitest";
import { placeOf } from "./path-rule.ts";

const rule = { path: ["repos", "$org", "$repo"] };

test("steps come from the rule and from the arguments it names", () => {
  expect(placeOf(rule, { org: "acme", repo: "site", title: "ignored" })).toEqual(["repos", "acme", "site"]);
});

test("without a rule there is no place below the tool", () => {
  expect(placeOf(undefined, { org: "acme" })).toEqual([]);
});

describe("an argument that cannot be a step of a path is refused by its name", () => {
  const rows: { name: string; repo?: unknown }[] = [
    { name: "one that is missing" },
    { name: "a number", repo: 5 },
    { name: "null", repo: null },
    { name: "a list", repo: ["site"] },
    { name: "an empty text", repo: "" },
    { name: "a slash", repo: "site/secrets" },
    { name: "a backslash", repo: "site\\secrets" },
    { name: "one dot", repo: "." },
    { name: "two dots", repo: ".." },
    { name: "a line break", repo: "site\n" },
    { name: "a NUL", repo: "site\u0000" },
    { name: "257 characters", repo: "x".repeat(257) },
  ];
  for (const { name, ...args } of rows) {
    test(name, () => {
      expect(() => placeOf(rule, { org: "acme", ...args } as never)).toThrow(
        expect.objectContaining({
          code: "invalid_tool_arguments",
          message: "/repo: expected a text that can be one step of a path",
        }),
      );
    });
  }
});

for (const name of ["constructor", "toString", "__proto__"]) {
  test(`what every object has, such as ${name}, is no argument`, () => {
    expect(() => placeOf({ path: [`$${name}`] }, {})).toThrow(`/${name}: expected a text`);
  });
}
