import { getEventListeners } from "node:events";
import type { Reply } from "turnpike/http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { wireRequestFrom } from "../../../test/fetch-front.ts";
import { mcpUrl, servedWorld } from "../../../test/mcp/endpoint.ts";
import { assistant, contextOf, now } from "../../../test/mcp/servers.ts";
import { openRecord } from "../../access/request-record.ts";
import { answer, answerByLibrary } from "./answer-request.ts";
import { createOfferedNames } from "./offered-names.ts";
import { readPlainCall } from "./plain-call.ts";
import { createRunningCalls } from "./running-calls.ts";

type World = Parameters<typeof servedWorld>[0];

const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const context = contextOf({ enabledToolNamespaces: ["notes"], actor: assistant });

/** A world, and a request in it. */
function open(message: object, headers: object = {}, options: World = {}) {
  const world = servedWorld(options);
  const gone = new AbortController();
  const init = { method: "POST", headers: { ...usual, ...headers }, body: JSON.stringify(message) };
  const record = openRecord("r-1");
  record.facts = { tenant: "acme", credentialId: "assistant" };
  const errors: unknown[] = [];
  const incoming = {
    request: wireRequestFrom(new Request(mcpUrl, { ...init, signal: gone.signal })),
    path: "/mcp",
    record,
    onLateError: (error: unknown) => void errors.push(error),
  };
  const shared = {
    api: world.api,
    pool: { offers: () => Promise.resolve([]), unavailable: () => [], listen: () => () => {} },
    listening: world.listening,
    version: "1.2.3",
    names: createOfferedNames({ tools: ["notes.burn", "notes.read"], namespaces: ["mcp.wiki"] }),
    calls: createRunningCalls(),
  };
  return { world, shared, incoming, errors, gone };
}

/** All that a caller and an operator see of an answer. */
async function seen({ world, errors }: ReturnType<typeof open>, pending: Promise<Reply | Response>) {
  const given = await pending;
  const { status, headers, body } = given;
  const type = headers instanceof Headers ? headers.get("content-type") : headers["content-type"];
  const text = await new Response(body).text();
  return { status, type, text, events: world.audit.events.map(({ type: kind }) => kind), errors: errors.map(String) };
}

const call = (params: unknown, more: object = {}) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params, ...more });
const read = { name: "notes_read", arguments: { note: "a" } };
const resultIs = (result: object): World => ({
  changeApi: (api) => ({
    ...api,
    invokeTool: (_context, { id: callId, tool }) =>
      Promise.resolve({ callId, tool, completedAt: now, ...result } as never),
  }),
});
const failing: World = {
  changeApi: (api) => ({ ...api, invokeTool: () => Promise.reject(new Error("secret words")) }),
};
const content = [{ type: "text", text: "a\n\u2028b", later: 1 }, { type: "hologram" }];

describe("a plain call is answered as the library answers it:", () => {
  for (const row of [
    { name: "one that succeeds", message: call(read) },
    { name: "by the real name", message: call({ ...read, name: "notes.read" }) },
    { name: "by a name with a hash that no tool has", message: call({ name: "mcp_wiki_page_00000000" }) },
    { name: "without arguments", message: call({ name: "notes_read" }) },
    { name: "with arguments that do not fit", message: call({ name: "notes_read", arguments: { page: 1 } }) },
    { name: "one that is denied", message: call({ name: "notes_read", arguments: { note: "c" } }) },
    { name: "of a tool that others have", message: call({ name: "notes_burn", arguments: { note: "a" } }) },
    { name: "of no tool", message: call({ name: "", arguments: {} }) },
    { name: "of a tool that fails", message: call(read), world: failing },
    { name: "under a text", message: call(read, { id: 'a "b"' }) },
    { name: "under an empty text", message: call(read, { id: "" }) },
    { name: "under zero", message: call(read, { id: 0 }) },
    { name: "under a number below zero", message: call(read, { id: -9_007_199_254_740_991 }) },
    { name: "of the revision of 2024", message: call(read), headers: { "mcp-protocol-version": "2024-11-05" } },
    { name: "of the revision of 2025", message: call(read), headers: { "mcp-protocol-version": "2025-11-25" } },
    { name: "with a charset", message: call(read), headers: { "content-type": "application/json; charset=utf-8" } },
    { name: "with a session", message: call(read), headers: { "mcp-session-id": "s-1" } },
    { name: "with headers of the newer revision", message: call(read), headers: { "mcp-method": "ping" } },
    {
      name: "with what an MCP server said",
      message: call(read),
      world: resultIs({ status: "succeeded", output: { content }, metadata: { mcp: {} } }),
    },
    {
      name: "with a structure and notes that an MCP server said",
      message: call(read),
      world: resultIs({ status: "succeeded", output: { n: 1 }, metadata: { mcp: { content, _meta: { took: 3 } } } }),
    },
    { name: "with a text", message: call(read), world: resultIs({ status: "succeeded", output: "plain" }) },
    { name: "with null", message: call(read), world: resultIs({ status: "succeeded", output: null }) },
    {
      name: "with an approval that is needed",
      message: call(read),
      world: resultIs({
        status: "denied",
        error: { code: "approval_required", message: "Ask.", retryable: true, details: { escalationId: "q1" } },
      }),
    },
  ]) {
    test(row.name, async () => {
      const [short, long] = [open(row.message, row.headers, row.world), open(row.message, row.headers, row.world)];
      expect(readPlainCall(short.incoming.request.headers, row.message)).toBeDefined();
      const plain = await seen(short, answer(short.shared, short.incoming, context));
      expect(plain.text).toMatch(/^event: message\ndata: \{"result":\{.*\},"jsonrpc":"2.0","id":.*\}\n\n$/s);
      const library = answerByLibrary(long.shared, long.incoming, context, { message: row.message });
      expect(plain).toEqual(await seen(long, library));
    });
  }
});

describe("the library answers what is no plain call:", () => {
  const modern = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  for (const row of [
    { name: "another method", message: call(undefined, { method: "ping" }) },
    { name: "no id", message: { jsonrpc: "2.0", method: "tools/call", params: read } },
    { name: "an id that is null", message: call(read, { id: null }) },
    { name: "an id that is no whole number", message: call(read, { id: 1.5 }) },
    { name: "an id that is a list", message: call(read, { id: [1] }) },
    { name: "another version of JSON-RPC", message: call(read, { jsonrpc: "1.0" }) },
    { name: "no version of JSON-RPC", message: { id: 1, method: "tools/call", params: read } },
    { name: "a key that JSON-RPC does not know", message: call(read, { later: 1 }) },
    { name: "a result beside the call", message: call(read, { result: {} }) },
    { name: "no params", message: call(undefined) },
    { name: "params that are null", message: call(null) },
    { name: "params that are a list", message: call([read]) },
    { name: "no name", message: call({ arguments: {} }) },
    { name: "a name that is no text", message: call({ ...read, name: 1 }) },
    { name: "arguments that are null", message: call({ ...read, arguments: null }) },
    { name: "arguments that are a list", message: call({ ...read, arguments: [] }) },
    { name: "arguments that are a text", message: call({ ...read, arguments: "a" }) },
    { name: "notes on the request", message: call({ ...read, _meta: { own: 1 } }) },
    { name: "notes that are no object", message: call({ ...read, _meta: 1 }) },
    { name: "a token for progress", message: call({ ...read, _meta: { progressToken: 1 } }) },
    { name: "an envelope of the newer revision", message: call({ ...read, _meta: modern }) },
    { name: "a task", message: call({ ...read, task: { ttl: 1 } }) },
    { name: "an answer to a question", message: call({ ...read, inputResponses: {} }) },
    { name: "a client that reads no streams", message: call(read), headers: { accept: "application/json" } },
    { name: "a client that reads streams alone", message: call(read), headers: { accept: "text/event-stream" } },
    { name: "a client that takes anything", message: call(read), headers: { accept: "*/*" } },
    { name: "another type of body", message: call(read), headers: { "content-type": "text/json" } },
    { name: "an unknown revision", message: call(read), headers: { "mcp-protocol-version": "2025-01-01" } },
    { name: "the newer revision", message: call(read), headers: { "mcp-protocol-version": "2026-07-28" } },
  ]) {
    test(row.name, async () => {
      const [one, other] = [open(row.message, row.headers), open(row.message, row.headers)];
      expect(readPlainCall(one.incoming.request.headers, row.message)).toBeUndefined();
      const library = await seen(
        other,
        answerByLibrary(other.shared, other.incoming, context, { message: row.message }),
      );
      expect(await seen(one, answer(one.shared, one.incoming, context))).toEqual(library);
    });
  }
});

test("nothing of a plain call stays when it has ended, where its connection and its client have others", async () => {
  const { shared, incoming } = open(call(read));
  await answer(shared, incoming, context);
  // What runs begins and ends with microtasks.
  await new Promise(setImmediate);
  expect(getEventListeners(incoming.request.signal, "abort")).toEqual([]);
  const cancelled: string[] = [];
  const origin = { tenant: "acme", credentialId: "assistant", session: null };
  shared.calls.begin(origin, 1, () => cancelled.push("the next one with its id"));
  shared.calls.cancel(origin, 1);
  expect(cancelled).toEqual(["the next one with its id"]);
});

describe("a plain call that takes long", () => {
  afterEach(() => vi.useRealTimers());

  /** A call that ends when a test says so, and the signal that it was given. */
  function openSlow() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const given: { signal?: AbortSignal; end(): void } = { end() {} };
    const opened = open(
      call(read),
      {},
      {
        changeApi: (api) => ({
          ...api,
          invokeTool: (_context, { id: callId, tool }, options) =>
            new Promise((resolve) => {
              if (options?.signal !== undefined) given.signal = options.signal;
              given.end = () => resolve({ status: "succeeded", callId, tool, completedAt: now, output: "done" });
            }),
        }),
      },
    );
    return { ...opened, given, answering: answer(opened.shared, opened.incoming, context) };
  }

  test("is a stream that says now and then that it is open, and then the result", async () => {
    const { given, answering } = openSlow();
    await vi.advanceTimersByTimeAsync(1000);
    const { status, headers, body } = (await answering) as Reply;
    expect([status, headers]).toEqual([200, { "content-type": "text/event-stream", "x-accel-buffering": "no" }]);
    const text = new Response(body).text();
    await vi.advanceTimersByTimeAsync(30_000);
    given.end();
    const result = { content: [{ type: "text", text: "done" }] };
    const event = JSON.stringify({ result, jsonrpc: "2.0", id: 1 });
    expect(await text).toBe(`: keepalive\n\n: keepalive\n\nevent: message\ndata: ${event}\n\n`);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends when its reader leaves the stream, and nothing of it stays", async () => {
    const { given, answering } = openSlow();
    await vi.advanceTimersByTimeAsync(1000);
    const { body } = (await answering) as Reply;
    await (body as ReadableStream).cancel();
    expect(given.signal?.aborted).toBe(true);
    given.end();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends without a result when its caller is gone, or was before it began", async () => {
    const { gone, given, answering } = openSlow();
    await vi.advanceTimersByTimeAsync(0);
    gone.abort();
    expect([given.signal?.aborted, ((await answering) as Reply).body]).toEqual([true, ""]);
    const late = openSlow();
    late.gone.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect([late.given.signal?.aborted, ((await late.answering) as Reply).body]).toEqual([true, ""]);
  });

  test("ends without a result when its client cancels it, and stays for another client's", async () => {
    const { shared, given, answering } = openSlow();
    await vi.advanceTimersByTimeAsync(0);
    const origin = { tenant: "acme", credentialId: "assistant", session: null };
    shared.calls.cancel({ ...origin, session: "other" }, 1);
    shared.calls.cancel({ ...origin, credentialId: "other" }, 1);
    expect(given.signal?.aborted).toBe(false);
    shared.calls.cancel(origin, 1);
    expect([given.signal?.aborted, ((await answering) as Reply).body]).toEqual([true, ""]);
  });
});
