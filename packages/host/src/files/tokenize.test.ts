import { expect, test } from "vitest";
import { isAskedFor, wordQuery, wordsOf } from "./tokenize.ts";

for (const row of [
  { name: "letters and digits", text: "Call Bob at 7, room B12!", words: ["call", "bob", "at", "7", "room", "b12"] },
  {
    name: "what syntax is made of",
    text: `"a" AND (b* OR c:d) -e 'f' & g:* \\`,
    words: ["a", "and", "b", "or", "c", "d", "e", "f", "g"],
  },
  { name: "paths", text: "notes/to_do.v2.md", words: ["notes", "to", "do", "v2", "md"] },
  { name: "other scripts", text: "हिन्दी 日本語 Größe", words: ["हिन्दी", "日本語", "größe"] },
  { name: "compatible forms", text: "ﬁle ＡＢ", words: ["file", "ab"] },
  { name: "nothing that is no word", text: "🙂 \u0000 \ud800 …", words: [] },
]) {
  test(`words are ${row.name}`, () => {
    expect(wordsOf(row.text)).toEqual(row.words);
  });
}

test("a long word is several, for a text and for a query alike", () => {
  expect(wordsOf("x".repeat(250))).toEqual(["x".repeat(100), "x".repeat(100), "x".repeat(50)]);
});

test("words end where the indexed part of a text ends, even if its characters unfold", () => {
  expect(wordsOf(`${" ".repeat(100_000)}late`)).toEqual([]);
  expect(wordsOf("\ufdfa".repeat(100_000)).join(" ").length).toBeLessThan(110_000);
});

test("a query is its words, and the beginning of the last one", () => {
  expect(wordQuery("Call call BOB")).toEqual({ words: ["call"], prefix: "bob" });
  expect(wordQuery("?!")).toBeUndefined();
});

for (const row of [
  { written: "Call", isAsked: true },
  { written: "calls", isAsked: false },
  { written: "Bobby", isAsked: true },
  { written: "bo", isAsked: false },
]) {
  test(`"call bob" asks ${row.isAsked ? "" : "not "}for ${row.written}`, () => {
    expect(isAskedFor(row.written, { words: ["call"], prefix: "bob" })).toBe(row.isAsked);
  });
}
