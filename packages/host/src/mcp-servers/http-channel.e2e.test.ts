import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../test/host-calls.ts";
import type { ExchangeLimits } from "./http-answer.ts";
import { openHttpChannel } from "./http-channel.ts";

interface Exchange {
  message: { id?: number; method: string };
  outgoing: ServerResponse;
}

const progress = (words: string): object => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 1, message: words },
});
const answer = (result: object): object => ({ jsonrpc: "2.0", id: 1, result });
const event = (message: object): string => `event: message\nid: 7\ndata: ${JSON.stringify(message)}\n\n`;
const failure = (code: number, message: string): object => ({ jsonrpc: "2.0", id: 1, error: { code, message } });
const tooLarge = failure(-32_099, "The answer is too large.");
const brokenOff = failure(-32_098, "The answer broke off.");

/** A channel to a server that starts a stream for each request, and says in it what a test writes. */
async function channelTo(limits: Partial<ExchangeLimits> = {}) {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Exchange["message"];
    if (message.id === undefined) outgoing.writeHead(202).end();
    else outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders();
    exchanges.push({ message, outgoing });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}/mcp`;
  const { transport, close } = openHttpChannel(
    { url, headers: {} },
    { maxBytes: 10_000, timeoutMs: 600_000, json: { maxNodes: 100, maxDepth: 10 }, ...limits },
  );
  onTestFinished(async () => {
    await close();
    server.closeAllConnections();
    server.close();
  });
  const heard: JSONRPCMessage[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message) => void heard.push(message);
  await transport.start();
  return { transport, heard, close, exchanges };
}

async function ask(transport: Transport, exchanges: readonly Exchange[], id = 1): Promise<ServerResponse> {
  await transport.send({ jsonrpc: "2.0", id, method: "tools/call", params: {} });
  return (exchanges.find(({ message }) => message.id === id) as Exchange).outgoing;
}

/** Asks, and hears what is said until the stream has ended, which is the last that is heard. */
async function hears(
  limits: Partial<ExchangeLimits>,
  say: (outgoing: ServerResponse) => void,
): Promise<JSONRPCMessage[]> {
  const { transport, heard, exchanges } = await channelTo(limits);
  const outgoing = await ask(transport, exchanges);
  const closed = once(outgoing, "close");
  say(outgoing);
  await eventually(() => expect(heard).toContainEqual(brokenOff));
  await closed;
  return heard;
}

test("each message of a stream is there as soon as it was said", async () => {
  const { transport, heard, exchanges } = await channelTo();
  const outgoing = await ask(transport, exchanges);
  for (const words of ["one", "two"]) {
    outgoing.write(event(progress(words)));
    await eventually(() => expect(heard.at(-1)).toEqual(progress(words)));
  }
  outgoing.end(event(answer({ words: "é\u2028" })));
  await eventually(() => expect(heard).toContainEqual(answer({ words: "é\u2028" })));
});

test("a message in several lines is one message", async () => {
  const heard = await hears({}, (outgoing) => outgoing.end('data: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n'));
  expect(heard).toContainEqual(answer({}));
});

describe("a stream is ended with an error for its request", () => {
  for (const row of [
    { name: "when a message is too large", stream: event(answer({ words: "x".repeat(10_000) })) },
    { name: "when a message never ends", stream: `data: ${"x".repeat(10_001)}` },
    { name: "when a message has too many parts", stream: event(answer({ parts: Array<number>(100).fill(0) })) },
    { name: "when a message closes in comments what it opens", stream: "data: [[[[[[\n: ]]]]]]\ndata: [[[[[[\n\n" },
    { name: "when a message comes behind one that closes too much", stream: "data: ]]]]]]\n\ndata: [[[[[[[[[[[\n\n" },
    { name: "when a message is too deep", stream: event(answer({ deep: [[[[[[[[[[]]]]]]]]]] })) },
  ]) {
    test(row.name, async () => {
      expect(await hears({}, (outgoing) => outgoing.write(row.stream))).toEqual([tooLarge, brokenOff]);
    });
  }

  test("when it has too much before the answer", async () => {
    const said = progress("x".repeat(5000));
    const heard = await hears({}, (outgoing) => outgoing.write(event(said).repeat(10)));
    expect(heard).toEqual([...Array<object>(heard.length - 2).fill(said), tooLarge, brokenOff]);
    expect(heard.length).toBeLessThan(10);
  });

  test("when the server ends it without an answer", async () => {
    const heard = await hears({}, (outgoing) => outgoing.end(event(progress("one"))));
    expect(heard).toEqual([progress("one"), brokenOff]);
  });

  test("when the server breaks it off", async () => {
    const heard = await hears({}, (outgoing) => outgoing.write(event(progress("one")), () => outgoing.destroy()));
    expect(heard).toContainEqual(brokenOff);
  });

  test("when its time is over, however much is said in it", async () => {
    const heard = await hears({ timeoutMs: 500 }, (outgoing) => {
      const saying = setInterval(() => outgoing.write(event(progress("one"))), 50);
      outgoing.once("close", () => clearInterval(saying));
    });
    expect(heard).toContainEqual(brokenOff);
  });
});

test("messages that come too fast are slowed down, which is said once, and none is lost", async () => {
  let floods = 0;
  const maxBytes = 100_000;
  const flood = event(progress("")).repeat(1100);
  // However slow the machine is, they all come in one second.
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  const before = Date.now();
  const heard = await hears({ maxBytes, onFlood: () => (floods += 1) }, (outgoing) =>
    outgoing.end(flood + event(answer({}))),
  );
  expect(heard).toHaveLength(1102);
  expect(floods).toBe(1);
  expect(Date.now() - before).toBeGreaterThan(900);
});

test("a request that is cancelled closes its own stream when the server knows, and no other", async () => {
  const { transport, heard, exchanges } = await channelTo();
  const [mine, theirs] = [await ask(transport, exchanges, 1), await ask(transport, exchanges, 2)];
  const closed = once(mine, "close");
  await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  expect(exchanges.at(-1)?.message.method).toBe("notifications/cancelled");
  await closed;
  theirs.end(event({ jsonrpc: "2.0", id: 2, result: {} }));
  await eventually(() => expect(heard).toContainEqual({ jsonrpc: "2.0", id: 2, result: {} }));
});

test("an answer to the server does not take the place of a request with the same id", async () => {
  const { transport, heard, exchanges } = await channelTo();
  const outgoing = await ask(transport, exchanges, 1);
  const closed = once(outgoing, "close");
  transport.send({ jsonrpc: "2.0", id: 1, result: {} }).catch(() => {});
  await eventually(() => expect(exchanges).toHaveLength(2));
  await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  await closed;
  expect(heard).toEqual([brokenOff]);
});

test("a channel that is closed closes its streams, and no listener is told that they broke off", async () => {
  const { transport, heard, exchanges, close } = await channelTo();
  const closed = once(await ask(transport, exchanges), "close");
  await close();
  await closed;
  expect(heard).toEqual([]);
});

test("a listener for the end of a stream is told of it, and nothing is answered in the server's place", async () => {
  const { transport, heard, exchanges } = await channelTo();
  const ended = new Promise<void>((resolve) => {
    void transport.send({ jsonrpc: "2.0", id: 1, method: "ping" }, { onRequestStreamEnd: resolve });
  });
  await eventually(() => expect(exchanges).toHaveLength(1));
  exchanges[0]?.outgoing.end();
  await ended;
  expect(heard).toEqual([]);
});
