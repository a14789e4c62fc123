import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { logStandardError, type StandardErrorLine } from "./standard-error.ts";

/** What the log has of these chunks, which come at these times. */
async function saidOf(
  chunks: readonly (string | Buffer)[],
  secrets: string[] = [],
  times: number[] = [],
): Promise<StandardErrorLine[]> {
  const stream = new PassThrough();
  const said: StandardErrorLine[] = [];
  let now = 0;
  logStandardError(stream, { write: (one) => said.push(one), secrets, clock: () => now });
  for (const [index, chunk] of chunks.entries()) {
    now = times[index] ?? now;
    stream.write(chunk);
    await new Promise(setImmediate);
  }
  stream.end();
  await once(stream, "end");
  return said;
}

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `${index}\n`).join("");

describe("the log has of a server's standard error", () => {
  for (const row of [
    { name: "each line", chunks: ["one\ntw", "o\n"], said: ["one", "two"] },
    { name: "a last line without an end", chunks: ["one\ntwo"], said: ["one", "two"] },
    { name: "no empty lines", chunks: ["\n\r\n  \none\n"], said: ["one"] },
    { name: "nothing hidden", chunks: ["a\u001b[31m\u202eb\u200bc\u0000\r\n"], said: ["a[31mbc"] },
    {
      name: "the beginning of a long line",
      chunks: ["x".repeat(5000), "x".repeat(5000), "\nnext\n"],
      said: ["x".repeat(1000), "next"],
    },
    { name: "something of what is no text", chunks: [Buffer.from([0xff, 0xfe, 0x0a])], said: ["\ufffd\ufffd"] },
  ]) {
    test(row.name, async () => expect(await saidOf(row.chunks)).toEqual(row.said.map((line) => ({ line }))));
  }

  test("no value of its variables, and no token", async () => {
    const token = `tp_${"a".repeat(16)}_${"b".repeat(64)}`;
    expect(await saidOf([`key=hidden-key, ${token}\n`, "short: abc\n"], ["hidden-key", "abc"])).toEqual([
      { line: "key=***, tp_***" },
      { line: "short: abc" },
    ]);
  });

  const pem = `-----BEGIN KEY-----\nMIIEvQIBADANBg\r\n  kqhkiG9w0BAQEF\n-----END KEY-----\n`;
  for (const row of [
    {
      name: "of a value that has another in it",
      secrets: ["postgres", "postgres://postgres:hunter2@db/x"],
      text: "cannot reach postgres://postgres:hunter2@db/x",
      said: ["cannot reach ***"],
    },
    {
      name: "of a value of several lines",
      secrets: [pem],
      text: `key:\n${pem}`,
      said: ["key:", "***", "***", "***", "***"],
    },
    {
      name: "of a value of several lines, in one",
      secrets: [pem],
      text: JSON.stringify({ key: pem }),
      said: [String.raw`{"key":"***\n***\r\n  ***\n***\n"}`],
    },
    {
      name: "of a value with an end of line",
      secrets: ["hunter2\n"],
      text: "is hunter2 wrong?",
      said: ["is *** wrong?"],
    },
    {
      name: "of a value with something hidden in the line",
      secrets: ["hunter2"],
      text: "hun\u200bter2",
      said: ["***"],
    },
    { name: "of a value with something hidden in it", secrets: ["hun\u200bter2"], text: "hunter2", said: ["***"] },
    { name: "of a value longer than a line", secrets: ["x".repeat(9000)], text: `${"x".repeat(9000)}.`, said: ["***"] },
    {
      name: "of a value where a line is cut",
      secrets: ["hunter2-".repeat(10)],
      text: "hunter2-".repeat(1000),
      said: ["***"],
    },
  ]) {
    test(`nothing ${row.name}`, async () => {
      expect(await saidOf([row.text], row.secrets)).toEqual(row.said.map((line) => ({ line })));
    });
  }

  test("ten lines a second, and how many there were beside them", async () => {
    const said = await saidOf([lines(25), "next\n"], [], [0, 1000]);
    expect(said).toHaveLength(11);
    expect(said.at(-2)).toEqual({ line: "9" });
    expect(said.at(-1)).toEqual({ line: "next", leftOut: 15 });
  });

  test("how many lines were left out at its end", async () => {
    expect((await saidOf([lines(25)])).at(-1)).toEqual({ leftOut: 15 });
  });

  test("a flood only as fast as it may be read: what is more waits in the pipe", async () => {
    const stream = new PassThrough();
    logStandardError(stream, { write: () => {}, secrets: [], clock: () => 0 });
    stream.write(Buffer.alloc(1_048_575));
    await new Promise(setImmediate);
    expect(stream.isPaused()).toBe(false);
    stream.write(Buffer.alloc(1));
    await new Promise(setImmediate);
    expect(stream.isPaused()).toBe(true);
    stream.destroy();
  });
});
