import { expect, test } from "vitest";
import { showDifference } from "./difference.ts";

test("of a long text only the lines that differ are shown, and the others are counted", () => {
  const shown = showDifference({ path: ["description"], before: "a\nb\nc\nd", after: "a\nB\nBB\nc\nd" });
  expect(shown).toEqual({ place: "description", before: ["b"], after: ["B", "BB"], sameAbove: 1, sameBelow: 2 });
});

test("a line that is only taken away leaves nothing on the other side", () => {
  expect(showDifference({ path: ["x"], before: "a\na\nb", after: "a\nb" })).toMatchObject({
    before: ["a"],
    after: [],
    sameAbove: 1,
    sameBelow: 1,
  });
});

test("what was not there has no side before, what is gone none after", () => {
  expect(showDifference({ path: ["x"], after: { a: 1 } })).toMatchObject({
    before: undefined,
    after: ["{", '  "a": 1', "}"],
  });
  expect(showDifference({ path: ["x"], before: true })).toMatchObject({ before: ["true"], after: undefined });
});

for (const [name, value, shown] of [
  ["a text that reads like a truth", "true", '"true"'],
  ["a text that reads like a number", "12", '"12"'],
  ["a text that reads like JSON", "{}", '"{}"'],
  ["an empty text", "", '""'],
  ["a text with a space at its end", "a ", '"a "'],
  ["a text of white space", " ", '" "'],
  ["an ordinary text", "A picture.", "A picture."],
  ["nothing", null, "null"],
] as const) {
  test(`${name} cannot be taken for another value`, () => {
    expect(showDifference({ path: ["x"], after: value }).after).toEqual([shown]);
  });
}

test("a change from a number to the text of it is seen", () => {
  expect(showDifference({ path: ["x"], before: 1, after: "1" })).toMatchObject({ before: ["1"], after: ['"1"'] });
});

test("a text of several lines stays one, also when it ends with a line", () => {
  expect(showDifference({ path: ["x"], before: "a\nb\n", after: "a\nc\n" })).toMatchObject({
    before: ["b"],
    after: ["c"],
    sameAbove: 1,
    sameBelow: 1,
  });
  expect(showDifference({ path: ["x"], after: '{\n  "a": 1\n}' }).after).toEqual([String.raw`"{\n  \"a\": 1\n}"`]);
});
