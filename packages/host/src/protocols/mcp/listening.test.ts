import { describe, expect, test } from "vitest";
import { eventually } from "../../../test/host-calls.ts";
import { servedWorld } from "../../../test/mcp/endpoint.ts";
import { connectClient } from "../../../test/mcp/servers.ts";

const url = "http://turnpike.test/mcp";

/** What clients of the newer revision say of themselves with every request. */
const clientMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A world whose servers change when a test says so, and how many listen. */
function world(limits: { streams?: number; sockets?: number } = {}) {
  const listeners = new Set<(kind: "tools" | "resources" | "prompts") => void>();
  const served = servedWorld({
    ...limits,
    pool: {
      listen(_context, listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
  });
  return {
    ...served,
    listeners,
    change: (kind: "tools" | "resources" | "prompts") => listeners.forEach((listener) => listener(kind)),
    open: (token = "assistant") =>
      served.serve(new Request(url, { headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" } })),
    subscribe: (token = "assistant") => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      };
      const asked = { notifications: { toolsListChanged: true }, _meta: clientMeta };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: asked });
      return served.serve(new Request(url, { method: "POST", headers, body }));
    },
  };
}

/** The next piece of a stream, as text. */
async function next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const { done, value } = await reader.read();
  return done ? undefined : new TextDecoder().decode(value);
}

describe("a client that listens", () => {
  for (const mode of ["legacy", "auto"] as const) {
    test(`is told that lists changed, in the ${mode === "legacy" ? "older" : "newer"} revision`, async () => {
      const { serve, listeners, change } = world();
      const client = await connectClient(url, "assistant", { mode, serve });
      const told: string[] = [];
      for (const kind of ["tools", "resources", "prompts"] as const)
        client.setNotificationHandler(`notifications/${kind}/list_changed`, () => void told.push(kind));
      if (mode === "auto")
        await client.listen({ toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true });
      await eventually(() => expect(listeners.size).toBe(1));
      change("tools");
      change("prompts");
      change("resources");
      await eventually(() => expect(told).toEqual(["tools", "prompts", "resources"]));
    });
  }

  test("needs a credential, and hears nothing more once that is not valid", async () => {
    const { open, revoke, change, listeners } = world();
    expect((await open("stranger")).status).toBe(401);
    const response = await open();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(await next(reader)).toBe(":\n\n");
    change("tools");
    expect(await next(reader)).toBe(
      'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n',
    );
    revoke("assistant");
    change("tools");
    expect(await next(reader)).toBeUndefined();
    expect(listeners.size).toBe(0);
  });

  test("has as many streams as a caller may have, in both revisions, of which those that it left do not count", async () => {
    const { open, subscribe, listeners } = world({ streams: 2 });
    const responses = [await open(), await subscribe()];
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    for (const refused of [await open(), await subscribe()])
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect([(await open("alice")).status, listeners.size]).toEqual([200, 3]);
    await responses[0]?.body?.cancel();
    expect((await subscribe()).status).toBe(200);
    expect((await open()).status).toBe(429);
    await responses[1]?.body?.cancel();
    expect((await open()).status).toBe(200);
    expect(listeners.size).toBe(3);
  });

  test("and all others together have half of the sockets, whatever each may have", async () => {
    const { open, subscribe } = world({ streams: 9, sockets: 4 });
    const first = await open();
    expect([first.status, (await subscribe("alice")).status]).toEqual([200, 200]);
    expect([(await open()).status, (await subscribe("alice")).status]).toEqual([429, 429]);
    await first.body?.cancel();
    expect((await subscribe("alice")).status).toBe(200);
  });

  test("is sent away when the host closes", async () => {
    const { open, listening, listeners } = world();
    const reader = ((await open()).body as ReadableStream<Uint8Array>).getReader();
    await next(reader);
    listening.close();
    expect(await next(reader)).toBeUndefined();
    const late = ((await open()).body as ReadableStream<Uint8Array>).getReader();
    expect(await next(late)).toBeUndefined();
    expect(listeners.size).toBe(0);
  });
});

test("a list says in `_meta` which servers are not there, and nothing when all are", async () => {
  const metaOf = async (unavailable: string[]) => {
    const { serve } = servedWorld({ pool: { unavailable: () => unavailable } });
    const client = await connectClient(url, "assistant", { serve });
    const lists = [client.listTools(), client.listResources(), client.listResourceTemplates(), client.listPrompts()];
    return (await Promise.all(lists)).map(({ _meta }) => _meta);
  };
  expect(await metaOf(["notes"])).toEqual(Array.from({ length: 4 }, () => ({ "turnpike/unavailable": ["notes"] })));
  expect(await metaOf([])).toEqual([undefined, undefined, undefined, undefined]);
});
