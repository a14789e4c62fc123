import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { columnText, withoutHiddenText } from "./text.ts";

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe("hidden text goes", () => {
  for (const row of [
    { name: "controls", codes: [...range(0, 8), 0xb, 0xc, 0xd, ...range(0xe, 0x1f), ...range(0x7f, 0x9f)] },
    { name: "a soft hyphen", codes: [0xad] },
    { name: "marks and overrides of direction", codes: [0x61c, 0x200e, 0x200f, ...range(0x202a, 0x202e)] },
    { name: "isolates of direction", codes: range(0x2066, 0x2069) },
    { name: "what has no width", codes: [0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff, 0x180e, 0x34f] },
    { name: "fillers", codes: [0x115f, 0x1160, 0x3164, 0xffa0, 0x17b4, 0x17b5] },
    { name: "variation selectors", codes: [...range(0xfe00, 0xfe0f), ...range(0xe0100, 0xe01ef)] },
    { name: "tags", codes: range(0xe0000, 0xe007f) },
    { name: "annotations", codes: range(0xfff9, 0xfffb) },
    { name: "halves of characters", codes: [0xd800, 0xdfff] },
  ]) {
    test(row.name, () => {
      for (const code of row.codes) {
        const found = String.fromCodePoint(code);
        expect(withoutHiddenText(`a${found}b${found}${found}c 7${found}`)).toBe("abc 7");
      }
    });
  }
});

describe("what is seen stays", () => {
  for (const row of [
    { name: "lines and tabs", text: "one\n\ttwo\r\nthree" },
    { name: "spaces of every width", text: "a b\u00a0c\u2003d\u3000e" },
    { name: "letters with marks", text: "crème e\u0301 \u0e01\u0e33" },
    { name: "other scripts", text: "读取 قراءة 読む Ωμέγα" },
    { name: "a Persian word with a non-joiner", text: "می\u200cخواهم" },
    { name: "a conjunct with a joiner", text: "ක්\u200dෂ" },
    { name: "emoji of several", text: "👩\u200d💻 👩🏽\u200d💻 🏳\ufe0f\u200d🌈 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3" },
    { name: "an Arabic number sign", text: "\u0600١" },
  ]) {
    test(row.name, () => expect(withoutHiddenText(row.text)).toBe(row.text));
  }
});

describe("a joiner or selector that joins nothing goes", () => {
  for (const row of [
    { name: "between Latin letters", text: "a\u200db\u200cc", shown: "abc" },
    { name: "behind an emoji", text: "👩\u200d", shown: "👩" },
    { name: "between an emoji and a word", text: "👩\u200dword", shown: "👩word" },
    { name: "beside another", text: "👩\u200d\u200d💻 ❤\ufe0f\ufe0e م\u200c\u200cخ", shown: "👩💻 ❤\ufe0f مخ" },
    { name: "in a crowd", text: `👩${"\u200d".repeat(9)}💻 ❤${"\ufe0f\ufe0e".repeat(9)}`, shown: "👩💻 ❤" },
    { name: "behind a digit", text: "1\ufe0f2", shown: "12" },
    { name: "a carriage return alone", text: "denied\rallowed", shown: "deniedallowed" },
  ]) {
    test(row.name, () => expect(withoutHiddenText(row.text)).toBe(row.shown));
  }
});

test("cleaning twice is cleaning once", () => {
  const letters = ["👩", "💻", "🏽", "م", "a", "1", "\u20e3", "\n"];
  const unit = fc.constantFrom(...letters, "\u200d", "\u200c", "\ufe0f", "\ufe0e", "\r", "\u200b", "\u{e0041}");
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const once = withoutHiddenText(text);
      expect(withoutHiddenText(once)).toBe(once);
    }),
  );
});

test("a text that both databases can store stays as it is", () => {
  expect(columnText("call-1 ä 🙂")).toBe("call-1 ä 🙂");
});

for (const { name, text } of [
  { name: "a NUL", text: "a\0b" },
  { name: "half of a surrogate pair", text: "\ud800" },
]) {
  test(`a text with ${name} is stored as its hash`, () => {
    expect(columnText(text)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
}

test("two halves of surrogate pairs stay two", () => {
  expect(columnText("\ud800")).not.toBe(columnText("\ud801"));
});
