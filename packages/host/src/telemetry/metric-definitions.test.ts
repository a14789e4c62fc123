import { expect, test } from "vitest";
import { childrenOf } from "./metric-definitions.ts";

test("each combination of labels has one child, which is made once", () => {
  const made: string[] = [];
  const child = childrenOf((one, other) => ({ place: made.push(`${one} ${other}`) }));
  expect(child("a", "b")).toBe(child("a", "b"));
  expect(child("a", "c")).not.toBe(child("a", "b"));
  expect(child("b", "a")).not.toBe(child("a", "b"));
  expect(child("a")).toBe(child("a"));
  expect(made).toEqual(["a b", "a c", "b a", "a "]);
});
