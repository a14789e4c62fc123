import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createLineLimiter, type LineLimits } from "./line-limiter.ts";
import type { RateLimiterOptions } from "./rate-limiter.ts";

const tooLarge = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32099,"message":"The answer is too large."}}\n`;

const someLimits = { maxBytes: 40, maxNodes: 1000, maxDepth: 100, maxLinesPerSecond: 5 };

/** What comes out behind the gate when the chunks go in. */
async function through(
  chunks: readonly string[],
  { limits = {}, ...options }: RateLimiterOptions & { limits?: Partial<LineLimits> } = {},
): Promise<string> {
  const gate = createLineLimiter({ ...someLimits, ...limits }, options);
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
    {
      name: "that are too long and answer no request are dropped",
      chunks: [`${"x".repeat(900)}\nnext\n`],
      out: "next\n",
    },
  ]) {
    test(row.name, async () => expect(await through(row.chunks)).toBe(row.out));
  }

  for (const row of [
    { name: "has too many parts", limits: { maxNodes: 8 } },
    { name: "is too deep", limits: { maxDepth: 3 } },
  ]) {
    test(`of which one ${row.name} become the error of their call, however short they are`, async () => {
      const line = '{"jsonrpc":"2.0","id":7,"r":[[[0,0,0]]]}';
      expect(await through([`${line}\nnext\n`])).toBe(`${line}\nnext\n`);
      expect(await through([`${line}\nnext\n`], row)).toBe(`${tooLarge("7")}next\n`);
    });
  }

  const nine = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

  test("that come too fast are slowed down to so many a second, which is said once, and none is lost", async () => {
    let now = 100;
    const waits: number[] = [];
    const wait = (ms: number) => Promise.resolve((now += waits[waits.push(ms) - 1] ?? 0));
    let floods = 0;
    const clock = () => now;
    const onFlood = () => (floods += 1);
    expect(await through([nine, nine], { clock, wait, onFlood })).toBe(nine + nine);
    expect(waits).toEqual([1000, 1000, 1000]);
    expect(floods).toBe(1);
  });

  test("that come in their time are never slowed down", async () => {
    let now = 0;
    const clock = () => (now += 250);
    const wait = () => Promise.reject(new Error("waited"));
    expect(await through([nine], { clock, wait })).toBe(nine);
  });
});
