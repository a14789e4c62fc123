import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { defineTool } from "turnpike/kernel";
import { z } from "zod";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { ask, eventually } from "../../test/host-calls.ts";
import { startHttpServer } from "../../test/mcp/servers.ts";
import { callsTools, modelKey, openModelServer, says } from "../../test/model-server.ts";
import { openOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../../test/otlp-receiver.ts";
import { recordingLog, type RecordingLog } from "../../test/recording-log.ts";
import { access, alice, assistant, grant } from "../../test/records.ts";
import { openRuntimes } from "../turns/index.ts";
import { type Host, startHost } from "./compose.ts";
import { loadConfig } from "./config.ts";

afterEach(() => void vi.unstubAllEnvs());

/** Occurs in every input that a caller, a server or an operator gives. No trace may hold it. */
const secret = "planted-secret";

const trace = { id: "0af7651916cd43dd8448eb211c80319c", parent: "b7ad6b7169203331" };
const traceparent = `00-${trace.id}-${trace.parent}-01`;

/** Fails with an error whose every part is foreign text. */
const brokenTool = defineTool({
  name: "notes.break",
  description: "Breaks.",
  namespace: "notes",
  readWrite: "read",
  input: z.strictObject({}),
  requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
  run() {
    throw Object.assign(new Error(secret), { name: secret, code: secret });
  },
});

interface TracedHost {
  host: Host;
  log: RecordingLog;
  token: string;
  /** Sends as the assistant, in the trace. */
  send(path: string, body?: unknown, headers?: Record<string, string>): ReturnType<typeof ask>;
  /** Closes the host, which sends what is left. */
  close(): Promise<void>;
  dropped(): Promise<string | undefined>;
}

/** A host that sends its traces to this address, with an assistant who may do a few things for Alice. */
async function startTraced(endpoint: string | undefined, config: object = {}): Promise<TracedHost> {
  if (endpoint !== undefined) vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
  const folder = temporaryFolder();
  const file = join(folder, "turnpike.config.json");
  writeFileSync(
    file,
    JSON.stringify({
      listen: { port: 0 },
      limits: { burst: 100_000 },
      database: join(folder, "turnpike.db"),
      ...config,
    }),
  );
  const settings = loadConfig({ file, env: {}, flags: {} });
  const log = recordingLog();
  const tools = [brokenTool];
  const host = await startHost(settings, {
    log,
    tools,
    ...(await openRuntimes(settings.runtime, { MODEL_KEY: modelKey })),
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= host.close());
  onTestFinished(close);
  const may = (id: string, namespace: string, path: string[], ...actions: string[]) =>
    grant(id, {
      namespaceId: "acme",
      capabilities: [{ resource: { namespace, path }, actions, scope: "descendants" as const }],
    });
  await host.stores.grants.issue(may("notes", "files", ["notes"], "list", "read", "create"));
  await host.stores.grants.issue(may("server", "mcp.test", [], "call"));
  await host.stores.grants.issue(may("turns", "service.execution", ["agent"], "invoke"));
  const { token } = await host.stores.credentials.create({ namespaceId: "acme", access });
  const operator = await host.stores.credentials.create({
    namespaceId: "operators",
    access: { actor: alice, owner: alice, purposes: ["operate"], admin: true },
  });
  return {
    host,
    log,
    token,
    close,
    send: (path, body, headers = {}) =>
      ask(host.url, path, { token, ...(body !== undefined && { body }), headers: { traceparent, ...headers } }),
    async dropped() {
      const { text } = await ask(host.url, "/metrics", { token: operator.token });
      return /^turnpike_spans_dropped_total (\d+)$/m.exec(text)?.[1];
    },
  };
}

function call(tool: string, args: object, id = "call-1"): object {
  return { id, tool, arguments: args, requestedAt: new Date().toISOString(), traceId: trace.id };
}

async function enable({ host }: TracedHost, ...namespaces: string[]): Promise<void> {
  const context = { namespaceId: "acme", actor: assistant, owner: alice, authority: alice, purpose: "support" };
  const now = { now: new Date().toISOString(), traceId: "setup", enabledToolNamespaces: [] };
  await host.stores.settings.applyUpdate({ ...context, ...now }, { enable: namespaces }, AbortSignal.timeout(10_000));
}

/** The spans of the trace as a tree of names, children in the order of their names. */
function tree(spans: readonly ReceivedSpan[], parent = trace.parent): unknown[] {
  return spans
    .filter(({ traceId, parentSpanId }) => traceId === trace.id && parentSpanId === parent)
    .map((span) => ({ name: span.name, inside: tree(spans, span.spanId) }))
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map(({ name, inside }) => (inside.length === 0 ? name : { [name]: inside }));
}

function spanNamed({ spans }: OtlpReceiver, name: string): ReceivedSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`There is no ${name} among ${spans.map((span) => span.name).join(", ")}.`);
  return found;
}

test("a tool call, a denial and a decision are one trace each, under the caller's span", async () => {
  const receiver = await openOtlpReceiver();
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", `x-collector=${secret}`);
  vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test");
  const traced = await startTraced(receiver.url);
  await enable(traced, "files");
  const created = await traced.send("/v1/tools/invoke", call("files.create", { path: "notes/a", content: secret }));
  expect(created.body).toMatchObject({ status: "succeeded" });
  const denied = await traced.send("/v1/tools/invoke", call("files.read", { path: `private/${secret}` }, "call-2"), {
    tracestate: "vendor=value",
  });
  expect(denied.body).toMatchObject({ status: "denied" });
  const asked = { action: "read", resource: { namespace: "files", path: ["notes", secret] } };
  expect((await traced.send("/v1/authorize", asked, { "x-secret": secret })).body).toMatchObject({ allowed: true });
  await traced.send(`/v1/turns/${secret}?${secret}`);
  await traced.close();

  expect(tree(receiver.spans)).toEqual([
    "GET /v1/turns/{executionId}",
    { "POST /v1/authorize": [{ authorize: ["commit"] }] },
    { "POST /v1/tools/invoke": [{ authorize: ["commit"] }, "commit", "execute_tool files.create"] },
    { "POST /v1/tools/invoke": [{ authorize: ["commit"] }, "commit"] },
  ]);
  expect(spanNamed(receiver, "execute_tool files.create")).toMatchObject({
    kind: 1,
    isFailed: false,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "files.create",
      "gen_ai.tool.call.id": "call-1",
      "turnpike.status": "succeeded",
    },
  });
  const decisions = receiver.spans.filter(({ name }) => name === "authorize").map(({ attributes }) => attributes);
  expect(decisions).toContainEqual({
    "turnpike.decision.allowed": false,
    "turnpike.decision.reason": "no_matching_grant",
    "turnpike.resource.namespace": "files",
    "turnpike.action": "read",
    "gen_ai.tool.name": "files.read",
  });
  expect(decisions).toContainEqual({
    "turnpike.decision.allowed": true,
    "turnpike.decision.reason": "allowed",
    "turnpike.grant.id": "notes",
    "turnpike.resource.namespace": "files",
    "turnpike.action": "read",
  });
  const [, refused] = receiver.spans.filter(({ name }) => name === "POST /v1/tools/invoke");
  expect(refused).toMatchObject({
    kind: 2,
    traceState: "vendor=value",
    attributes: {
      "http.request.method": "POST",
      "http.route": "/v1/tools/invoke",
      "http.response.status_code": 200,
      "turnpike.tenant": "acme",
      "turnpike.trace_id": trace.id,
    },
  });
  expect(receiver.resource).toMatchObject({ "service.name": "turnpike", "deployment.environment": "test" });
  expect(receiver.requests[0]).toMatchObject({ path: "/v1/traces", headers: { "x-collector": secret } });
  expect(receiver.texts.join()).not.toContain(secret);
  expect(receiver.texts.join()).not.toContain(traced.token.slice(20));
});

test("an act is two requests of a trace, each with what is written of it", async () => {
  const receiver = await openOtlpReceiver();
  const traced = await startTraced(receiver.url);
  const needs = [{ action: "read", resource: { namespace: "files", path: ["notes", "a"] } }];
  const act = { version: 1, id: "act-1", tool: "summarize", needs, traceId: trace.id, arguments: { secret } };
  const begun = await traced.send("/v1/acts", { ...act, requestedAt: new Date().toISOString() });
  expect(begun.body).toMatchObject({ status: "allowed" });
  const outcome = { version: 1, traceId: trace.id, status: "failed", error: { code: secret, message: secret } };
  expect((await traced.send("/v1/acts/act-1/outcome", outcome)).body).toMatchObject({ status: "failed" });
  await traced.close();
  expect(tree(receiver.spans)).toEqual([
    { "POST /v1/acts": [{ "begin_act summarize": [{ authorize: ["commit"] }] }] },
    { "POST /v1/acts/{id}/outcome": [{ "finish_act summarize": ["commit"] }] },
  ]);
  expect(spanNamed(receiver, "finish_act summarize")).toMatchObject({
    isFailed: true,
    attributes: { "gen_ai.tool.call.id": "act-1", "turnpike.status": "failed", "error.type": "_OTHER" },
  });
  expect(receiver.texts.join()).not.toContain(secret);
});

for (const bad of ["", "nonsense", `00-${"0".repeat(32)}-${trace.parent}-01`, `ff-${trace.id}-${trace.parent}-01`]) {
  test(`the header ${JSON.stringify(bad)} names no trace, so one begins`, async () => {
    const receiver = await openOtlpReceiver();
    const { send, close } = await startTraced(receiver.url);
    await send("/v1/tools", undefined, { traceparent: bad });
    await close();
    const span = spanNamed(receiver, "GET /v1/tools");
    expect(span.parentSpanId).toBeUndefined();
    expect(span.traceId).toMatch(/^(?!0af7)[0-9a-f]{32}$/);
  });
}

test("an error of a tool is told of without its words", async () => {
  const receiver = await openOtlpReceiver();
  const traced = await startTraced(receiver.url);
  await enable(traced, "notes");
  expect((await traced.send("/v1/tools/invoke", call("notes.break", {}))).body).toMatchObject({ status: "failed" });
  await traced.close();
  expect(spanNamed(receiver, "execute_tool notes.break")).toMatchObject({
    isFailed: true,
    attributes: { "error.type": "_OTHER" },
  });
  expect(receiver.texts.join()).not.toContain(secret);
});

test("a caller who does not sample is not traced, and a sampler of the environment counts", async () => {
  const receiver = await openOtlpReceiver();
  vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_always_off");
  const { send, close } = await startTraced(receiver.url);
  await send("/v1/tools", undefined, { traceparent: `00-${trace.id}-${trace.parent}-00` });
  await send("/v1/tools", undefined, { traceparent: "none" });
  await send("/v1/reach");
  await close();
  expect(receiver.spans.map(({ name }) => name)).toEqual(["commit", "GET /v1/reach"]);
});

test("a call of an MCP server is a client's span, and the server is told the trace", async () => {
  const receiver = await openOtlpReceiver();
  const server = await startHttpServer();
  const seen: IncomingMessage["headers"][] = [];
  const proxy = createServer(async (incoming, outgoing) => {
    seen.push(incoming.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = incoming.headers;
    const body = Buffer.concat(chunks);
    const init = { method: incoming.method ?? "", headers: headers as Record<string, string> };
    const answer = await fetch(server.url, body.length > 0 ? { ...init, body } : init);
    outgoing.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    outgoing.end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
  const traced = await startTraced(receiver.url, { mcp: { servers: { test: { url } } } });
  await enable(traced, "mcp.test");
  // What the server lists is pinned when it is first asked.
  await traced.send("/v1/tools", undefined, { traceparent: `00-${trace.id}-${trace.parent}-00` });
  const { body } = await traced.send("/v1/tools/invoke", call("mcp.test.echo", { words: secret }));
  expect(body).toMatchObject({ status: "succeeded" });
  await traced.close();

  expect(tree(receiver.spans)).toEqual([
    {
      "POST /v1/tools/invoke": [
        { authorize: ["commit"] },
        "commit",
        { "execute_tool mcp.test.echo": ["tools/call echo"] },
      ],
    },
  ]);
  const span = spanNamed(receiver, "tools/call echo");
  expect(span).toMatchObject({
    kind: 3,
    attributes: { "mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "turnpike.mcp.server": "mcp.test" },
  });
  expect(seen.map((headers) => headers["traceparent"])).toContain(`00-${trace.id}-${span.spanId}-01`);
  expect(receiver.texts.join()).not.toContain(secret);
});

test("a turn, its steps, its model and its tools are in the trace of the caller who began it", async () => {
  const receiver = await openOtlpReceiver();
  const model = await openModelServer("anthropic", [
    callsTools({ id: "list", name: "files_list", arguments: { path: "notes" } }),
    says(secret),
  ]);
  const runtime = {
    kind: "model",
    provider: "anthropic",
    model: "model-1",
    baseUrl: model.url,
    apiKeyEnv: "MODEL_KEY",
  };
  const traced = await startTraced(receiver.url, { runtime });
  await enable(traced, "files");
  const message = {
    version: 1,
    id: "message-1",
    createdAt: new Date().toISOString(),
    traceId: trace.id,
    purpose: "support",
    sender: alice,
    receiver: assistant,
    payload: secret,
  };
  const body = { version: 1, executionId: "turn-1", agent: assistant, message };
  expect((await traced.send("/v1/turns", body, { prefer: "respond-async" })).status).toBe(202);
  await eventually(async () => {
    const state = (await traced.send("/v1/turns/turn-1", undefined, { traceparent: "none" })).body;
    expect(state).toMatchObject({ status: "succeeded" });
  });
  await traced.close();

  const names = receiver.spans.filter(({ traceId }) => traceId === trace.id).map(({ name }) => name);
  expect(names.filter((name) => name !== "commit").toSorted()).toEqual([
    "POST /v1/turns",
    "authorize",
    "authorize",
    "chat model-1",
    "chat model-1",
    "execute_tool files.list",
    "invoke_agent",
    "step",
    "step",
  ]);
  const parents = (name: string): (string | undefined)[] =>
    receiver.spans
      .filter((span) => span.name === name)
      .map(({ parentSpanId }) => receiver.spans.find(({ spanId }) => spanId === parentSpanId)?.name);
  expect(parents("invoke_agent")).toEqual(["POST /v1/turns"]);
  expect(parents("step")).toEqual(["invoke_agent", "invoke_agent"]);
  expect(parents("chat model-1")).toEqual(["step", "step"]);
  expect(parents("execute_tool files.list")).toEqual(["invoke_agent"]);
  expect(spanNamed(receiver, "chat model-1")).toMatchObject({
    kind: 3,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "model-1",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.response.finish_reasons": ["tool-calls"],
    },
  });
  expect(spanNamed(receiver, "invoke_agent").attributes).toMatchObject({
    "turnpike.execution_id": "turn-1",
    "turnpike.turn.status": "succeeded",
  });
  for (const planted of [secret, modelKey]) expect(receiver.texts.join()).not.toContain(planted);
});

for (const row of [
  { name: "is not there", open: () => Promise.resolve({ url: "http://127.0.0.1:9" }) },
  { name: "refuses", open: () => openOtlpReceiver(() => 400) },
  { name: "never answers", open: () => openOtlpReceiver(() => undefined) },
]) {
  test(`a collector that ${row.name} costs its spans, a number and one line of the log`, async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
    vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "1");
    const traced = await startTraced((await row.open()).url);
    for (let round = 1; round <= 3; round += 1) {
      expect((await traced.send("/v1/tools")).status).toBe(200);
      await eventually(async () => expect(Number(await traced.dropped())).toBeGreaterThanOrEqual(round));
    }
    const lines = traced.log.said.filter(({ message }) => message.startsWith("traces are dropped"));
    expect(lines).toHaveLength(1);
    await traced.close();
  });
}

test("without the variables nothing is traced, and with OTEL_SDK_DISABLED neither", async () => {
  const receiver = await openOtlpReceiver();
  const off = await startTraced(undefined);
  await off.send("/v1/tools");
  await off.close();
  vi.stubEnv("OTEL_SDK_DISABLED", "true");
  const disabled = await startTraced(receiver.url);
  await disabled.send("/v1/tools");
  await disabled.close();
  expect(receiver.requests).toEqual([]);
});

for (const row of [
  { name: "nothing of OpenTelemetry is loaded while it is off", env: {}, loaded: [] },
  {
    name: "OpenTelemetry is loaded once it is on",
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT: "100" },
    loaded: ["exporter-trace-otlp-http", "sdk-trace-base"],
  },
]) {
  test(row.name, async () => {
    const script = `
      import { createRequire } from "node:module";
      import { loadConfig, startHost } from "turnpike-host";
      const flags = { "listen.port": "0", database: ${JSON.stringify(join(temporaryFolder(), "turnpike.db"))} };
      const log = { info() {}, warn() {}, error() {} };
      const runtime = { manifest: { id: "none", version: "1" }, run: () => Promise.reject(new Error("none")) };
      const host = await startHost(loadConfig({ env: {}, flags }), { log, runtime });
      await fetch(host.url + "/health");
      await host.close();
      const files = Object.keys(createRequire(import.meta.url).cache).join();
      console.log(JSON.stringify(["exporter-trace-otlp-http", "sdk-trace-base"].filter((name) => files.includes("/" + name + "/"))));
    `;
    const env = { PATH: process.env["PATH"], ...row.env };
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      env,
      cwd: import.meta.dirname,
    });
    expect(JSON.parse(stdout)).toEqual(row.loaded);
  });
}

test("an endpoint that is no URL is refused with its name, and without its value", async () => {
  await expect(startTraced(`${secret}:4318`)).rejects.toThrow(
    /^OTEL_EXPORTER_OTLP_ENDPOINT: expected the http or https URL of a collector\.$/,
  );
});
