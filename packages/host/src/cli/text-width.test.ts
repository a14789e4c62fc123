import { describe, expect, test } from "vitest";
import { cutText, padText, splitText, textWidth } from "./text-width.ts";

describe("a text is as wide as it is shown", () => {
  for (const [name, text, width] of [
    ["nothing", "", 0],
    ["plain letters", "notes/todo.md", 13],
    ["letters with accents of their own", "crème", 5],
    ["letters with combining marks", "cre\u0300me\u0301\u0323", 5],
    ["marks that enclose", "a\u20dd", 1],
    ["Chinese", "读取文件", 8],
    ["Japanese", "よむヨム読む。", 14],
    ["half-width katakana", "ﾖﾑ", 2],
    ["full-width letters", "ＡＢ", 4],
    ["Korean syllables", "한국어", 6],
    ["Korean in its parts", "\u1112\u1161\u11ab", 2],
    ["an emoji", "a🙂b", 4],
    ["an emoji with a shade", "👍🏽", 2],
    ["a flag", "🇩🇪", 2],
    ["a sign that is text unless told otherwise", "❤", 1],
    ["Arabic and Greek", "قراءة Ωμέγα", 11],
    ["Thai with its vowels above", "กำที่", 3],
    ["characters beyond the basic plane", "𠀀𝒳", 3],
  ] as const) {
    test(name, () => expect(textWidth(text)).toBe(width));
  }
});

describe("a text that is too wide is cut", () => {
  for (const [name, text, columns, shown] of [
    ["not when it fits", "notes", 5, "notes"],
    ["with dots for what is missing", "notes/todo.md", 8, "notes..."],
    ["in front of a wide character that would stick out", "读取文件", 6, "读..."],
    ["behind the marks of a letter", "ae\u0301e\u0301e\u0301ee", 5, "ae\u0301..."],
    ["never inside of a flag", "🇩🇪🇫🇷🇮🇹", 5, "🇩🇪..."],
    ["to dots alone where there is no room", "notes", 3, "..."],
    ["to nothing where there is none", "notes", 0, ""],
  ] as const) {
    test(name, () => {
      expect(cutText(text, columns)).toBe(shown);
      expect(textWidth(cutText(text, columns))).toBeLessThanOrEqual(columns);
    });
  }
});

test("a text in parts is the whole text", () => {
  expect(splitText("0123456789", 4)).toEqual(["0123", "4567", "89"]);
  expect(splitText("读取文件", 5)).toEqual(["读取", "文件"]);
  expect(splitText("", 5)).toEqual([""]);
});

test("a text is filled up to the columns that it is shown in", () => {
  expect(padText("读取", 6)).toBe("读取  ");
  expect(padText("读取", 3)).toBe("读取");
});
