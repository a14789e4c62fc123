import { expect, test } from "vitest";
import { visibleParts, visibleText } from "./visible-text.ts";

for (const { name, text, shown } of [
  { name: "a direction override", text: "pay\u202Eevil", shown: "pay<U+202E>evil" },
  { name: "an isolate", text: "\u2066x\u2069", shown: "<U+2066>x<U+2069>" },
  { name: "a zero-width space", text: "a\u200Bb", shown: "a<U+200B>b" },
  { name: "an escape and a line feed", text: "\u001B[2J\n", shown: "<U+001B>[2J<U+000A>" },
  { name: "a format character that some programs show", text: "a\u0600", shown: "a<U+0600>" },
  { name: "a tag character", text: "a\u{E0041}", shown: "a<U+E0041>" },
  { name: "half of a character", text: "a\uD800", shown: "a<U+D800>" },
  { name: "a variation selector", text: "a\uFE0F", shown: "a<U+FE0F>" },
  { name: "ordinary text of any script", text: "Grüße 漢字 שלום", shown: "Grüße 漢字 שלום" },
]) {
  test(`${name} is shown for what it is`, () => expect(visibleText(text)).toBe(shown));
}

test("what was hidden can be told from text that only looks like it", () => {
  expect(visibleParts("<U+202E>\u202Ex")).toEqual([
    { text: "<U+202E>", isHidden: false },
    { text: "<U+202E>", isHidden: true },
    { text: "x", isHidden: false },
  ]);
  expect(visibleParts("")).toEqual([]);
});
