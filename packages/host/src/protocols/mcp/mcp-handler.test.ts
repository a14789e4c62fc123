import { describe, expect, test } from "vitest";
import { acceptContext } from "turnpike/http";
import { eventually } from "../../../test/host-calls.ts";
import { around, hole } from "../../../../turnpike/test/hostile-bodies.ts";
import { mcpUrl as url, postMcp as post, servedWorld } from "../../../test/mcp/endpoint.ts";
import { context, now } from "../../../test/records.ts";
import { wireRequestFrom } from "../../../test/fetch-front.ts";
import { createOriginOf } from "../../front/index.ts";
import { openRecord } from "../../access/request-record.ts";
import { createStreamSlots } from "../../front/index.ts";
import { createListening } from "./listening.ts";
import { mcpProtocol } from "./mcp-protocol.ts";

const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("a request", () => {
  test("without a credential is 401 in the service's own words", async () => {
    const response = await servedWorld().serve(
      new Request(url, { method: "POST", headers: { "x-request-id": "r-1" } }),
    );
    expect(response.status).toBe(401);
    expect(Object.fromEntries(response.headers)).toEqual({
      "cache-control": "no-store",
      "content-type": "application/json",
      "www-authenticate": 'Bearer realm="turnpike"',
      "x-content-type-options": "nosniff",
      "x-request-id": "r-1",
    });
    expect(await response.json()).toEqual({
      error: { code: "unauthenticated", message: "Send a valid credential.", requestId: "r-1" },
    });
  });

  test("is answered without a session, under its id, and not to be stored", async () => {
    const response = await post(servedWorld(), list, { "x-request-id": "r-2" });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).toBe("r-2");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("mcp-session-id")).toBeNull();
    expect(await response.text()).toContain('"notes_read"');
  });

  test("is answered with all that an MCP server said, known to this host's library or not", async () => {
    const content = [
      { type: "text", text: "a", later: 1, annotations: { audience: ["user"], later: 2 } },
      { type: "hologram", data: "AAECAw==" },
    ];
    const world = servedWorld({
      changeApi: (api) => ({
        ...api,
        invokeTool: (_context, { id: callId, tool }) =>
          Promise.resolve({
            status: "succeeded",
            callId,
            tool,
            completedAt: now,
            output: { content },
            metadata: { mcp: {} },
          }),
      }),
    });
    const response = await post(world, { ...list, method: "tools/call", params: { name: "notes_read" } });
    const [, data = "{}"] = /^data: (.*)$/m.exec(await response.text()) ?? [];
    expect(JSON.parse(data)).toEqual({ jsonrpc: "2.0", id: 1, result: { content } });
  });

  for (const method of ["GET", "DELETE", "PUT"]) {
    test(`by ${method} is 405 unless it asks for a stream, as there is no session to end`, async () => {
      const accept = method === "GET" ? "application/json" : "text/event-stream";
      const headers = { authorization: "Bearer assistant", accept };
      const response = await servedWorld().serve(new Request(url, { method, headers }));
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
      expect(response.headers.get("cache-control")).toBe("no-store");
    });
  }

  for (const row of [
    { name: "no origin", headers: {}, status: 200 },
    { name: "a page on this machine", headers: { origin: "http://localhost:6274" }, status: 200 },
    { name: "another page", headers: { origin: "https://evil.example" }, status: 403 },
    { name: "a page whose name leads here", headers: { origin: "http://turnpike.test" }, status: 403 },
    { name: "a name that begins well", headers: { origin: "http://localhost.evil.example" }, status: 403 },
    { name: "a page without an origin", headers: { origin: "null" }, status: 403 },
  ]) {
    test(`of ${row.name} answers ${row.status}`, async () => {
      const world = servedWorld();
      const response = await post(world, list, row.headers as Record<string, string>);
      await response.text();
      expect(response.status).toBe(row.status);
      expect(world.audit.events).toHaveLength(row.status === 200 ? 1 : 0);
    });
  }

  for (const row of [
    { name: "that is no JSON", body: "{", status: 400, says: '"code":"invalid_json"' },
    { name: "that is empty", body: "", status: 400, says: '"code":"invalid_json"' },
    { name: "of several messages", body: [list, list], status: 400, says: "expected one message a request" },
    { name: "with a key __proto__", body: '{"__proto__":{}}', status: 400, says: "expected no __proto__ key" },
    { name: "too deep", body: "[".repeat(65) + "]".repeat(65), status: 400, says: "at most 64 levels" },
    {
      name: "of too many parts",
      body: { ...list, params: Array(100_000).fill(0) },
      status: 400,
      says: "at most 100000 values",
    },
    {
      name: "with a number that parsing would change",
      body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}',
      status: 400,
      says: "/id: expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string",
    },
    {
      name: "with a number that would become 0",
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"arguments":{"n":1e-400}}}',
      status: 400,
      says: "/params/arguments/n: expected a number that is not rounded to 0",
    },
    { name: "that is no message", body: { hello: 1 }, status: 400, says: "not a valid JSON-RPC message" },
    {
      name: "of another type",
      body: list,
      headers: { "content-type": "text/plain" },
      status: 415,
      says: "application/json",
    },
  ]) {
    test(`with a body ${row.name} answers ${row.status}`, async () => {
      const response = await post(servedWorld(), row.body, row.headers ?? {});
      expect(response.status).toBe(row.status);
      expect(await response.text()).toContain(row.says);
    });
  }

  for (const row of [
    {
      number: "9007199254740993",
      expected: "a whole number from -9007199254740991 to 9007199254740991; send any other",
    },
    { number: "-1e-999", expected: "a number that is not rounded to 0; send it" },
  ]) {
    test(`with ${row.number} in the arguments of a call is a failed call that says where, and calls nothing`, async () => {
      const world = servedWorld();
      const call = {
        jsonrpc: "2.0",
        id: "call-1",
        method: "tools/call",
        params: { name: "notes_read", arguments: hole },
      };
      const client = await post(world, around(call, `{"path":["x",${row.number}]}`));
      const [, data = "{}"] = /^data: (.*)$/m.exec(await client.text()) ?? [];
      const text = `failed (invalid_tool_arguments): /path/1: expected ${row.expected} as a string. Correct the arguments and call again.`;
      expect(JSON.parse(data)).toEqual({
        jsonrpc: "2.0",
        id: "call-1",
        result: {
          _meta: { "turnpike/error": { status: "failed", code: "invalid_tool_arguments", retryable: false } },
          content: [{ type: "text", text }],
          isError: true,
        },
      });
      expect(world.audit.events).toEqual([]);
    });
  }

  test("for another path is another handler's", async () => {
    for (const path of ["/", "/mcp/", "/mcpx", "/v1/tools"]) {
      expect((await servedWorld().serve(new Request(`http://turnpike.test${path}`))).status).toBe(418);
    }
  });

  test("that is given up stops what it asked for", async () => {
    const signals: AbortSignal[] = [];
    const world = servedWorld({
      changeApi: (api) => ({
        ...api,
        invokeTool(_context, _call, options) {
          if (options?.signal !== undefined) signals.push(options.signal);
          return new Promise(() => {});
        },
      }),
    });
    const gone = new AbortController();
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "notes.read" } };
    const answer = post(world, body, {}, gone.signal);
    await eventually(() => expect(signals).toMatchObject([{ aborted: false }]));
    gone.abort();
    expect(signals).toMatchObject([{ aborted: true }]);
    expect(await (await answer).text()).toBe("");
  });
});

test("the context of a request is validated and frozen when it is admitted, for all of its operations", async () => {
  const { api } = servedWorld();
  const resolveContext = () => Promise.resolve(context());
  const request = wireRequestFrom(new Request(url, { method: "POST" }));
  const incoming = { request, path: "/mcp", record: openRecord("r-1"), onLateError() {} };
  const known = { tools: [], namespaces: [] };
  const pool = { offers: () => Promise.resolve([]), unavailable: () => [], listen: () => () => {} };
  const admitted = await mcpProtocol({
    api,
    version: "1",
    known,
    pool,
    listening: createListening({ slots: createStreamSlots(10), perCredential: 9 }),
    about: { originOf: createOriginOf({}) },
    resolveContext,
  }).admit(incoming);
  expect(acceptContext(admitted, "optional")).toBe(admitted);
  expect(Object.isFrozen(admitted)).toBe(true);
});
