import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { capability, gist, grantOf, mcpWorld, startHttpServer, toolNames } from "../../test/mcp/servers.ts";

const bob = { kind: "human", userId: "bob" } as const;
const all = toolNames.map((name) => `mcp.test.${name}`);

interface Seen {
  key: string | undefined;
  session: string | undefined;
  body: string;
}

/** The test server behind a gate that takes these keys alone, and notes with which key each request came. */
async function startGuarded(keys: Set<string>): Promise<{ url: string; seen: Seen[] }> {
  const upstream = await startHttpServer();
  const seen: Seen[] = [];
  const gate = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { authorization: key, "mcp-session-id": session } = incoming.headers;
    seen.push({ key, session: session === undefined ? undefined : String(session), body });
    if (key === undefined || !keys.has(key)) return void outgoing.writeHead(401).end();
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = incoming.headers;
    const sent = { method: incoming.method ?? "GET", headers: headers as Record<string, string> };
    const response = await fetch(upstream.url, { ...sent, ...(body !== "" && { body }) });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    gate.closeAllConnections();
    gate.close();
  });
  return { url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}/mcp`, seen };
}

/** A world in which Alice and Bob of two tenants use one server, each with a key of their own. */
async function openOwners() {
  const folder = temporaryFolder();
  const keys = new Set<string>();
  const { url, seen } = await startGuarded(keys);
  const put = (tenant: string, owner: string, key = `Bearer ${tenant}-${owner}`): void => {
    mkdirSync(join(folder, tenant), { recursive: true });
    writeFileSync(join(folder, tenant, owner), `${key}\n`);
    keys.add(key);
  };
  const held = ["acme", "other"].flatMap((namespaceId) =>
    [undefined, bob].map((issuer) =>
      grantOf(`${namespaceId}-${issuer?.userId ?? "alice"}`, [capability("mcp.test", ["call"])], {
        namespaceId,
        ...(issuer && { issuer }),
      }),
    ),
  );
  const headers = { authorization: { file: join(folder, "{tenant}", "{owner}") } };
  const world = mcpWorld({ test: { url, headers } }, { held });
  const echo = async (words: string, changes: object = {}): Promise<unknown> =>
    gist(await world.call("mcp.test.echo", { words }, changes));
  /** The keys with which a text came to the server. */
  const keysOf = (text: string): unknown[] => seen.filter(({ body }) => body.includes(text)).map(({ key }) => key);
  return { ...world, folder, keys, seen, put, echo, keysOf };
}

const said = (text: string) => ({ content: [{ type: "text", text }] });
const asBob = { owner: bob, authority: bob };

describe("a server whose header belongs to the owner", () => {
  test("is called with the key of the owner that the call is for, and with no other owner's", async () => {
    const { put, echo, keysOf, seen } = await openOwners();
    for (const tenant of ["acme", "other"]) for (const owner of ["human:alice", "human:bob"]) put(tenant, owner);
    const calls = [
      { text: "first", changes: {}, key: "Bearer acme-human:alice" },
      { text: "second", changes: asBob, key: "Bearer acme-human:bob" },
      { text: "third", changes: { namespaceId: "other" }, key: "Bearer other-human:alice" },
      { text: "fourth", changes: { namespaceId: "other", ...asBob }, key: "Bearer other-human:bob" },
      { text: "fifth", changes: {}, key: "Bearer acme-human:alice" },
    ];
    for (const { text, changes } of calls) expect(await echo(text, changes)).toEqual(said(text));
    const together = await Promise.all(calls.map(({ text, changes }) => echo(`${text} again`, changes)));
    expect(together).toEqual(calls.map(({ text }) => said(`${text} again`)));
    for (const { text, key } of calls) expect(new Set(keysOf(text))).toEqual(new Set([key]));
    // Each has a list of their own, too.
    const listed = seen.filter(({ body }) => body.includes("tools/list")).map(({ key }) => key);
    expect(new Set(listed)).toEqual(new Set(calls.map(({ key }) => key)));
  });

  test("is unavailable for an owner without a key, which the log names with the reason, and for no other owner", async () => {
    const { put, echo, names, logged, seen } = await openOwners();
    put("acme", "human:alice");
    expect(await echo("a", asBob)).toBe("failed tool_catalog_unavailable");
    expect(await names(asBob)).toEqual([]);
    expect(seen).toEqual([]);
    expect(await echo("a")).toEqual(said("a"));
    expect(await names()).toEqual(all);
    expect(logged[0]).toEqual({
      level: "warn",
      message: "could not use MCP server, will retry",
      facts: {
        server: "test",
        tenant: "acme",
        owner: "human:bob",
        error: "HeaderSecretError",
        why: "authorization: the file cannot be read (ENOENT). Correct mcp.servers.test.headers.",
        retryInMs: 250,
      },
    });
    expect(JSON.stringify(logged)).not.toContain("Bearer");
  });

  test("gets another key as soon as it refused the one before", async () => {
    const { put, echo, keys, keysOf } = await openOwners();
    put("acme", "human:alice", "Bearer one");
    expect(await echo("before")).toEqual(said("before"));
    keys.clear();
    put("acme", "human:alice", "Bearer two");
    expect(await echo("refused")).toBe("failed tool_execution_failed");
    expect(await echo("after")).toEqual(said("after"));
    expect(keysOf("refused")).toEqual(["Bearer one"]);
    expect(keysOf("after")).toEqual(["Bearer two"]);
  });

  test("is not there any more for an owner whose key was taken away, once the one before is forgotten", async () => {
    const { put, echo, keys, folder } = await openOwners();
    put("acme", "human:alice");
    expect(await echo("before")).toEqual(said("before"));
    keys.clear();
    rmSync(join(folder, "acme", "human:alice"));
    expect(await echo("refused")).toBe("failed tool_execution_failed");
    expect(await echo("after")).toBe("failed tool_catalog_unavailable");
  });

  test("has one set of pins for all owners, and a review that shows what any of them was last listed", async () => {
    const { put, echo, pool } = await openOwners();
    for (const owner of ["human:alice", "human:bob"]) put("acme", owner);
    expect(await pool.reviews.find("test")).toEqual({ server: "test", isAvailable: false, tools: [] });
    await echo("a");
    await echo("a", asBob);
    const review = await pool.reviews.find("test");
    expect(review?.isAvailable).toBe(true);
    expect(new Set(review?.tools.map(({ state }) => state))).toEqual(new Set(["pinned"]));
    expect(review?.tools).toHaveLength(toolNames.length);
  });
});

test("a header from a file that is the same for all owners has one connection, and a review that lists its tools", async () => {
  const file = join(temporaryFolder(), "key");
  writeFileSync(file, "Bearer all");
  const { url } = await startGuarded(new Set(["Bearer all"]));
  const { names, pool } = mcpWorld({ test: { url, headers: { authorization: { file } } } });
  expect((await pool.reviews.find("test"))?.tools.map(({ state }) => state)).toEqual(toolNames.map(() => "new"));
  expect(await names()).toEqual(all);
});
