import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { exchanges } from "../../test/http.ts";
import { rejection, untyped } from "../../test/deployment.ts";
import { fromHeaderValue } from "../internal/index.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";
import type { ServiceClientOptions } from "./send.ts";
import { ServiceClientError } from "./service-client-error.ts";

afterEach(() => {
  vi.useRealTimers();
});

const { authorize, invokeTool, sendMessage, executeTurn } = exchanges;
const jsonType = { "content-type": "application/json", "x-request-id": "request-1" };

/** A client whose server answers everything alike, and the requests it sent. */
function clientOf(
  answer: () => Response | Promise<Response>,
  options: Partial<ServiceClientOptions> = {},
): { client: ServiceClient; sent: Request[] } {
  const sent: Request[] = [];
  const client = createServiceClient({
    baseUrl: "http://service.test",
    async fetch(input, init) {
      sent.push(new Request(input, init));
      return answer();
    },
    ...options,
  });
  return { client, sent };
}

function answering(body: unknown, init: ResponseInit = {}): () => Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return () => new Response(text, { headers: jsonType, ...init });
}

const decision = { allowed: true, reasonCode: "allowed" };

for (const row of [
  { name: "no JSON", body: "<html>", init: {} },
  { name: "nothing", body: "", init: {} },
  { name: "null", body: "null", init: {} },
  { name: "a list", body: [decision], init: {} },
  { name: "a missing field", body: { allowed: true }, init: {} },
  { name: "a field of another type", body: { ...decision, allowed: "yes" }, init: {} },
  { name: "a field of another type beside an unknown one", body: { ...decision, allowed: "yes", extra: 1 }, init: {} },
  { name: "no JSON but 201", body: "created", init: { status: 201, headers: jsonType } },
]) {
  test(`an answer with ${row.name} rejects as invalid_response`, async () => {
    const { client } = clientOf(answering(row.body, row.init));
    const error = await rejection(client.authorize(untyped(authorize.body)));
    expect(error).toBeInstanceOf(ServiceClientError);
    expect(error).toMatchObject({ code: "invalid_response", status: row.init.status ?? 200, requestId: "request-1" });
  });
}

for (const row of [
  { name: "at the top", body: { ...decision, since: "2.0" } },
  {
    name: "further in",
    body: {
      ...decision,
      requiredAuthority: {
        id: "ask-1",
        namespaceId: "demo",
        owner: { kind: "human", userId: "alice", displayName: "Alice" },
        requester: { kind: "agent", agentId: "helper" },
        purpose: "help",
        requestedAt: "2026-01-01T12:00:00Z",
        capabilities: [
          { resource: { namespace: "files", path: [], tier: 1 }, actions: ["read"], scope: "exact", weight: 1 },
        ],
      },
    },
  },
]) {
  test(`fields that this client does not know ${row.name} are tolerated and handed on`, async () => {
    const { client } = clientOf(answering(row.body));
    expect(await client.authorize(untyped(authorize.body))).toStrictEqual(row.body);
  });
}

test("fields and codes that this client does not know are tolerated in results of every kind", async () => {
  const unknown = { code: "brand_new_code", message: "New.", hint: "newer" };
  const tool = {
    status: "denied",
    callId: "c",
    tool: "t",
    completedAt: "2026-01-01T12:00:00Z",
    error: unknown,
    extra: 1,
  };
  expect(await clientOf(answering(tool)).client.invokeTool(invokeTool.body)).toStrictEqual(tool);
  const turn = {
    ...executeTurn.answer,
    events: executeTurn.answer.events.map((event) => ({ ...event, extra: 1 })),
    extra: 1,
  };
  expect(await clientOf(answering(turn)).client.executeTurn(executeTurn.body)).toStrictEqual(turn);
  const catalog = { ...exchanges.listToolNamespaces.answer, page: 1 };
  expect(await clientOf(answering(catalog)).client.listToolNamespaces()).toStrictEqual(catalog);
  const tools = exchanges.listTools.answer.map((descriptor) => ({ ...descriptor, extra: 1 }));
  expect(await clientOf(answering(tools)).client.listTools()).toStrictEqual(tools);
});

const refusal = { error: { code: "brand_new_code", message: "No.", requestId: "request-1" } };
const errors: { name: string; answer: () => Response; error: object }[] = [
  {
    name: "a code that this client does not know",
    answer: answering(refusal, { status: 418, headers: jsonType }),
    error: { status: 418, code: "brand_new_code", message: "No.", requestId: "request-1", retryAfter: undefined },
  },
  {
    name: "fields that this client does not know",
    answer: answering({ error: { ...refusal.error, hint: 1 }, docs: "x" }, { status: 400, headers: jsonType }),
    error: { status: 400, code: "brand_new_code", message: "No." },
  },
  {
    name: "the page of a proxy",
    answer: answering("<html>Bad gateway", { status: 502, headers: { "retry-after": "5" } }),
    error: { status: 502, code: "invalid_response", requestId: undefined, retryAfter: 5 },
  },
  {
    name: "JSON of another service",
    answer: answering({ error: "no" }, { status: 404, headers: jsonType }),
    error: { status: 404, code: "invalid_response", requestId: "request-1" },
  },
  {
    name: "nothing",
    answer: () => new Response(null, { status: 503 }),
    error: { status: 503, code: "invalid_response" },
  },
  {
    name: "a redirect that was not followed",
    answer: () => new Response(null, { status: 304 }),
    error: { status: 304, code: "invalid_response" },
  },
];
for (const { name, answer, error } of errors) {
  test(`an error answer with ${name} rejects with what is known`, async () => {
    const thrown = await rejection(clientOf(answer).client.reach());
    expect(thrown).toBeInstanceOf(ServiceClientError);
    expect(thrown).toMatchObject(error);
  });
}

for (const row of [
  { header: "0", seconds: 0 },
  { header: "120", seconds: 120 },
  { header: "Thu, 01 Jan 2026 12:00:30 GMT", seconds: 30 },
  { header: "Thu, 01 Jan 2026 11:00:00 GMT", seconds: 0 },
  { header: "soon", seconds: undefined },
]) {
  test(`retry-after: ${row.header} means ${row.seconds} seconds`, async () => {
    vi.useFakeTimers({ now: Date.parse("2026-01-01T12:00:00Z"), toFake: ["Date"] });
    const answer = answering(refusal, { status: 429, headers: { ...jsonType, "retry-after": row.header } });
    expect(await rejection(clientOf(answer).client.reach())).toMatchObject({ status: 429, retryAfter: row.seconds });
  });
}

test("a server that cannot be reached rejects as request_failed with the cause", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const error = await rejection(createServiceClient({ baseUrl: `http://127.0.0.1:${port}` }).health());
  expect(error).toBeInstanceOf(ServiceClientError);
  expect(error).toMatchObject({ status: 0, code: "request_failed", requestId: undefined });
  expect((error as Error).cause).toBeInstanceOf(Error);
});

for (const row of [
  { name: "a result", status: 200, code: "request_failed" },
  { name: "an error", status: 500, code: "invalid_response" },
]) {
  test(`${row.name} that breaks off rejects as ${row.code}`, async () => {
    const { client } = clientOf(() => {
      const body = new ReadableStream({
        pull(stream) {
          stream.error(new TypeError("terminated"));
        },
      });
      return new Response(body, { status: row.status, headers: jsonType });
    });
    const error = await rejection(client.reach());
    expect(error).toBeInstanceOf(ServiceClientError);
    expect(error).toMatchObject({ status: row.status, code: row.code, requestId: "request-1" });
  });
}

const sending: {
  name: string;
  options?: Partial<ServiceClientOptions>;
  call?: (client: ServiceClient) => Promise<unknown>;
  headers: Record<string, string | null>;
}[] = [
  { name: "no token", headers: { authorization: null, accept: "application/json" } },
  { name: "a token", options: { token: "t0ken" }, headers: { authorization: "Bearer t0ken" } },
  { name: "a token from a function", options: { token: () => "made" }, headers: { authorization: "Bearer made" } },
  {
    name: "a token from an asynchronous function",
    options: { token: () => Promise.resolve("awaited") },
    headers: { authorization: "Bearer awaited" },
  },
  { name: "headers of the host's own", options: { headers: { "x-team": "blue" } }, headers: { "x-team": "blue" } },
  {
    name: "headers that replace the client's",
    options: { token: "t0ken", purpose: "help", headers: { authorization: "Basic abc", "x-purpose": "other" } },
    headers: { authorization: "Basic abc", "x-purpose": "other" },
  },
  {
    name: "headers in capitals that replace the client's",
    options: { token: "t0ken", purpose: "help", headers: { Authorization: "Basic abc", "X-Purpose": "other" } },
    headers: { authorization: "Basic abc", "x-purpose": "other" },
  },
  { name: "no body", headers: { "content-type": null, "x-trace-id": null, "x-purpose": null } },
  { name: "no body but a purpose", options: { purpose: "für 100%" }, headers: { "x-purpose": "f%C3%BCr 100%25" } },
  {
    name: "a tool call",
    options: { purpose: "tidy up" },
    call: (client) => client.invokeTool({ ...invokeTool.body, traceId: "spür-1" }),
    headers: { "content-type": "application/json", "x-trace-id": "sp%C3%BCr-1", "x-purpose": "tidy up" },
  },
  {
    name: "a message",
    options: { purpose: "tidy up" },
    call: (client) => client.sendMessage({ ...sendMessage.body, purpose: "50% 🚪", traceId: "trace 1" }),
    headers: { "x-trace-id": "trace 1", "x-purpose": "50%25 %F0%9F%9A%AA" },
  },
  {
    name: "a turn",
    options: { purpose: "tidy up" },
    call: (client) => client.executeTurn(executeTurn.body),
    headers: { accept: "application/json", "x-trace-id": "trace-1", "x-purpose": "help" },
  },
  {
    name: "a streamed turn",
    call: (client) => client.streamTurn(executeTurn.body).result(),
    headers: { accept: "text/event-stream", "x-trace-id": "trace-1", "x-purpose": "help" },
  },
  {
    name: "an authorization request",
    options: { purpose: "tidy up" },
    call: (client) => client.authorize(untyped(authorize.body)),
    headers: { "content-type": "application/json", "x-trace-id": null, "x-purpose": "tidy up" },
  },
];
for (const { name, options, call = (client: ServiceClient) => client.reach(), headers } of sending) {
  test(`a request with ${name} says so in its headers`, async () => {
    const { client, sent } = clientOf(answering(refusal, { status: 400 }), options);
    await rejection(call(client));
    expect(sent).toHaveLength(1);
    const found = Object.keys(headers).map((header) => [header, sent[0]?.headers.get(header) ?? null]);
    expect(Object.fromEntries(found)).toStrictEqual(headers);
  });
}

test("the purpose that arrives is the purpose that was meant", async () => {
  const { client, sent } = clientOf(answering(refusal, { status: 400 }), { purpose: " 100 % für\nalle " });
  await rejection(client.reach());
  expect(fromHeaderValue(sent[0]?.headers.get("x-purpose") ?? "")).toBe(" 100 % für\nalle ");
});

test("a function for the token is asked before every request", async () => {
  let asked = 0;
  const { client, sent } = clientOf(answering(decision), { token: () => `token-${(asked += 1)}` });
  await client.authorize(untyped(authorize.body));
  await client.authorize(untyped(authorize.body));
  expect(sent.map((request) => request.headers.get("authorization"))).toStrictEqual([
    "Bearer token-1",
    "Bearer token-2",
  ]);
});

test("a token that cannot be had rejects with its own error, and nothing is sent", async () => {
  const reason = new Error("the vault is locked");
  const { client, sent } = clientOf(answering(decision), { token: () => Promise.reject(reason) });
  expect(await rejection(client.reach())).toBe(reason);
  expect(sent).toStrictEqual([]);
});

for (const row of [
  { baseUrl: "http://service.test", url: "http://service.test/v1/tools/invoke" },
  { baseUrl: "http://service.test/", url: "http://service.test/v1/tools/invoke" },
  { baseUrl: "http://service.test/behind/a/proxy//", url: "http://service.test/behind/a/proxy/v1/tools/invoke" },
]) {
  test(`${row.baseUrl} is where the service is`, async () => {
    const { client, sent } = clientOf(answering(refusal, { status: 400 }), { baseUrl: row.baseUrl });
    await rejection(client.invokeTool(invokeTool.body));
    expect([sent[0]?.url, sent[0]?.method]).toStrictEqual([row.url, "POST"]);
    expect(await sent[0]?.json()).toStrictEqual(invokeTool.body);
  });
}

test("an answer that names no request and does not fit rejects without one", async () => {
  const { client } = clientOf(() => Response.json({ allowed: "yes" }));
  const error = await rejection(client.authorize(untyped(authorize.body)));
  expect(error).toMatchObject({ code: "invalid_response", status: 200, requestId: undefined });
});

test("a signal that fires while a refusal is read rejects with its reason", async () => {
  const caller = new AbortController();
  const reason = new Error("changed my mind");
  const { client } = clientOf(() => {
    const body = new ReadableStream(
      {
        pull(controller) {
          caller.abort(reason);
          controller.error(new TypeError("terminated"));
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: 503, headers: jsonType });
  });
  expect(await rejection(client.reach({ signal: caller.signal }))).toBe(reason);
});
