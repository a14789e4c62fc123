import { expect, test } from "vitest";
import { termsOf, termsText } from "./grant-words.ts";

test("terms say what is not limited too, and how many uses are left", () => {
  expect(termsOf({})).toEqual([
    ["Purposes", "any"],
    ["Begins", undefined],
    ["Ends", "never"],
    ["Uses", "not counted"],
    ["Passing on", "not allowed"],
  ]);
  const bounded = termsOf({ maxUses: 3, purposes: ["a", "b"], delegationDepth: 2 }, 1);
  expect(bounded.map(([, text]) => text)).toEqual(["a or b", undefined, "never", "1 of 3", "up to 2 times in a row"]);
});

test("terms in one line are the command's, by the operator's clock", () => {
  expect(termsText({ maxUses: 3, purposes: ["a"] })).toBe("for a, 3 uses");
  expect(termsText({ maxUses: 1, delegationDepth: 2 }, 1)).toBe("1 use, delegable 2, 1 used");
  expect(termsText({ expiresAt: "2026-02-01T00:00:00Z" })).toMatch(/^until .*2026/);
});
