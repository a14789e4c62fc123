import { expect, test } from "vitest";
import {
  answerOf,
  errorAnswer,
  exchanges,
  httpWorldOf,
  jsonHeaders,
  requestFor,
  type Exchange,
} from "../../test/http.ts";
import { contextOf, grantOf, runAgent } from "../../test/deployment.ts";

for (const [name, exchange] of Object.entries<Exchange>(exchanges)) {
  test(`${exchange.method} ${exchange.path} answers ${name} with its result and nothing else`, async () => {
    const { handler, told } = httpWorldOf();
    expect(await answerOf(await handler(requestFor(exchange)))).toStrictEqual({
      status: exchange.status,
      headers: jsonHeaders,
      body: exchange.answer,
    });
    expect(told).toStrictEqual([]);
  });
}

const message = exchanges.sendMessage.body;
const turn = exchanges.executeTurn.body;
const refusals: (Exchange & { name: string; options?: Parameters<typeof httpWorldOf>[0] })[] = [
  {
    name: "an act that another owner's resource needs",
    method: "POST",
    path: "/v1/authorize",
    body: {
      action: "read",
      resource: { namespace: "files", owner: { kind: "human", userId: "bob" }, path: ["notes"] },
    },
    status: 200,
    answer: { allowed: false, reasonCode: "invalid_request" },
  },
  {
    name: "an act that no grant covers",
    method: "POST",
    path: "/v1/authorize",
    body: { action: "read", resource: { namespace: "files", path: ["photos"] } },
    status: 200,
    answer: {
      allowed: false,
      reasonCode: "no_matching_grant",
      requiredAuthority: {
        id: expect.any(String),
        namespaceId: "demo",
        owner: { kind: "human", userId: "alice" },
        requester: { kind: "agent", agentId: "helper" },
        purpose: "help",
        requestedAt: "2026-01-01T12:00:00Z",
        capabilities: [{ resource: { namespace: "files", path: ["photos"] }, actions: ["read"], scope: "exact" }],
      },
    },
  },
  {
    name: "reach that cannot be established",
    method: "GET",
    path: "/v1/reach",
    options: { kernel: { source: { load: () => Promise.reject(new Error("down")) } } },
    status: 200,
    answer: { status: "unavailable", reasonCode: "authority_unavailable" },
  },
  {
    name: "a tool that is not there",
    method: "POST",
    path: "/v1/tools/invoke",
    body: { ...exchanges.invokeTool.body, tool: "files.burn" },
    status: 200,
    answer: {
      status: "denied",
      callId: "call-1",
      tool: "files.burn",
      completedAt: "2026-01-01T12:00:00Z",
      error: { code: "tool_unavailable", message: "The caller cannot use this tool.", retryable: false },
    },
  },
  {
    name: "a resource that is not granted",
    method: "POST",
    path: "/v1/resources/invoke",
    body: { ...exchanges.invokeResource.body, resource: { namespace: "files", path: ["photos"] } },
    status: 200,
    answer: {
      status: "denied",
      operationId: "operation-1",
      completedAt: "2026-01-01T12:00:00Z",
      error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
    },
  },
  {
    name: "a message to another agent",
    method: "POST",
    path: "/v1/messages",
    body: { ...message, receiver: { kind: "human", userId: "carol" } },
    status: 200,
    answer: {
      status: "denied",
      messageId: "message-1",
      timestamp: "2026-01-01T12:00:00Z",
      error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
    },
  },
  {
    name: "a message whose transport fails",
    method: "POST",
    path: "/v1/messages",
    body: message,
    options: { kernel: { messages: { deliver: () => Promise.reject(new Error("down")) } } },
    status: 200,
    answer: {
      status: "failed",
      messageId: "message-1",
      timestamp: "2026-01-01T12:00:00Z",
      error: expect.objectContaining({ code: "message_delivery_failed" }),
    },
  },
  {
    name: "a turn of another agent",
    method: "POST",
    path: "/v1/turns",
    body: { ...turn, agent: { kind: "agent", agentId: "other" } },
    status: 200,
    answer: expect.objectContaining({ status: "denied", error: expect.objectContaining({ code: "actor_mismatch" }) }),
  },
  {
    name: "a turn that fails",
    method: "POST",
    path: "/v1/turns",
    body: turn,
    options: {
      runtime: { manifest: { id: "broken", version: "1" }, run: () => Promise.reject(new Error("broken")) },
    },
    status: 200,
    answer: expect.objectContaining({ status: "failed", error: expect.objectContaining({ code: "runtime_failed" }) }),
  },
];
for (const { name, options, ...exchange } of refusals) {
  test(`${name} is refused in an answer, not as an HTTP error`, async () => {
    const { handler, told } = httpWorldOf(options);
    expect(await answerOf(await handler(requestFor(exchange)))).toStrictEqual({
      status: 200,
      headers: jsonHeaders,
      body: exchange.answer,
    });
    expect(told).toStrictEqual([]);
  });
}

for (const row of [
  { status: "accepted", code: 202 },
  { status: "delivered", code: 200 },
] as const) {
  test(`a message that is ${row.status} answers ${row.code}`, async () => {
    const result = { status: row.status, messageId: "message-1", timestamp: "2026-01-01T12:00:00Z" };
    const { handler } = httpWorldOf({ kernel: { messages: { deliver: () => Promise.resolve(result) } } });
    expect(await answerOf(await handler(requestFor(exchanges.sendMessage)))).toStrictEqual({
      status: row.code,
      headers: jsonHeaders,
      body: result,
    });
  });
}

test("a result of another route that says accepted answers 200", async () => {
  const { handler } = httpWorldOf({ api: { invokeTool: () => Promise.resolve(JSON.parse('{"status":"accepted"}')) } });
  expect((await handler(requestFor(exchanges.invokeTool))).status).toBe(200);
});

for (const version of [1, "1"]) {
  test(`a turn of version ${JSON.stringify(version)} is answered in the same form`, async () => {
    const { handler } = httpWorldOf();
    const body = { ...turn, version, message: { ...turn.message, version } };
    const { body: answer } = await answerOf(await handler(requestFor({ ...exchanges.executeTurn, body })));
    expect(answer).toMatchObject({ version, events: [{ version }, { version }] });
  });
}

const verbs = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
for (const { path, allow } of [
  { path: "/health", allow: ["GET", "HEAD"] },
  { path: "/v1/authorize", allow: ["POST"] },
  { path: "/v1/reach", allow: ["GET"] },
  { path: "/v1/tools", allow: ["GET"] },
  { path: "/v1/tools/namespaces", allow: ["GET", "PUT"] },
  { path: "/v1/tools/invoke", allow: ["POST"] },
  { path: "/v1/resources/invoke", allow: ["POST"] },
  { path: "/v1/messages", allow: ["POST"] },
  { path: "/v1/turns", allow: ["POST"] },
]) {
  for (const method of verbs.filter((verb) => !allow.includes(verb))) {
    test(`${method} ${path} is told to use ${allow.join(" or ")}`, async () => {
      const { handler, told, resolved } = httpWorldOf();
      expect(await answerOf(await handler(requestFor({ method, path })))).toStrictEqual(
        errorAnswer(405, "method_not_allowed", `This path knows ${allow.join(", ")}.`, { allow: allow.join(", ") }),
      );
      expect([resolved.length, told.length]).toStrictEqual([1, 1]);
    });
  }
}

for (const path of [
  "/",
  "/health/",
  "/healthz",
  "/HEALTH",
  "/v1",
  "/v2/tools",
  "/v1/tools/",
  "//v1/tools",
  "/v1//tools",
  "/V1/tools",
  "/v1/Tools",
  "/v1/tool%73",
  "/v1%2Ftools",
  "/v1/tools%3F",
  "/v1/tools;x=1",
  "/v1/tools/files.read",
  "/v1/__proto__",
  "/__proto__",
  "/constructor",
]) {
  test(`${path} is no path of the service`, async () => {
    const { handler, told, resolved } = httpWorldOf();
    const answer = await answerOf(await handler(requestFor({ method: "GET", path })));
    expect(answer).toStrictEqual(errorAnswer(404, "not_found", "There is nothing at this path."));
    expect([resolved.length, told.length]).toStrictEqual([1, 1]);
  });
}

for (const path of ["/v1/tools?", "/v1/tools?limit=1", "/v1/tools?x=/v1/turns", "/v1/tools#part", "/v1/./tools"]) {
  test(`${path} is GET /v1/tools`, async () => {
    const { handler } = httpWorldOf();
    const { body } = await answerOf(await handler(requestFor({ method: "GET", path })));
    expect(body).toStrictEqual(exchanges.listTools.answer);
  });
}

for (const method of ["GET", "HEAD"]) {
  test(`${method} /health does not ask who is calling`, async () => {
    const { handler, resolved } = httpWorldOf({ context: () => Promise.reject(new Error("no caller is admitted")) });
    const response = await handler(requestFor({ method, path: "/health?deep=1" }));
    expect([response.status, Object.fromEntries(response.headers), await response.text()]).toStrictEqual([
      200,
      jsonHeaders,
      method === "HEAD" ? "" : '{"status":"ok","protocolVersion":"1"}',
    ]);
    expect(resolved).toStrictEqual([]);
  });
}

test("a body is read as JSON whatever its content type says", async () => {
  const { handler } = httpWorldOf();
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]) {
    const response = await handler(requestFor(exchanges.authorize, { headers: { "content-type": type } }));
    expect((await answerOf(response)).body).toStrictEqual(exchanges.authorize.answer);
  }
});

test("the answer depends on the context that was resolved, not on the request", async () => {
  const { handler } = httpWorldOf({
    kernel: { grants: [grantOf("run", { capabilities: [runAgent] })] },
    context: () => Promise.resolve(contextOf({ enabledToolNamespaces: [] })),
  });
  expect((await answerOf(await handler(requestFor(exchanges.listTools)))).body).toStrictEqual([]);
  expect((await answerOf(await handler(requestFor(exchanges.listToolNamespaces)))).body).toStrictEqual({
    namespaces: [{ namespace: "files", sources: ["host"], toolCount: 1, enabled: false }],
    summary: { enabled: 0, disabled: 1, total: 1 },
  });
});
