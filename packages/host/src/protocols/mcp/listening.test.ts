import { describe, expect, test } from "vitest";
import { eventually } from "../../../test/host-calls.ts";
import { servedWorld } from "../../../test/mcp/endpoint.ts";
import { connectClient } from "../../../test/mcp/servers.ts";

const url = "http://turnpike.test/mcp";

/** A world whose servers change when a test says so, and how many listen. */
function world() {
  const listeners = new Set<(kind: "tools" | "resources" | "prompts") => void>();
  const served = servedWorld({
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
    expect((await open("nobody")).status).toBe(401);
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

  test("has a hundred streams at most, of which those that it left do not count", async () => {
    const { open, listeners } = world();
    const responses = await Promise.all(Array.from({ length: 100 }, () => open()));
    expect((await open()).status).toBe(429);
    expect((await open("alice")).status).toBe(200);
    await responses[0]?.body?.cancel();
    expect((await open()).status).toBe(200);
    expect(listeners.size).toBe(101);
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
