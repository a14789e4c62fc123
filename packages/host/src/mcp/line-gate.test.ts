import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createLineGate } from "./line-gate.ts";

const tooLarge = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32099,"message":"The answer is too large."}}\n`;

/** What comes out behind the gate when the chunks go in. */
async function through(chunks: readonly string[], limits = {}, clock = () => 0): Promise<string> {
  const gate = createLineGate({ maxBytes: 40, maxLinesPerSecond: 5, ...limits }, clock);
  let out = "";
  gate.on("data", (data: Buffer) => (out += data.toString()));
  const ended = once(gate, "end");
  for (const chunk of chunks) gate.write(chunk);
  gate.end();
  await ended;
  return out;
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
    { name: "that are too long and for nobody are dropped", chunks: [`${"x".repeat(900)}\nnext\n`], out: "next\n" },
  ]) {
    test(row.name, async () => expect(await through(row.chunks)).toBe(row.out));
  }

  test("that come too fast end the stream, and what follows is not read", async () => {
    expect(await through(["1\n2\n3\n4\n5\n6\n7\n8\n", "9\n"])).toBe("1\n2\n3\n4\n5\n6\n");
  });

  test("that come in their time never end it", async () => {
    let now = 0;
    const clock = () => (now += 250);
    expect(await through(["1\n2\n3\n4\n5\n6\n7\n8\n9\n"], {}, clock)).toBe("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  });
});
