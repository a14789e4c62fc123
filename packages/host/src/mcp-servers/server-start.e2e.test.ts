import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { memoryPins } from "../../test/mcp/pins.ts";
import { contextOf, gist, isAlive, mcpWorld, testServer, textOf, toolNames } from "../../test/mcp/servers.ts";

const all = toolNames.map((name) => `mcp.test.${name}`);

/** A server that says nothing before a file is there, and what makes the file. */
function slowServer(changes: object = {}) {
  const file = join(temporaryFolder(), "started");
  return { test: { command: testServer("--start-after", file), ...changes }, start: () => writeFileSync(file, "") };
}

/** Pins that an earlier host left. */
async function pinsFromBefore() {
  const pins = memoryPins();
  const { pool, names } = mcpWorld({ test: { command: testServer() } }, { pins });
  expect(await names()).toEqual(all);
  await pool.close();
  return pins;
}

describe("a server that starts slowly", () => {
  test("is waited for by a first list, and said to be unavailable until then", async () => {
    const { test: server, start } = slowServer();
    const { pool, names } = mcpWorld({ test: server });
    const listing = names();
    expect(pool.unavailable(contextOf())).toEqual(["test"]);
    start();
    expect(await listing).toEqual(all);
    expect(pool.unavailable(contextOf())).toEqual([]);
  });

  test("is not waited for longer than it may take to start, and is unavailable then", async () => {
    const { test: server } = slowServer({ startTimeoutMs: 50 });
    const { pool, names, call } = mcpWorld({ test: server });
    expect(await names()).toEqual([]);
    expect(pool.unavailable(contextOf())).toEqual(["test"]);
    expect(await call("mcp.test.echo", { words: "x" })).toMatchObject({
      status: "failed",
      error: { code: "tool_catalog_unavailable", retryable: true },
    });
  });

  test("has the tools that are pinned, though it is not there, and a call waits for it", async () => {
    const { test: server, start } = slowServer();
    const { pool, names, call } = mcpWorld({ test: server }, { pins: await pinsFromBefore() });
    expect(await names()).toEqual(all);
    expect(pool.unavailable(contextOf())).toEqual(["test"]);
    const calling = call("mcp.test.echo", { words: "after all" });
    start();
    expect(textOf(await calling)).toBe("after all");
    expect(pool.unavailable(contextOf())).toEqual([]);
  });

  test("fails a call that waits longer than its time as one that can be made again", async () => {
    const { test: server } = slowServer({ timeoutMs: 50 });
    const { call } = mcpWorld({ test: server }, { pins: await pinsFromBefore() });
    expect(await call("mcp.test.echo", { words: "x" })).toMatchObject({
      status: "failed",
      error: { code: "tool_catalog_unavailable", retryable: true },
    });
  });

  test("has none of the tools that the pins of an earlier host do not have", async () => {
    const { test: server } = slowServer({ startTimeoutMs: 60_000 });
    const pins = await pinsFromBefore();
    const echo = (await pins.list("test")).filter(({ tool }) => tool === "echo");
    const some = memoryPins();
    await some.pin("test", echo, "human:oona");
    const { names, call } = mcpWorld({ test: server }, { pins: some });
    expect(await names()).toEqual(["mcp.test.echo"]);
    expect(gist(await call("mcp.test.issue", { org: "acme" }))).toBe("denied tool_unavailable");
  });

  test("does not reveal that it is missing to those it is not offered to, nor to those who have it off", async () => {
    const { test: server } = slowServer({ tenants: ["acme"], owners: ["human:alice"] });
    const { pool } = mcpWorld({ test: server });
    expect(pool.unavailable(contextOf())).toEqual(["test"]);
    expect(pool.unavailable(contextOf({ namespaceId: "globex" }))).toEqual([]);
    expect(pool.unavailable(contextOf({ owner: { kind: "human", userId: "bob" } }))).toEqual([]);
    expect(pool.unavailable(contextOf({ enabledToolNamespaces: ["files"] }))).toEqual([]);
  });
});

describe("a server that is started with the host", () => {
  test("is connected before a call needs it, and pins nothing by that", async () => {
    const pins = memoryPins();
    const { pool } = mcpWorld({ test: { command: testServer() } }, { pins });
    pool.start();
    await eventually(() => expect(pool.unavailable(contextOf())).toEqual([]));
    expect(await pins.list("test")).toEqual([]);
  });

  test("is not, when its configuration says that it starts when it is first used", async () => {
    const { pool, names } = mcpWorld({
      test: { command: testServer(), start: "first-use" },
      other: { command: testServer() },
    });
    pool.start();
    await eventually(() => expect(pool.unavailable(contextOf())).toEqual(["test"]));
    await names();
    expect(pool.unavailable(contextOf())).toEqual([]);
  });

  test("is started again when it has ended, without a call that needs it", async () => {
    const { pool, call } = mcpWorld({ test: { command: testServer() } });
    pool.start();
    const pid = Number(textOf(await call("mcp.test.pid")));
    process.kill(pid, "SIGKILL");
    await eventually(() => expect(isAlive(pid)).toBe(false));
    await eventually(async () => {
      expect(pool.unavailable(contextOf())).toEqual([]);
      expect(Number(textOf(await call("mcp.test.pid")))).not.toBe(pid);
    });
  });
});

describe("those who listen", () => {
  test("are told when a server comes, when its tools change and when an operator accepts them", async () => {
    const { test: server, start } = slowServer({ tenants: ["acme"] });
    const { pool, call, names } = mcpWorld({ test: server });
    const [told, others]: [string[], string[]] = [[], []];
    pool.listen(contextOf(), (kind) => void told.push(kind));
    pool.listen(contextOf({ namespaceId: "globex" }), (kind) => void others.push(kind));
    pool.start();
    start();
    await eventually(() => expect(told).toEqual(["tools"]));
    await names();
    await call("mcp.test.change");
    await eventually(() => expect(told).toEqual(["tools", "tools"]));
    const review = await pool.reviews.find("test");
    const open = (review?.tools ?? []).flatMap(({ now }) => now ?? []);
    expect(await pool.reviews.accept("test", open, "human:oona")).toBe(true);
    await eventually(() => expect(told).toEqual(["tools", "tools", "tools"]));
    expect(others).toEqual([]);
  });
});
