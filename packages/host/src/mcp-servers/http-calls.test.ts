import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../test/host-calls.ts";
import type { HeaderSecrets } from "./header-secrets.ts";
import { openHttpChannel } from "./http-channel.ts";

type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().once("end", () => answer(incoming, outgoing));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** A channel, and what was heard over it. */
async function channelTo(
  url: string,
  { secrets, timeoutMs = 60_000 }: { secrets?: HeaderSecrets; timeoutMs?: number } = {},
) {
  const headers = { "X-Own": "1", authorization: "Bearer own" };
  const limits = { maxBytes: 1000, timeoutMs };
  const { transport, close } = openHttpChannel({ url: `${url}/mcp`, headers, secrets }, limits);
  onTestFinished(close);
  const heard: JSONRPCMessage[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message) => void heard.push(message);
  await transport.start();
  return { transport, heard, close };
}

const call = (id: number, meta?: Record<string, unknown>) =>
  ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "read", ...(meta && { _meta: meta }) } }) as const;
const newer = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const result = (id: number) => ({ jsonrpc: "2.0", id, result: {} }) as const;
const json = { "content-type": "application/json" };
const say = (outgoing: ServerResponse, message: object): void =>
  void outgoing.writeHead(200, json).end(JSON.stringify(message));

describe("a call of a tool", () => {
  test("has the headers of its server and of its revision, and none of them from a tool's arguments", async () => {
    const seen: unknown[] = [];
    const url = await serve(({ headers }, outgoing) => {
      const { "x-own": own, authorization, accept, "content-type": type, "mcp-param-a": param } = headers;
      const { "mcp-protocol-version": version, "mcp-method": method, "mcp-name": name } = headers;
      seen.push({ own, authorization, accept, type, param, version, method, name });
      say(outgoing, result(1));
    });
    const { transport, heard } = await channelTo(url);
    transport.setProtocolVersion?.("2025-11-25");
    await transport.send(call(1));
    const more = {
      "Mcp-Param-A": "x",
      Authorization: "Bearer forged",
      "mcp-name": "forged",
      "Content-Type": "text/plain",
    };
    await transport.send(call(1, newer), { headers: more });
    const both = {
      own: "1",
      authorization: "Bearer own",
      accept: "application/json, text/event-stream",
      type: "application/json",
    };
    expect(seen).toEqual([
      { ...both, version: "2025-11-25" },
      { ...both, param: "x", version: "2026-07-28", method: "tools/call", name: "read" },
    ]);
    expect(heard).toEqual([result(1), result(1)]);
  });

  for (const row of [
    { name: "follows its server within the origin", location: "/other", heard: [result(1), result(2)], other: 0 },
    { name: "does not follow its server to another origin", location: undefined, heard: [], other: 0 },
  ]) {
    test(row.name, async () => {
      let elsewhere = 0;
      const other = await serve((_, outgoing) => {
        elsewhere += 1;
        say(outgoing, result(1));
      });
      let id = 0;
      const url = await serve((incoming, outgoing) => {
        if (incoming.url === "/mcp") outgoing.writeHead(307, { location: row.location ?? `${other}/mcp` }).end();
        else say(outgoing, result((id += 1)));
      });
      const { transport, heard } = await channelTo(url);
      const sent = await Promise.allSettled([transport.send(call(1))]);
      sent.push(...(await Promise.allSettled([transport.send(call(2))])));
      expect(sent.map(({ status }) => status)).toEqual(
        sent.map(() => (row.heard.length > 0 ? "fulfilled" : "rejected")),
      );
      expect(heard).toEqual(row.heard);
      expect(elsewhere).toBe(row.other);
    });
  }

  test("has the secrets of its owner, which are read again after a 401 and go to no other address", async () => {
    let key = 1;
    const seen: unknown[] = [];
    const secrets = { read: () => Promise.resolve({ "x-key": `key ${key}` }), forget: () => void (key += 1) };
    const other = await serve(({ headers }, outgoing) => {
      seen.push({ other: headers["x-key"] });
      say(outgoing, result(1));
    });
    const url = await serve(({ headers }, outgoing) => {
      seen.push(headers["x-key"]);
      if (headers["x-key"] === "key 1") outgoing.writeHead(401).end();
      else outgoing.writeHead(307, { location: `${other}/mcp` }).end();
    });
    const { transport } = await channelTo(url, { secrets });
    await expect(transport.send(call(1))).rejects.toMatchObject({ status: 401 });
    await expect(transport.send(call(2))).rejects.toThrow("fetch failed");
    // The second time by the transport, which refuses to follow.
    expect(seen).toEqual(["key 1", "key 2", "key 2"]);
  });

  for (const status of [301, 302, 303]) {
    test(`is not sent again after a ${status}, because the server may have acted`, async () => {
      let seen = 0;
      const url = await serve((_, outgoing) => {
        seen += 1;
        outgoing.writeHead(status, { location: "/other" }).end();
      });
      const { transport, heard } = await channelTo(url);
      await expect(transport.send(call(1))).rejects.toMatchObject({ status });
      expect({ seen, heard }).toEqual({ seen: 1, heard: [] });
    });
  }

  const refusal = { jsonrpc: "2.0", id: 1, error: { code: -32_602, message: "unknown" } };
  for (const row of [
    { name: "is answered by a refusal of the newer revision", meta: newer, said: refusal, heard: [refusal] },
    { name: "fails by a refusal of an older revision", meta: undefined, said: refusal, heard: [] },
    { name: "fails by a refusal of another request", meta: newer, said: { ...refusal, id: 2 }, heard: [] },
    { name: "fails by a refusal in other words", meta: newer, said: { id: 1 }, heard: [] },
  ]) {
    test(row.name, async () => {
      const url = await serve((_, outgoing) => outgoing.writeHead(400, json).end(JSON.stringify(row.said)));
      const { transport, heard } = await channelTo(url);
      const [sent] = await Promise.allSettled([transport.send(call(1, row.meta))]);
      expect(sent).toMatchObject(
        row.heard.length > 0 ? { status: "fulfilled" } : { status: "rejected", reason: { status: 400 } },
      );
      expect(heard).toEqual(row.heard);
    });
  }

  for (const row of [
    {
      name: "an answer of another type",
      head: { "content-type": "text/html" },
      body: "<p>",
      says: "Unexpected content type",
    },
    { name: "an answer that is no JSON", head: json, body: "{", says: "JSON" },
    { name: "an answer that is no message", head: json, body: '{"id":[]}', says: "invalid" },
    { name: "an answer that is too large", head: json, body: `"${"x".repeat(1000)}"`, says: "at most 1000 bytes" },
  ]) {
    test(`fails by ${row.name}`, async () => {
      const url = await serve((_, outgoing) => outgoing.writeHead(200, row.head).end(row.body));
      const { transport, heard } = await channelTo(url);
      await expect(transport.send(call(1))).rejects.toThrow(row.says);
      expect(heard).toEqual([]);
    });
  }

  for (const row of [
    { name: "is cancelled", end: "cancel" },
    { name: "loses its own caller", end: "abort" },
    { name: "is late", end: "time" },
    { name: "has its connection closed", end: "close" },
  ]) {
    test(`that ${row.name} before its answer ends its exchange`, async () => {
      const exchanges: ServerResponse[] = [];
      const url = await serve(({ headers }, outgoing) => {
        // The notification has no name of a tool, so it is shorter.
        if (headers["content-length"] !== String(JSON.stringify(call(1)).length)) outgoing.writeHead(202).end();
        else exchanges.push(outgoing);
      });
      const { transport, close } = await channelTo(url, row.end === "time" ? { timeoutMs: 200 } : {});
      const caller = new AbortController();
      const sending = Promise.allSettled([transport.send(call(1), { requestSignal: caller.signal })]);
      await eventually(() => expect(exchanges).toHaveLength(1));
      const gone = once(exchanges[0] as ServerResponse, "close");
      if (row.end === "abort") caller.abort();
      if (row.end === "close") await close();
      if (row.end === "cancel")
        await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
      const [[sent]] = await Promise.all([sending, gone]);
      expect(sent).toMatchObject({ status: "rejected", reason: { code: "ECONNRESET" } });
    });
  }
});
