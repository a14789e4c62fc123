import { once } from "node:events";
import { createServer } from "node:http";
import { ProtocolError } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { withExactNumbers } from "./exact-numbers.ts";
import { openHttpChannel } from "./http-channel.ts";
import { createLineReader } from "./line-reader.ts";
import { toToolError } from "./server-answer.ts";

const tooLong = "expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string";
const changed = '{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"id":9007199254740993}}}';
const refused = { jsonrpc: "2.0", id: 7, error: { code: -32_097, message: `/structuredContent/id: ${tooLong}` } };

describe("a message of a server", () => {
  for (const row of [
    { name: "with ordinary numbers", text: '{"jsonrpc":"2.0","id":1,"result":{"content":[],"a":[1,-0.5,1e21]}}' },
    { name: "with a long number in a text", text: '{"id":1,"result":{"content":[{"text":"12345678901234567890"}]}}' },
    {
      name: "that lists tools with bounds of 64 bits",
      text: '{"id":1,"result":{"tools":[{"maximum":18446744073709551615}]}}',
    },
    {
      name: "that lists resources with large sizes",
      text: '{"id":1,"result":{"resources":[{"size":18446744073709551615}]}}',
    },
    { name: "about progress", text: '{"method":"notifications/progress","params":{"total":18446744073709551615}}' },
    { name: "that is no JSON", text: '{"id":1,"result":{"a":18446744073709551615' },
    { name: "for no request", text: '{"result":{"a":18446744073709551615}}' },
  ]) {
    test(`${row.name} passes as it is`, () => {
      expect(withExactNumbers(Buffer.from(row.text)).toString()).toBe(row.text);
    });
  }

  for (const row of [
    { number: "9007199254740993", says: tooLong },
    { number: "1e-400", says: "expected a number that is not rounded to 0; send it as a string" },
    { number: "1e999", says: "expected a finite number" },
  ]) {
    test(`whose result has ${row.number} becomes the error of its request`, () => {
      const text = `{"jsonrpc":"2.0","id":"a","result":{"content":[{"n":${row.number}}]}}`;
      expect(JSON.parse(withExactNumbers(Buffer.from(text)).toString())).toEqual({
        jsonrpc: "2.0",
        id: "a",
        error: { code: -32_097, message: `/content/0/n: ${row.says}` },
      });
    });
  }
});

test("a program's line with a changed number becomes the error of its request", () => {
  const readLines = createLineReader({ maxBytes: 1000, maxNodes: 1000, maxDepth: 100 });
  expect(readLines(Buffer.from(`${changed}\n`)).map((line) => JSON.parse(line.toString()) as unknown)).toEqual([
    refused,
  ]);
});

for (const row of [
  { name: "answer", type: "application/json", body: changed },
  { name: "event", type: "text/event-stream", body: `data: ${changed}\n\n` },
]) {
  test(`a remote server's ${row.name} with a changed number becomes the error of its request`, async () => {
    const server = createServer((_, outgoing) => outgoing.writeHead(200, { "content-type": row.type }).end(row.body));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { transport, close } = openHttpChannel(
      { url: `http://127.0.0.1:${port}/mcp`, headers: {} },
      { maxBytes: 1000, timeoutMs: 60_000 },
    );
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
    const heard = new Promise((resolve) => (transport.onmessage = resolve));
    await transport.start();
    await transport.send({ jsonrpc: "2.0", id: 7, method: "tools/call" });
    expect(await heard).toEqual(refused);
    await close();
  });
}

test("the caller learns that the result is invalid, where, and that something may have happened", () => {
  expect(() => toToolError(new ProtocolError(-32_097, refused.error.message))).toThrow(
    expect.objectContaining({
      code: "invalid_tool_result",
      message: `The MCP server answered with a number that cannot be handed on as it is; the call may have had an effect. /structuredContent/id: ${tooLong}`,
      retryable: false,
    }),
  );
});
