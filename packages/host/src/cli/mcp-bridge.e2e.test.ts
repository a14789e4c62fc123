import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import { eventually } from "../../test/host-calls.ts";
import type { McpPool } from "../mcp-servers/index.ts";
import { servedWorld } from "../../test/mcp/endpoint.ts";
import { now } from "../../test/records.ts";
import { runBridge } from "./mcp-bridge.ts";

/** A call that has reached the host. */
interface Held {
  options: ServiceApiCallOptions;
  release(): void;
}

/** A bridge to a host whose calls wait until they are released. */
function heldBridge(
  graceMs = 600_000,
  refuse: (request: Request) => Response | Promise<Response> | undefined = () => undefined,
  timeoutMs = 600_000,
) {
  const held = new Map<unknown, Held>();
  const hold = (api: ServiceApi): ServiceApi => ({
    ...api,
    invokeTool: (_context, { id: callId, tool, arguments: { note } }, options = {}) =>
      new Promise((resolve) => {
        const output = { note: note ?? null };
        const release = () => resolve({ status: "succeeded", callId, tool, completedAt: now, output });
        held.set(note, { options, release });
      }),
  });
  const listen: McpPool["listen"] = (_context, listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const world = servedWorld({ changeApi: hold, pool: { listen } });
  const input = new PassThrough();
  const written: Record<string, unknown>[] = [];
  const problems: string[] = [];
  const sent: Request[] = [];
  const listeners = new Set<(kind: "tools") => void>();
  const ended = runBridge({
    url: "http://turnpike.test",
    token: "assistant",
    input,
    write: (line) => written.push(JSON.parse(line) as Record<string, unknown>),
    report: (problem) => problems.push(problem),
    graceMs,
    retryMs: 1,
    timeoutMs,
    async fetch(target, init) {
      const request = new Request(target, init);
      sent.push(request);
      return (await refuse(request)) ?? world.serve(request);
    },
  });
  const say = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const call = (id: number | string, note: string): void => {
    const params = { name: "notes_read", arguments: { note }, _meta: { progressToken: `of ${note}` } };
    say({ id, method: "tools/call", params });
  };
  const cancel = (requestId?: number | string): void =>
    say({ method: "notifications/cancelled", params: { requestId } });
  const isRunning = (note: string): boolean | undefined => {
    const signal = held.get(note)?.options.signal;
    return signal && !signal.aborted;
  };
  const initialize = async (): Promise<void> => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    say({ id: 1, method: "initialize", params });
    await eventually(() => expect(written).toHaveLength(1));
    say({ method: "notifications/initialized" });
  };
  const streams = (): number => sent.filter(({ method }) => method === "GET").length;
  return {
    held,
    input,
    written,
    problems,
    sent,
    ended,
    say,
    call,
    cancel,
    isRunning,
    initialize,
    listeners,
    streams,
    listening: world.listening,
    revoke: world.revoke,
  };
}

describe("the bridge", () => {
  test("hands on how far a call has come while it runs, and then its answer", async () => {
    const { held, input, written, problems, ended, call } = heldBridge();
    call(1, "a");
    await eventually(() => expect(held.has("a")).toBe(true));
    held.get("a")?.options.onProgress?.({ progress: 1, total: 2, message: "half" });
    const params = { progressToken: "of a", progress: 1, total: 2, message: "half" };
    const half = { jsonrpc: "2.0", method: "notifications/progress", params };
    await eventually(() => expect(written).toEqual([half]));
    held.get("a")?.release();
    input.end();
    expect(await ended).toBe("all forwarded");
    expect(written).toMatchObject([half, { id: 1, result: { structuredContent: { note: "a" } } }]);
    expect(problems).toEqual([]);
  });

  test("ends a call that the client cancels, says nothing more about it, and lets the others run", async () => {
    const { held, input, written, ended, call, cancel, isRunning } = heldBridge();
    call(1, "a");
    call("1", "b");
    await eventually(() => expect(held.size).toBe(2));
    cancel(2);
    cancel();
    cancel(1);
    await eventually(() => expect(isRunning("a")).toBe(false));
    expect(isRunning("b")).toBe(true);
    held.get("a")?.release();
    held.get("b")?.release();
    input.end();
    expect(await ended).toBe("all forwarded");
    expect(written).toMatchObject([{ id: "1", result: { structuredContent: { note: "b" } } }]);
  });

  test("ends the calls of a client that has closed its input and waits no longer", async () => {
    const { held, input, written, ended, call, isRunning } = heldBridge(1);
    call(1, "a");
    await eventually(() => expect(held.has("a")).toBe(true));
    input.end();
    expect(await ended).toBe("all forwarded");
    await eventually(() => expect(isRunning("a")).toBe(false));
    expect(written).toEqual([]);
  });

  test("answers what a client asked before it closed its input", async () => {
    const { held, input, written, ended, call } = heldBridge();
    call(1, "a");
    input.end();
    await eventually(() => expect(held.has("a")).toBe(true));
    held.get("a")?.release();
    expect(await ended).toBe("all forwarded");
    expect(written).toMatchObject([{ id: 1 }]);
  });

  test("remembers the session and the version that the host gave", async () => {
    const { input, sent, ended, say, initialize } = heldBridge();
    await initialize();
    say({ id: 2, method: "tools/list" });
    input.end();
    expect(await ended).toBe("all forwarded");
    const given = sent
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => [headers.get("mcp-session-id"), headers.get("mcp-protocol-version")]);
    const session = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(given).toEqual([
      [null, null],
      [session, "2025-06-18"],
      [session, "2025-06-18"],
    ]);
    expect(new Set(given.slice(1).map(([id]) => id)).size).toBe(1);
  });

  const changed = (kind: string) => ({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed` });

  test("hands on that lists changed, once the client is initialized, and hangs up with it", async () => {
    const { input, written, problems, sent, ended, initialize, listeners, streams } = heldBridge();
    await initialize();
    await eventually(() => expect(listeners.size).toBe(1));
    for (const listener of listeners) listener("tools");
    await eventually(() => expect(written.slice(1)).toEqual([changed("tools")]));
    input.end();
    expect(await ended).toBe("all forwarded");
    expect(sent.find(({ method }) => method === "GET")?.signal.aborted).toBe(true);
    expect([problems, streams()]).toEqual([[], 1]);
  });

  for (const { name, refusal } of [
    { name: "does not answer", refusal: () => Promise.reject(new TypeError("fetch failed")) },
    { name: "has no stream to spare", refusal: () => new Response(null, { status: 429 }) },
  ])
    test(`asks a host again that ${name}, and says what may have changed meanwhile when a stream broke off`, async () => {
      let left = 2;
      const refuse = (request: Request) => (request.method === "GET" && left-- > 0 ? refusal() : undefined);
      const { input, written, problems, ended, initialize, listeners, listening, streams } = heldBridge(1, refuse);
      await initialize();
      await eventually(() => expect(listeners.size).toBe(1));
      expect([written.length, streams()]).toEqual([1, 3]);
      // The host ends its streams, and those that come.
      listening.close();
      await eventually(() =>
        expect(written.slice(1, 4)).toEqual([changed("tools"), changed("resources"), changed("prompts")]),
      );
      input.end();
      expect([await ended, problems]).toEqual(["all forwarded", []]);
    });

  test("holds a subscription of the newer protocol for longer than an answer may take", async () => {
    const { input, written, ended, say, call, listeners } = heldBridge(1, () => undefined, 50);
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { notifications: { toolsListChanged: true }, _meta: meta };
    say({ id: "listen", method: "subscriptions/listen", params });
    await eventually(() => expect(listeners.size).toBe(1));
    call(2, "never");
    await eventually(() => expect(written).toContainEqual(expect.objectContaining({ id: 2 })));
    for (const listener of listeners) listener("tools");
    await eventually(() =>
      expect(written).toContainEqual(expect.objectContaining({ method: "notifications/tools/list_changed" })),
    );
    expect(written).not.toContainEqual(expect.objectContaining({ id: "listen", error: expect.anything() as unknown }));
    input.end();
    await ended;
  });

  test("asks no more when the host refuses it", async () => {
    let isRefused = false;
    const refuse = ({ method }: Request) =>
      isRefused && method === "GET" ? new Response(null, { status: 401 }) : undefined;
    const { input, written, ended, initialize, listeners, revoke, streams, say } = heldBridge(1, refuse);
    await initialize();
    await eventually(() => expect(listeners.size).toBe(1));
    isRefused = true;
    revoke("assistant");
    for (const listener of listeners) listener("tools");
    await eventually(() => expect(streams()).toBe(2));
    say({ id: 2, method: "ping" });
    await eventually(() => expect(written).toContainEqual(expect.objectContaining({ id: 2 })));
    input.end();
    await ended;
    expect(streams()).toBe(2);
  });

  test("refuses an id that a running request has, as their answers could not be told apart", async () => {
    const { held, input, written, ended, call } = heldBridge();
    call(1, "a");
    await eventually(() => expect(held.has("a")).toBe(true));
    call(1, "b");
    await eventually(() => expect(written).toMatchObject([{ id: 1, error: { code: -32_600 } }]));
    held.get("a")?.release();
    input.end();
    await ended;
    expect(written[1]).toMatchObject({ id: 1, result: { structuredContent: { note: "a" } } });
    expect(held.has("b")).toBe(false);
  });

  test("sends no number that it would change, and says where it is", async () => {
    const { input, written, problems, sent, ended } = heldBridge();
    const params = (number: string): string => `"params":{"name":"notes_read","arguments":{"note":["a",${number}]}}`;
    input.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call",${params("1e-400")}}\n`);
    input.write('{"jsonrpc":"2.0","id":1e-400,"method":"ping"}\n');
    input.end('{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1e999}}\n');
    await ended;
    const rounded = "expected a number that is not rounded to 0; send it as a string";
    expect(written).toEqual([
      { jsonrpc: "2.0", id: 1, error: { code: -32_602, message: `/params/arguments/note/1: ${rounded}` } },
      { jsonrpc: "2.0", id: null, error: { code: -32_602, message: `/id: ${rounded}` } },
    ]);
    expect(problems).toEqual(["/params/n: expected a finite number"]);
    expect(sent).toEqual([]);
  });

  test("hands on nothing that still comes for a cancelled call", async () => {
    let answer: ReadableStreamDefaultController<string> | undefined;
    const stream = new ReadableStream<string>({ start: (controller) => void (answer = controller) });
    const input = new PassThrough();
    const written: string[] = [];
    const ended = runBridge({
      url: "http://turnpike.test",
      token: "assistant",
      input,
      write: (line) => written.push(line),
      report() {},
      // It does not stop when it is told to.
      fetch: async (_target, init) => {
        const isFirst = String(init?.body).includes("tools/call");
        if (!isFirst) return Response.json({ jsonrpc: "2.0", id: 2, result: {} });
        const headers = { "content-type": "text/event-stream" };
        return new Response(stream.pipeThrough(new TextEncoderStream()), { headers });
      },
    });
    const send = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const event = (message: object): void =>
      answer?.enqueue(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    send({ id: 1, method: "tools/call", params: { name: "notes_read" } });
    event({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
    await eventually(() => expect(written).toHaveLength(1));
    send({ method: "notifications/cancelled", params: { requestId: 1 } });
    send({ id: 2, method: "ping" });
    await eventually(() => expect(written).toHaveLength(2));
    event({ id: 1, result: { content: [] } });
    // This one belongs to no call, and comes behind the other.
    event({ method: "notifications/message", params: { level: "info", data: "end" } });
    await eventually(() => expect(written.at(-1)).toContain('"end"'));
    expect(written).toHaveLength(3);
    input.end();
    expect(await ended).toBe("all forwarded");
  });
});
