import { expect, test } from "vitest";
import { columnText } from "./column-text.ts";

test("a text that both databases can keep stays as it is", () => {
  expect(columnText("call-1 ä 🙂")).toBe("call-1 ä 🙂");
});

for (const { name, text } of [
  { name: "a NUL", text: "a\0b" },
  { name: "half of a surrogate pair", text: "\ud800" },
]) {
  test(`a text with ${name} is kept as its hash`, () => {
    expect(columnText(text)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
}

test("two halves of surrogate pairs stay two", () => {
  expect(columnText("\ud800")).not.toBe(columnText("\ud801"));
});
