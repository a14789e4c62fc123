import { expect, test } from "vitest";
import { excerptOf, matchesQuery, parseQuery, tokenize } from "./tokenize.ts";

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
    expect(tokenize(row.text)).toEqual(row.words);
  });
}

test("a long word is several, for a text and for a query alike", () => {
  expect(tokenize("x".repeat(250))).toEqual(["x".repeat(100), "x".repeat(100), "x".repeat(50)]);
});

test("words end where the indexed part of a text ends, even if its characters unfold", () => {
  expect(tokenize(`${" ".repeat(100_000)}late`)).toEqual([]);
  expect(tokenize("\ufdfa".repeat(100_000)).join(" ").length).toBeLessThan(110_000);
});

test("a query is its words, and the beginning of the last one", () => {
  expect(parseQuery("Call call BOB")).toEqual({ words: ["call"], prefix: "bob" });
  expect(parseQuery("?!")).toBeUndefined();
});

for (const row of [
  { written: "Call", isAsked: true },
  { written: "calls", isAsked: false },
  { written: "Bobby", isAsked: true },
  { written: "bo", isAsked: false },
]) {
  test(`"call bob" asks ${row.isAsked ? "" : "not "}for ${row.written}`, () => {
    expect(matchesQuery(row.written, { words: ["call"], prefix: "bob" })).toBe(row.isAsked);
  });
}

const query = { words: ["gate"], prefix: "op" };

for (const row of [
  { name: "a short text", content: "The gate is open.\n", excerpt: "The gate is open." },
  { name: "white space", content: "\tThe\r\n\r\ngate  ", excerpt: "The gate" },
  { name: "a text without the words", content: "nothing", excerpt: "nothing" },
  { name: "no text", content: "", excerpt: "" },
  { name: "a word far away", content: `${"x".repeat(100)} GATE`, excerpt: `…${"x".repeat(59)} GATE` },
  { name: "a beginning of a word", content: `${"x".repeat(100)} operate`, excerpt: `…${"x".repeat(59)} operate` },
  { name: "a long text", content: "y".repeat(300), excerpt: `${"y".repeat(200)}…` },
  {
    name: "pairs at both ends",
    content: `${"🙂".repeat(60)}x gate${"🙂".repeat(100)}`,
    excerpt: `…${"🙂".repeat(29)}x gate${"🙂".repeat(68)}…`,
  },
]) {
  test(`an excerpt of ${row.name} shows the first word in one line`, () => {
    expect(excerptOf(row.content, query)).toBe(row.excerpt);
  });
}
