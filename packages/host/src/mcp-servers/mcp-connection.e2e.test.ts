import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SdkError, SdkErrorCode } from "@modelcontextprotocol/server";
import { createTurnExecutor, type RuntimePlugin } from "turnpike/runtime";
import type { ToolResult } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import {
  alice,
  assistant,
  capability,
  contextOf,
  gist,
  grantOf,
  isAlive,
  mcpWorld,
  now,
  startHttpServer,
  testServer,
  textOf,
  type McpWorld,
} from "../../test/mcp/servers.ts";

type Kind = "stdio" | "HTTP";

/** Two tenants who may use one server, and a call of the second one that the server holds. */
async function twoTenants(kind: Kind, settings: object = {}) {
  const notes = join(temporaryFolder(), "calls");
  const flags = ["--shared", "--calls", notes];
  const server = kind === "stdio" ? { command: testServer(...flags) } : { url: (await startHttpServer(...flags)).url };
  const capabilities = [capability("mcp.test", ["call"]), capability("service.execution", ["invoke"])];
  const held = ["acme", "other"].map((namespaceId) => grantOf(namespaceId, capabilities, { namespaceId }));
  const world = mcpWorld({ test: { ...server, ...settings } }, { held });
  const noted = (): string[] => readFileSync(notes, "utf8").trimEnd().split("\n");
  const hold = async (
    words: string,
    changes: object,
    signal?: AbortSignal,
  ): Promise<{ result: Promise<ToolResult> }> => {
    const before = noted().filter((line) => line === "hold").length;
    const result = world.call("mcp.test.hold", { words }, changes, signal && { signal });
    await eventually(() => expect(noted().filter((line) => line === "hold")).toHaveLength(before + 1));
    return { result };
  };
  await world.call("mcp.test.echo", { words: "first" });
  const theirs = await hold("theirs", { namespaceId: "other" });
  return { ...world, noted, hold, theirs: theirs.result };
}

async function finishes({ call, theirs, logged }: Pick<McpWorld, "call" | "logged"> & { theirs: Promise<ToolResult> }) {
  expect(textOf(await call("mcp.test.release"))).toBe("released");
  expect(textOf(await theirs)).toBe("theirs");
  expect(logged).toEqual([]);
}

for (const kind of ["stdio", "HTTP"] as const) {
  describe(`over ${kind}, a call of another tenant finishes`, () => {
    for (const row of [
      { name: "leaves", reason: undefined },
      { name: "hangs up, which reads as a closed connection", reason: connectionClosed() },
    ]) {
      test(`when a caller ${row.name}, and the server is told to cancel that caller's call alone`, async () => {
        const world = await twoTenants(kind);
        const leaving = new AbortController();
        const mine = await world.hold("mine", {}, leaving.signal);
        leaving.abort(row.reason);
        expect(gist(await mine.result)).toBe("failed tool_execution_failed");
        await eventually(() => expect(world.noted()).toContain("cancelled mine"));
        expect(world.noted()).not.toContain("cancelled theirs");
        await finishes(world);
      });
    }

    test("when a turn is cancelled in the middle of its call", async () => {
      const world = await twoTenants(kind);
      const leaving = new AbortController();
      const runtime: RuntimePlugin = {
        manifest: { id: "caller", version: "1" },
        async run(_turn, host) {
          const about = { id: "held", tool: "mcp.test.hold", requestedAt: now, traceId: "trace-1" };
          await host.invokeTool({ ...about, arguments: { words: "mine" } });
          return { type: "complete", output: null };
        },
      };
      const running = createTurnExecutor({ kernel: world.kernel, runtime }).execute(turnOf(), {
        signal: leaving.signal,
      });
      await eventually(() => expect(world.noted().filter((line) => line === "hold")).toHaveLength(2));
      leaving.abort(connectionClosed());
      await running.catch(() => {});
      await eventually(() => expect(world.noted()).toContain("cancelled mine"));
      await finishes(world);
    });

    for (const row of [
      { name: "an answer is too large", tool: "huge", args: { bytes: 100_000 }, gist: "failed output_too_large" },
      { name: "a call is refused", tool: "refuse", args: {}, gist: "failed mcp_tool_error" },
      { name: "a call fails", tool: "fail", args: { words: "no" }, gist: "failed mcp_tool_error" },
    ]) {
      test(`when ${row.name}`, async () => {
        const world = await twoTenants(kind, { maxOutputBytes: 1000 });
        expect(gist(await world.call(`mcp.test.${row.tool}`, row.args))).toBe(row.gist);
        await finishes(world);
      });
    }
  });

  test(`over ${kind}, a call of another tenant finishes when an answer has too many parts`, async () => {
    const world = await twoTenants(kind);
    expect(gist(await world.call("mcp.test.parts", { count: 100_000 }))).toBe("failed output_too_large");
    await finishes(world);
  });

  test(`over ${kind}, a server that is really gone fails every caller's calls, and is tried again`, async () => {
    const { call, theirs, logged } = await twoTenants(kind);
    expect(gist(await call("mcp.test.die"))).toBe("failed tool_execution_failed");
    expect(gist(await theirs)).toBe("failed tool_execution_failed");
    // A program is started again, and the next call waits for it. The host does not start a server elsewhere again.
    const next = await call("mcp.test.echo", { words: "again" });
    const again = { content: [{ type: "text", text: "again" }] };
    expect(gist(next)).toEqual(kind === "stdio" ? again : "failed tool_catalog_unavailable");
    expect(logged[0]).toMatchObject({ message: "could not use MCP server, will retry" });
  });
}

for (const kind of ["stdio", "HTTP"] as const) {
  /** The server stops answering what its tools are while it holds a call. */
  const spoiled = async () => {
    const world = await twoTenants(kind);
    const pid = Number(textOf(await world.call("mcp.test.pid")));
    await world.call("mcp.test.spoil");
    // What the server says by itself is not heard over HTTP: there an answer that is broken makes the list stale.
    if (kind === "HTTP") await world.call("mcp.test.garble", { how: "json" });
    const next = await world.call("mcp.test.echo", { words: "a" });
    const said = { content: [{ type: "text", text: "a" }] };
    expect(gist(next)).toEqual(kind === "stdio" ? said : "failed tool_catalog_unavailable");
    expect(world.logged[0]).toMatchObject({ message: "could not use MCP server, will retry" });
    return { ...world, pid };
  };

  test(`over ${kind}, a connection that is given up ends when the calls that run on it have ended`, async () => {
    const { theirs, pid } = await spoiled();
    process.kill(pid, "SIGUSR2");
    expect(textOf(await theirs)).toBe("theirs");
    // A server elsewhere is let go; one that the host started is ended.
    await eventually(() => expect(isAlive(pid)).toBe(kind === "HTTP"));
  });

  test(`over ${kind}, a connection that is given up does not wait for its calls when the host closes`, async () => {
    const { theirs, pool } = await spoiled();
    await pool.close();
    expect(gist(await theirs)).toBe("failed tool_execution_failed");
  });
}

test("over stdio, a call of another tenant finishes when the server floods its output", async () => {
  const { call, theirs, logged } = await twoTenants("stdio");
  const message = "MCP server says more than is read, and is slowed down";
  // On a busy machine one flood may be read as slowly as it is allowed to come.
  await eventually(async () => {
    expect(textOf(await call("mcp.test.flood", { lines: 2500 }))).toBe("flooded");
    expect(logged).toEqual([{ level: "warn", facts: { server: "test" }, message }]);
  });
  expect(textOf(await call("mcp.test.release"))).toBe("released");
  expect(textOf(await theirs)).toBe("theirs");
});

describe("over HTTP, a call of another tenant finishes, and so does the next one,", () => {
  for (const how of ["json", "message", "kind", "gone", "locked", "failed", "cut", "stream", "silence"]) {
    test(`when the server breaks the answer of one call: ${how}`, async () => {
      const world = await twoTenants("HTTP");
      expect(gist(await world.call("mcp.test.garble", { how }))).toBe("failed tool_execution_failed");
      await finishes(world);
    });
  }
});

function connectionClosed(): SdkError {
  return new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
}

function turnOf() {
  const message = {
    version: 1 as const,
    id: "message",
    createdAt: now,
    traceId: "trace-1",
    purpose: "support",
    sender: alice,
    receiver: assistant,
    payload: {},
  };
  return { version: 1 as const, executionId: "turn", agent: assistant, message, context: contextOf() };
}
