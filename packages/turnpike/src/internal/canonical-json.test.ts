import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";

test("objects that differ in the order of their keys have one text", () => {
  expect(canonicalJson({ b: [{ y: 1, x: 2 }], a: null })).toBe('{"a":null,"b":[{"x":2,"y":1}]}');
});

test("the order of a list stays", () => {
  expect(canonicalJson([2, 1])).toBe("[2,1]");
});

test("absent and undefined keys are the same, as they are on the wire", () => {
  expect(canonicalJson({ a: undefined })).toBe("{}");
});
