import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, type CallToolResult } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { listCall, makeCredential, makeGrant, makeTenant } from "../support/host-world.ts";
import { connectClient, isAlive, testServer } from "../../packages/host/test/mcp/servers.ts";

/** A host with these MCP servers in its configuration file. */
function startHost(servers: Record<string, unknown>, env: Record<string, string> = {}): Promise<HostProcess> {
  const folder = makeFolder();
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
  return startHostProcess({ folder, env });
}

async function enable(host: HostProcess, token: string, ...namespaces: string[]): Promise<unknown> {
  return (await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: namespaces } })).body;
}

async function names(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

/** A client that talks to the host through the command. */
async function connectBridge(host: HostProcess, token: string, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  const args = [turnpike, "mcp", "--url", host.url];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { TURNPIKE_TOKEN: token } }));
  return client;
}

/** The words of a result's first part. */
function said({ content }: CallToolResult): string {
  const [part] = content;
  return part?.type === "text" ? part.text : "";
}

describe("a host as an MCP server", () => {
  test("serves each credential what it may use, until it may not any more", async () => {
    const host = await startHostProcess({ folder: makeFolder() });
    const token = await makeTenant(host);
    const { id, token: second } = await makeCredential(host, { tenant: "other" });
    await makeGrant(host, { id: "list", tenant: "other", resource: "files/shared", actions: ["list"] });
    await enable(host, second, "files");
    const client = await connectClient(`${host.url}/mcp`, token, { mode: "auto" });
    const other = await connectClient(`${host.url}/mcp`, second);
    expect(await names(client)).toEqual(["files_list", "files_read"]);
    expect(await names(other)).toEqual(["files_list"]);

    const list = (path: string) => client.callTool({ name: "files_list", arguments: { path } });
    expect(await list("notes")).toMatchObject({ structuredContent: { entries: [] } });
    expect(await list("private")).toMatchObject({
      isError: true,
      _meta: { "turnpike/error": { status: "denied", code: "no_matching_grant" } },
    });
    const operator = { token: host.operatorToken() };
    await ask(host.url, "/admin/v1/grants/revoke", { ...operator, body: { namespaceId: "acme", id: "notes" } });
    expect(await list("notes")).toMatchObject({ _meta: { "turnpike/error": { code: "tool_unavailable" } } });
    await ask(host.url, "/admin/v1/credentials/revoke", { ...operator, body: { id } });
    await expect(names(other)).rejects.toMatchObject({ status: 401 });
  });

  test("sends a caller without a credential to no server, where tokens come from an operator", async () => {
    const host = await startHostProcess({ folder: makeFolder() });
    const refused = await fetch(`${host.url}/mcp`, { method: "POST", body: "{}" });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="turnpike"']);
    for (const page of ["oauth-protected-resource/mcp", "oauth-authorization-server"])
      expect((await fetch(`${host.url}/.well-known/${page}`)).status).toBe(404);
  });

  test("obeys the limits of every request, and logs no token and no argument", async () => {
    const limits = ["limits.bodyBytes=1000", "limits.requestsPerSecond=1", "limits.burst=4"];
    const args = ["serve", "--port", "0", ...limits.flatMap((limit) => ["--set", limit])];
    const host = await startHostProcess({ folder: makeFolder(), args });
    const { token } = await makeCredential(host);
    const post = (path: string) => {
      const params = { name: "files.list", arguments: { path } };
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      return ask(host.url, "/mcp", { token, headers, body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    };
    expect((await post("x".repeat(1000))).status).toBe(413);
    const answer = await post("hidden-argument");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-trace-id")).not.toBeNull();
    expect(answer.headers.get("ratelimit")).toMatch(/^"default"/);
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await post("again")).status));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    await host.stop();
    expect(host.stderr()).toContain('"route":"/mcp"');
    expect(host.stderr()).not.toMatch(/hidden-argument|tp_/);
  });
});

describe("a host with MCP servers", () => {
  test("offers them in namespaces that are off by default, and those of others to no one", async () => {
    const host = await startHost({
      test: { command: testServer(), rules: { issue: { path: ["$org"] } } },
      theirs: { command: testServer(), tenants: ["other"] },
    });
    const token = await makeTenant(host);
    await makeGrant(host, { id: "issue", resource: "mcp.test/issue/acme", actions: ["call"] });
    const client = await connectClient(`${host.url}/mcp`, token);
    expect(await names(client)).toEqual(["files_list", "files_read"]);
    expect(await enable(host, token, "mcp.test", "mcp.theirs")).toMatchObject({
      namespaces: [
        { namespace: "files", enabled: true },
        { namespace: "mcp.test", enabled: true, toolCount: 12 },
        { namespace: "messages", enabled: false },
        { namespace: "service", enabled: false },
      ],
    });
    expect(await names(client)).toEqual(["files_list", "files_read", "mcp_test_issue"]);
    const issue = (org: string) => client.callTool({ name: "mcp_test_issue", arguments: { org, repo: "site" } });
    expect(said(await issue("acme"))).toContain("opened in acme/site");
    expect(await issue("evil")).toMatchObject({ isError: true, _meta: { "turnpike/error": { status: "denied" } } });
  });

  test("lets a tenant's call finish when others hang up in the middle of theirs, in every way", async () => {
    const notes = join(makeFolder(), "calls");
    const host = await startHost({ test: { command: testServer("--shared", "--calls", notes) } });
    const tenant = async (name: string): Promise<string> => {
      const token = await makeTenant(host, { tenant: name });
      await makeGrant(host, { id: "all", tenant: name, resource: "mcp.test", actions: ["call"] });
      await enable(host, token, "mcp.test");
      return token;
    };
    const [own, others] = [await tenant("acme"), await tenant("other")];
    const client = await connectClient(`${host.url}/mcp`, own);
    const held = (words: string) => ({ name: "mcp.test.hold", arguments: { words } });
    const noted = (line: string) =>
      readFileSync(notes, "utf8")
        .split("\n")
        .filter((one) => one === line).length;
    const calls = (count: number) => eventually(() => expect(noted("hold")).toBe(count));
    await client.callTool({ name: "mcp.test.echo", arguments: { words: "first" } });
    const finishing = client.callTool(held("finishing"));
    await calls(1);

    for (const [index, mode] of (["legacy", "auto"] as const).entries()) {
      const leaving = await connectClient(`${host.url}/mcp`, others, { mode });
      const left = leaving.callTool(held(mode)).catch(() => "left");
      await calls(2 + index);
      await leaving.close();
      expect(await left).toBe("left");
      await eventually(() => expect(noted(`cancelled ${mode}`)).toBe(1));
    }
    const notifying = await connectClient(`${host.url}/mcp`, others, { mode: "legacy" });
    const cancelling = new AbortController();
    const cancelled = notifying.callTool(held("notified"), { signal: cancelling.signal }).catch(() => "cancelled");
    await calls(4);
    cancelling.abort();
    expect(await cancelled).toBe("cancelled");
    await eventually(() => expect(noted("cancelled notified")).toBe(1));
    expect(await names(notifying)).toContain("mcp_test_hold");

    for (const [index, mode] of (["legacy", "auto"] as const).entries()) {
      const bridged = await connectBridge(host, others, mode);
      const cancellingBridged = new AbortController();
      const { signal } = cancellingBridged;
      const cancelledBridged = bridged.callTool(held(`bridged-${mode}`), { signal }).catch(() => "cancelled");
      await calls(5 + index);
      cancellingBridged.abort();
      expect(await cancelledBridged).toBe("cancelled");
      await eventually(() => expect(noted(`cancelled bridged-${mode}`)).toBe(1));
      expect(await names(bridged)).toContain("mcp_test_hold");
    }

    const hangingUp = new AbortController();
    const left = fetch(`${host.url}/v1/tools/invoke`, {
      method: "POST",
      headers: { authorization: `Bearer ${others}`, "x-trace-id": "trace-1" },
      body: JSON.stringify({
        ...listCall("call-1", "trace-1"),
        tool: "mcp.test.hold",
        arguments: { words: "service" },
      }),
      signal: hangingUp.signal,
    }).catch(() => "left");
    await calls(7);
    hangingUp.abort();
    expect(await left).toBe("left");
    await eventually(() => expect(noted("cancelled service")).toBe(1));

    await client.callTool({ name: "mcp.test.release", arguments: {} });
    expect(said(await finishing)).toContain("finishing");
    expect(host.stderr()).not.toContain("could not use MCP server, will retry");
  });

  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    test(`leaves no process behind after ${signal}`, async () => {
      const host = await startHost({ test: { command: testServer() } });
      const token = await makeTenant(host);
      await makeGrant(host, { id: "pid", resource: "mcp.test/pid", actions: ["call"] });
      await enable(host, token, "mcp.test");
      const client = await connectClient(`${host.url}/mcp`, token);
      const [pid] = /\d+/.exec(said(await client.callTool({ name: "mcp_test_pid", arguments: {} }))) ?? [];
      expect(isAlive(Number(pid))).toBe(true);
      const exit = await host.stop(signal);
      expect(exit.code).toBe(signal === "SIGTERM" ? 0 : null);
      await eventually(() => expect(isAlive(Number(pid))).toBe(false));
    });
  }

  test("says in a header of the list of tools whose servers are not there, to those who have them alone", async () => {
    const folder = makeFolder();
    const started = join(folder, "started");
    const slow = { command: testServer("--start-after", started), tenants: ["acme"] };
    const servers = { slow, there: { command: testServer() } };
    writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
    writeFileSync(started, "");
    let host = await startHostProcess({ folder });
    const token = await makeTenant(host);
    const elsewhere = await makeTenant(host, { tenant: "elsewhere" });
    const unavailable = async (bearer: string): Promise<string | null> =>
      (await ask(host.url, "/v1/tools", { token: bearer })).headers.get("x-tools-unavailable");
    for (const bearer of [token, elsewhere]) await enable(host, bearer, "mcp.slow", "mcp.there");
    // What is pinned now is listed below without the server.
    await eventually(async () => expect(await unavailable(token)).toBeNull());
    await host.stop();
    rmSync(started);
    host = await startHostProcess({ folder });
    await eventually(async () => expect(await unavailable(token)).toBe("mcp.slow"));
    expect([await unavailable(token), await unavailable(elsewhere)]).toEqual(["mcp.slow", null]);
    writeFileSync(started, "");
    await eventually(async () => expect(await unavailable(token)).toBeNull());
  });

  test("does not start when the variable of a header is not set, and says which", async () => {
    const servers = { wiki: { url: "https://wiki.example.com", headersEnv: { authorization: "WIKI_TOKEN" } } };
    await expect(startHost(servers)).rejects.toThrow(
      "mcp.servers.wiki.headersEnv.authorization: the variable WIKI_TOKEN is not set.",
    );
  });

  test("can have another host for a server: both of them have to allow a call", async () => {
    const upstream = await startHostProcess({ folder: makeFolder() });
    const token = await makeTenant(upstream, { tenant: "upstream" });
    const server = {
      url: `${upstream.url}/mcp`,
      headersEnv: { authorization: "UPSTREAM" },
      rules: { files_list: { path: ["$path"] } },
    };
    const host = await startHost({ next: server }, { UPSTREAM: `Bearer ${token}` });
    const own = await makeTenant(host);
    for (const path of ["notes", "private"]) {
      await makeGrant(host, { id: `next-${path}`, resource: `mcp.next/files_list/${path}`, actions: ["call"] });
    }
    await enable(host, own, "mcp.next");
    const client = await connectClient(`${host.url}/mcp`, own);
    expect(await names(client)).toContain("mcp_next_files_list");
    const list = (path: string) => client.callTool({ name: "mcp_next_files_list", arguments: { path } });
    expect(await list("notes")).toMatchObject({ structuredContent: { entries: [] } });
    const refused = await list("private");
    expect(refused).toMatchObject({
      isError: true,
      _meta: { "turnpike/error": { status: "failed", code: "mcp_tool_error" } },
    });
    expect(said(refused)).toContain("denied (no_matching_grant): No grant covers the act.");
    expect(await list("elsewhere")).toMatchObject({
      isError: true,
      _meta: { "turnpike/error": { status: "denied", code: "no_matching_grant" } },
    });
    await upstream.stop();
    expect(await list("notes")).toMatchObject({ isError: true, _meta: { "turnpike/error": { status: "failed" } } });
    // What was accepted of it stays listed while it is away.
    expect(await names(client)).toEqual(["files_list", "files_read", "mcp_next_files_list"]);
  });
});
