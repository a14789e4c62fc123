import { expect, test } from "vitest";
import { excerptOf } from "./excerpt.ts";

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
