import { describe, expect, test } from "vitest";
import { createLineReader, type LineLimits } from "./line-reader.ts";

const tooLarge = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32099,"message":"The answer is too large."}}\n`;

const someLimits = { maxBytes: 40, maxNodes: 1000, maxDepth: 100 };

/** The lines that are read from the chunks, each with its end. */
function through(chunks: readonly string[], limits: Partial<LineLimits> = {}): string {
  const readLines = createLineReader({ ...someLimits, ...limits });
  return chunks
    .flatMap((chunk) => readLines(Buffer.from(chunk)))
    .map((line) => `${line.toString()}\n`)
    .join("");
}

describe("lines of a server", () => {
  for (const row of [
    { name: "pass as they are", chunks: ["one\ntwo\n"], out: "one\ntwo\n" },
    { name: "pass in pieces", chunks: ["o", "ne\ntw", "o\n"], out: "one\ntwo\n" },
    { name: "that never end do not pass", chunks: ["one\n", "tw"], out: "one\n" },
    { name: "of exactly the limit pass", chunks: [`${"x".repeat(40)}\n`], out: `${"x".repeat(40)}\n` },
    {
      name: "that are too long become the error of their call",
      chunks: [`{"jsonrpc":"2.0","id":7,"result":"${"x".repeat(50)}"}\nnext\n`],
      out: `${tooLarge("7")}next\n`,
    },
    {
      name: "that are too long in pieces, for an id that is a text, too",
      chunks: ['{"id":"a\\"b",', "x".repeat(30), "x".repeat(30), "}\nnext\n"],
      out: `${tooLarge('"a\\"b"')}next\n`,
    },
    {
      name: "that are too long and say at their end whom they are for, too",
      chunks: [`{"result":{"text":"${"x".repeat(5000)}","id":3},"jsonrpc":"2.0","id":9}\nnext\n`],
      out: `${tooLarge("9")}next\n`,
    },
    {
      name: "that are too long and name an id only inside are dropped",
      chunks: [`{"result":{"id":3,"text":"${"x".repeat(5000)}"}}\nnext\n`],
      out: "next\n",
    },
    {
      name: "that are too long and answer no request are dropped",
      chunks: [`${"x".repeat(900)}\nnext\n`],
      out: "next\n",
    },
  ]) {
    test(row.name, () => expect(through(row.chunks)).toBe(row.out));
  }

  for (const row of [
    { name: "has too many parts", limits: { maxNodes: 8 } },
    { name: "is too deep", limits: { maxDepth: 3 } },
  ]) {
    test(`of which one ${row.name} become the error of their call, however short they are`, () => {
      const line = '{"jsonrpc":"2.0","id":7,"r":[[[0,0,0]]]}';
      expect(through([`${line}\nnext\n`])).toBe(`${line}\nnext\n`);
      expect(through([`${line}\nnext\n`], row.limits)).toBe(`${tooLarge("7")}next\n`);
    });
  }
});
