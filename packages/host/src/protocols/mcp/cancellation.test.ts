import { describe, expect, test } from "vitest";
import { eventually } from "../../../test/host-calls.ts";
import { servedWorld, type ServedWorld } from "../../../test/mcp/endpoint.ts";
import { connectClient } from "../../../test/mcp/servers.ts";

const url = "http://turnpike.test/mcp";

/** A call that runs, by the note that it was made with. */
type Running = Map<unknown, AbortSignal>;

/** A world whose calls never end by themselves, except quick ones. */
function waitingWorld(): { world: ServedWorld; running: Running } {
  const running: Running = new Map();
  const world = servedWorld({
    changeApi: (api) => ({
      ...api,
      invokeTool(context, call, options) {
        const { note } = call.arguments;
        if (note === "quick") return api.invokeTool(context, call, options);
        if (options?.signal !== undefined) running.set(note, options.signal);
        return new Promise(() => {});
      },
    }),
  });
  return { world, running };
}

const call = (note: string) => ({ name: "notes_read", arguments: { note } });
const isRunning = (running: Running, note: string): boolean | undefined =>
  running.has(note) ? running.get(note)?.aborted === false : undefined;

for (const mode of ["legacy", "auto"] as const) {
  test(`a client of the ${mode === "legacy" ? "older" : "newer"} protocol cancels its own call and no other`, async () => {
    const { world, running } = waitingWorld();
    const connect = (token: string) => connectClient(url, token, { mode, serve: world.serve });
    const clients = [await connect("assistant"), await connect("assistant"), await connect("alice")];
    const cancelling = new AbortController();
    const ended = clients.map((client, place) => {
      const { signal } = place === 0 ? cancelling : new AbortController();
      return client.callTool(call(`client ${place}`), { signal }).catch(() => "ended");
    });
    await eventually(() => expect(running.size).toBe(3));
    cancelling.abort();
    expect(await ended[0]).toBe("ended");
    await eventually(() => expect(isRunning(running, "client 0")).toBe(false));
    expect(isRunning(running, "client 1")).toBe(true);
    expect(isRunning(running, "client 2")).toBe(true);
  });
}

describe("a notification that a request is cancelled", () => {
  const post = (world: ServedWorld, body: object, headers: Record<string, string> = {}) =>
    world.serve(
      new Request(url, {
        method: "POST",
        headers: {
          authorization: "Bearer assistant",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...body }),
      }),
    );
  const begin = (world: ServedWorld, id: number | string, note: string, headers: Record<string, string> = {}) =>
    post(world, { id, method: "tools/call", params: call(note) }, headers);
  const cancel = (world: ServedWorld, params: object, headers: Record<string, string> = {}) =>
    post(world, { method: "notifications/cancelled", params }, headers);
  const own = { "mcp-session-id": "own" };

  for (const row of [
    { name: "of the same session ends the call", headers: own, params: { requestId: 7, reason: "enough" }, ends: true },
    { name: "of another session ends nothing", headers: { "mcp-session-id": "other" }, params: { requestId: 7 } },
    { name: "of no session ends nothing of a session", headers: {}, params: { requestId: 7 } },
    {
      name: "of another credential ends nothing",
      headers: { ...own, authorization: "Bearer alice" },
      params: { requestId: 7 },
    },
    { name: "with an id that no call has ends nothing", headers: own, params: { requestId: 8 } },
    { name: "with an id of another type ends nothing", headers: own, params: { requestId: "7" } },
    { name: "with no id ends nothing", headers: own, params: {} },
  ]) {
    test(`${row.name}, and is accepted`, async () => {
      const { world, running } = waitingWorld();
      await begin(world, 7, "a", own);
      await eventually(() => expect(isRunning(running, "a")).toBe(true));
      expect((await cancel(world, row.params, row.headers)).status).toBe(202);
      expect(isRunning(running, "a")).toBe(row.ends !== true);
    });
  }

  test("ends the answer to the call without a result, as the caller no longer waits for one", async () => {
    const { world, running } = waitingWorld();
    const answer = await begin(world, 7, "a", own);
    await eventually(() => expect(isRunning(running, "a")).toBe(true));
    await cancel(world, { requestId: 7 }, own);
    expect(await answer.text()).toBe("");
  });

  test("ends a call whose id another one had that is over", async () => {
    const { world, running } = waitingWorld();
    await (await begin(world, 7, "quick", own)).text();
    await begin(world, 7, "a", own);
    await eventually(() => expect(isRunning(running, "a")).toBe(true));
    await cancel(world, { requestId: 7 }, own);
    expect(isRunning(running, "a")).toBe(false);
  });

  test("of clients that send no session ends a call that is the only one with its id", async () => {
    const { world, running } = waitingWorld();
    await Promise.all([begin(world, 7, "a"), begin(world, 7, "b"), begin(world, 8, "c")]);
    await eventually(() => expect(running.size).toBe(3));
    await cancel(world, { requestId: 7 });
    expect(["a", "b", "c"].map((note) => isRunning(running, note))).toEqual([true, true, true]);
    await cancel(world, { requestId: 8 });
    expect(["a", "b", "c"].map((note) => isRunning(running, note))).toEqual([true, true, false]);
  });

  test("never meets the call of a client of the newer protocol, which has no session either", async () => {
    const { world, running } = waitingWorld();
    const client = await connectClient(url, "assistant", { mode: "auto", serve: world.serve });
    void client.callTool(call("newer")).catch(() => {});
    await eventually(() => expect(isRunning(running, "newer")).toBe(true));
    for (let requestId = 0; requestId < 10; requestId += 1) await cancel(world, { requestId });
    expect(isRunning(running, "newer")).toBe(true);
  });

  test("finds its call by the session that initializing gave, which no other client can know", async () => {
    const { world } = waitingWorld();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const begun = [1, 2].map(() => post(world, { id: 1, method: "initialize", params }));
    const sessions = (await Promise.all(begun)).map(({ headers }) => headers.get("mcp-session-id") ?? "");
    for (const session of sessions) expect(session).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(new Set(sessions).size).toBe(2);
  });
});
