import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import {
  alice,
  contextOf,
  gist,
  isAlive,
  mcpWorld,
  startHttpServer,
  testServer,
  textOf,
  toolNames,
  type McpWorld,
} from "../../test/mcp/servers.ts";

const all = toolNames.map((name) => `mcp.test.${name}`);

describe("a server for some", () => {
  const command = testServer();
  for (const row of [
    { name: "tenants is there for them", server: { command, tenants: ["acme"] }, isThere: true },
    { name: "tenants is not there for others", server: { command, tenants: ["other"] }, isThere: false },
    { name: "owners is there for them", server: { command, owners: ["human:alice"] }, isThere: true },
    { name: "owners is not there for others", server: { command, owners: ["human:bob"] }, isThere: false },
    { name: "both has to be both", server: { command, tenants: ["acme"], owners: ["human:bob"] }, isThere: false },
    { name: "no tenant is not there", server: { command, tenants: [] }, isThere: false },
  ]) {
    test(row.name, async () => {
      const { names, call, pool } = mcpWorld({ test: row.server });
      expect(await names()).toEqual(row.isThere ? all : []);
      const result = await call("mcp.test.echo", { words: "a" });
      expect(result.status === "succeeded" ? "succeeded" : gist(result)).toBe(
        row.isThere ? "succeeded" : "denied tool_unavailable",
      );
      const context = { namespaceId: "acme", owner: alice } as never;
      expect(pool.isHidden("mcp.test", context)).toBe(!row.isThere);
      expect(pool.isHidden("files", context)).toBe(false);
    });
  }

  test("that is down is down for them alone", async () => {
    const { call } = mcpWorld({ test: { command: ["/no/such/program"], tenants: ["other"] } });
    expect(gist(await call("mcp.test.echo"))).toBe("denied tool_unavailable");
  });
});

describe("a server that is not there", () => {
  test("takes its own namespace down, is named with its code, and nothing else is touched", async () => {
    const { names, call, failures, logged } = mcpWorld({
      test: { command: ["/no/such/program"] },
      other: { command: testServer() },
    });
    expect(await names()).toEqual(toolNames.map((name) => `mcp.other.${name}`));
    expect(gist(await call("mcp.test.echo"))).toBe("failed tool_catalog_unavailable");
    expect(await call("mcp.other.echo", { words: "a" })).toMatchObject({ status: "succeeded" });
    expect(failures).toEqual([
      { port: "tools", id: "mcp.test" },
      { port: "tools", id: "mcp.test" },
    ]);
    expect(logged[0]).toEqual({
      level: "warn",
      message: "could not use MCP server, will retry",
      facts: {
        server: "test",
        error: "Error",
        code: "ENOENT",
        why: "the program /no/such/program is not found. Install it, or correct mcp.servers.test.command.",
        retryInMs: 250,
      },
    });
  });

  test("over HTTP is named alike", async () => {
    const { url, kill } = await startHttpServer();
    await kill();
    const { call, logged } = mcpWorld({ test: { url } });
    expect(gist(await call("mcp.test.echo"))).toBe("failed tool_catalog_unavailable");
    expect(logged).toMatchObject([{ message: "could not use MCP server, will retry", facts: { server: "test" } }]);
  });

  test("because it starts slowly continues to start when the caller who asked first has left", async () => {
    const gate = join(temporaryFolder(), "gate");
    const { kernel, names, logged } = mcpWorld({ test: { command: testServer("--start-after", gate) } });
    const leaving = new AbortController();
    const asked = kernel.listTools(contextOf(), { signal: leaving.signal });
    leaving.abort();
    await expect(asked).rejects.toThrow("aborted");
    writeFileSync(gate, "");
    expect(await names()).toEqual(all);
    expect(logged).toEqual([]);
  });
});

describe("a server that dies", () => {
  test("fails the call it dies of, and is started again after a pause; no call is made twice", async () => {
    const made = join(temporaryFolder(), "calls");
    const { call, logged } = mcpWorld({ test: { command: testServer("--die-at", "2", "--calls", made) } });
    expect(await call("mcp.test.echo", { words: "first" })).toMatchObject({ status: "succeeded" });
    expect(gist(await call("mcp.test.echo", { words: "second" }))).toBe("failed tool_execution_failed");
    await eventually(async () =>
      expect(await call("mcp.test.echo", { words: "again" })).toMatchObject({ status: "succeeded" }),
    );
    expect(readFileSync(made, "utf8")).toBe("echo\necho\necho\n");
    const why = "the program ended, or closed its standard output.";
    expect(logged).toMatchObject([
      {
        message: "could not use MCP server, will retry",
        facts: { server: "test", code: "CONNECTION_CLOSED", why, retryInMs: 250 },
      },
    ]);
  });

  test("over HTTP fails the call, and the next one finds it gone", async () => {
    const { url, kill } = await startHttpServer();
    const { call } = mcpWorld({ test: { url } });
    expect(await call("mcp.test.echo", { words: "first" })).toMatchObject({ status: "succeeded" });
    await kill();
    expect(gist(await call("mcp.test.echo", { words: "second" }))).toBe("failed tool_execution_failed");
    expect(gist(await call("mcp.test.echo", { words: "third" }))).toBe("failed tool_catalog_unavailable");
  });

  test("by far too large an answer fails its own call, and the server stays", async () => {
    const { call, logged } = mcpWorld({ test: { command: testServer(), maxOutputBytes: 1000 } });
    expect(gist(await call("mcp.test.huge", { bytes: 100_000 }))).toBe("failed output_too_large");
    expect(await call("mcp.test.echo", { words: "still here" })).toMatchObject({ status: "succeeded" });
    expect(logged).toEqual([]);
  });
});

test("by far too large an answer over HTTP is not read to its end, and the server stays", async () => {
  const { url } = await startHttpServer();
  const { call, logged } = mcpWorld({ test: { url, maxOutputBytes: 1000 } });
  expect(gist(await call("mcp.test.huge", { bytes: 1_000_000 }))).toBe("failed output_too_large");
  expect(await call("mcp.test.echo", { words: "still here" })).toMatchObject({ status: "succeeded" });
  expect(logged).toEqual([]);
});

test("what is no message on standard output is ignored", async () => {
  const { call } = mcpWorld({ test: { command: testServer("--garbage") } });
  expect(await call("mcp.test.echo", { words: "clear" })).toMatchObject({ status: "succeeded" });
});

test("a server that knows the newer handshake alone is spoken to in it", async () => {
  const { call, logged } = mcpWorld({ test: { command: testServer("--modern") } });
  expect(await call("mcp.test.echo", { words: "new" })).toMatchObject({ status: "succeeded" });
  expect(logged).toEqual([]);
});

describe("a child", () => {
  afterEach(() => void vi.unstubAllEnvs());

  interface Place {
    cwd: string;
    mode: number;
    home: string;
    temporary: string;
  }
  const placeOf = async (world: McpWorld): Promise<Place> => JSON.parse(textOf(await world.call("mcp.test.place")));

  test("gets a path and its own variables, a home that is its own, and nothing else of the host's", async () => {
    vi.stubEnv("TURNPIKE_DATABASE", "postgres://secret");
    vi.stubEnv("LOGNAME", "secret");
    const world = mcpWorld({ test: { command: testServer("--shared"), env: { KEY: "value" } } });
    const { cwd } = await placeOf(world);
    expect(JSON.parse(textOf(await world.call("mcp.test.variables")))).toEqual({
      KEY: "value",
      PATH: process.env["PATH"],
      HOME: cwd,
      TMPDIR: cwd,
    });
  });

  test("runs in a new folder that is closed to others and goes with it", async () => {
    const servers = { test: { command: testServer("--shared") } };
    const [world, other] = [mcpWorld(servers), mcpWorld(servers)];
    const { cwd, mode } = await placeOf(world);
    expect(mode & 0o777).toBe(0o700);
    expect(cwd).not.toBe(process.cwd());
    expect((await placeOf(other)).cwd).not.toBe(cwd);
    expect(existsSync(cwd)).toBe(true);
    await world.pool.close();
    expect(existsSync(cwd)).toBe(false);
  });

  test("that cannot be started leaves no folder behind", async () => {
    vi.stubEnv("TMPDIR", temporaryFolder());
    const { call } = mcpWorld({ test: { command: ["/no/such/program"] } });
    await call("mcp.test.echo");
    expect(readdirSync(tmpdir())).toEqual([]);
  });

  test("runs where the configuration says, and has what it says for a home", async () => {
    const folder = realpathSync(temporaryFolder());
    const server = { command: testServer("--shared"), cwd: folder, env: { HOME: folder } };
    const { cwd, home, temporary } = await placeOf(mcpWorld({ test: server }));
    expect({ cwd, home }).toEqual({ cwd: folder, home: folder });
    expect(temporary).not.toBe(folder);
  });

  test("is found by a path from where the host runs", async () => {
    const [program = "", ...args] = testServer();
    const { call } = mcpWorld({ test: { command: [relative(process.cwd(), program), ...args] } });
    expect(await call("mcp.test.echo", { words: "a" })).toMatchObject({ status: "succeeded" });
  });

  test("is heard in the log on its standard error, without its variables' values", async () => {
    const { call, logged } = mcpWorld({ test: { command: testServer("--shared"), env: { KEY: "hidden-key" } } });
    await call("mcp.test.complain", { words: "no paper \u202efor hidden-key\nnext" });
    const message = "MCP server on standard error";
    await eventually(() =>
      expect(logged).toEqual(
        ["no paper for ***", "next"].map((line) => ({ level: "info", message, facts: { server: "test", line } })),
      ),
    );
  });
});

test("headers come from the variables that are named", async () => {
  const seen: string[] = [];
  const server = createServer((incoming, outgoing) => {
    seen.push(String(incoming.headers.authorization));
    outgoing.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const config = { url: `http://127.0.0.1:${port}/mcp`, headersEnv: { authorization: "WIKI_TOKEN" } };
  const { call, logged } = mcpWorld({ test: config }, { env: { WIKI_TOKEN: "Bearer s3cret" } });
  expect(gist(await call("mcp.test.echo"))).toBe("failed tool_catalog_unavailable");
  expect(new Set(seen)).toEqual(new Set(["Bearer s3cret"]));
  expect(JSON.stringify(logged)).not.toContain("s3cret");
  server.close();
});

test("closing ends a server that stays when its input ends and when it is told to go", async () => {
  const { call, pool } = mcpWorld({ test: { command: testServer("--stubborn") } });
  const pid = Number(textOf(await call("mcp.test.pid")));
  expect(isAlive(pid)).toBe(true);
  await pool.close();
  expect(isAlive(pid)).toBe(false);
  expect(gist(await call("mcp.test.echo", { words: "x" }))).toBe("failed tool_catalog_unavailable");
});
