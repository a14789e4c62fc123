import { expect, test } from "vitest";
import { listText } from "./words.ts";

test("a list has commas and one last word", () => {
  expect([listText([]), listText(["a"]), listText(["a", "b"]), listText(["a", "b", "c"], "or")]).toEqual([
    "",
    "a",
    "a and b",
    "a, b or c",
  ]);
});
