import { describe, expect, test } from "vitest";
import { memoryPins, type MemoryPins } from "../../test/mcp/pins.ts";
import { silentLog, type Logged } from "../../test/mcp/servers.ts";
import { readTool, type McpTool } from "./mcp-tool.ts";
import { createToolPins } from "./tool-pins.ts";
import { createReviews } from "./tool-review.ts";

const origin = { server: "notes", connection: "" };

/** Tools by name; `echo@2` is another definition of `echo`. */
function tools(...names: readonly string[]): Map<string, McpTool> {
  return new Map(
    names.map((text) => {
      const [name = "", version = "1"] = text.split("@");
      const reading = readTool("notes", { name, description: `Version ${version}.`, inputSchema: { type: "object" } });
      if (!reading.ok) throw new Error(reading.why);
      return [name, reading.tool];
    }),
  );
}

function hashOf(text: string): string {
  return [...tools(text).values()][0]?.hash ?? "";
}

function open(store: MemoryPins = memoryPins()) {
  const logged: Logged[] = [];
  let current = tools();
  let isDown = false;
  const pins = createToolPins({
    store,
    log: silentLog(logged),
    pinFirst: (server, all) => store.pinFirst(server, all, "service:host"),
  });
  const look = async (): Promise<Map<string, McpTool>> => {
    if (isDown) throw new Error("down");
    return current;
  };
  const reviews = createReviews(new Map([["notes", look]]), store, pins);
  return {
    store,
    pins,
    reviews,
    logged,
    /** What the server lists from now on, and what of it may be used. */
    async list(...names: readonly string[]): Promise<string[]> {
      current = tools(...names);
      return [...(await pins.usable(origin, current)).keys()];
    },
    has: (...names: readonly string[]) => void (current = tools(...names)),
    goDown: () => void (isDown = true),
    states: async () => (await reviews.find("notes"))?.tools.map(({ tool, state }) => `${tool} ${state}`),
    accept: (...texts: readonly string[]) =>
      reviews.accept(
        "notes",
        texts.map((text) => ({ tool: text.split("@")[0] ?? "", hash: hashOf(text) })),
        "human:oona",
      ),
  };
}

describe("the tools of a server that may be used", () => {
  test("are all of the first list, which is pinned", async () => {
    const { list, store } = open();
    expect(await list("echo", "sum")).toEqual(["echo", "sum"]);
    expect((await store.list("notes")).map(({ tool, by }) => `${tool} ${by}`)).toEqual([
      "echo service:host",
      "sum service:host",
    ]);
  });

  test("are those of the host that was first, when another one was", async () => {
    const store = memoryPins();
    const one = open(store);
    const other = createToolPins({
      store,
      log: silentLog(),
      // It pins between this host's reading and writing.
      pinFirst: () => one.list("echo"),
    });
    const usable = await other.usable(origin, tools("echo", "sum"));
    expect([...usable.keys()]).toEqual(["echo"]);
  });

  for (const row of [
    { name: "changed", later: ["echo@2", "sum"], usable: ["sum"], why: "it is not what was accepted", tool: "echo" },
    { name: "is new", later: ["echo", "sum", "more"], usable: ["echo", "sum"], why: "it is new", tool: "more" },
  ]) {
    test(`are without one that ${row.name}, which the log names once with the reason`, async () => {
      const { list, logged } = open();
      await list("echo", "sum");
      for (let time = 0; time < 3; time += 1) expect(await list(...row.later)).toEqual(row.usable);
      expect(logged).toEqual([
        {
          level: "warn",
          facts: { server: "notes", count: 1, withdrawn: [{ tool: row.tool, why: row.why }] },
          message: "tools of an MCP server withdrawn until somebody accepts them: turnpike mcp review",
        },
      ]);
    });
  }

  test("have one again that was gone and comes back as it was, and not when it comes back changed", async () => {
    const { list } = open();
    await list("echo", "sum");
    expect(await list("sum")).toEqual(["sum"]);
    expect(await list("echo", "sum")).toEqual(["echo", "sum"]);
    await list("sum");
    expect(await list("echo@2", "sum")).toEqual(["sum"]);
  });

  test("have one again that became what was accepted", async () => {
    const { list } = open();
    await list("echo");
    expect(await list("echo@2")).toEqual([]);
    expect(await list("echo")).toEqual(["echo"]);
  });

  test("are unknown while the pins cannot be read, and while the first ones cannot be kept", async () => {
    const { list, store } = open();
    store.failure = new Error("the database is away");
    await expect(list("echo")).rejects.toThrow("the database is away");
    store.failure = undefined;
    await list("echo");
    store.failure = new Error("the database is away");
    await expect(list("echo")).rejects.toThrow("the database is away");
    const unrecorded = createToolPins({
      store: memoryPins(),
      log: silentLog(),
      pinFirst: () => Promise.reject(new Error("the trail is away")),
    });
    await expect(unrecorded.usable(origin, tools("echo"))).rejects.toThrow("the trail is away");
  });
});

describe("a review", () => {
  test("tells pinned, changed, new and gone tools apart, with both definitions of a changed one", async () => {
    const { list, has, states, reviews } = open();
    await list("echo", "sum", "old");
    has("echo@2", "sum", "more");
    expect(await states()).toEqual(["echo changed", "more new", "old gone", "sum pinned"]);
    const review = await reviews.find("notes");
    expect(review).toMatchObject({ server: "notes", isAvailable: true, seenAt: expect.stringMatching(/Z$/) as string });
    expect(review?.tools[0]).toMatchObject({
      pin: { hash: hashOf("echo"), by: "service:host", definition: expect.stringContaining("Version 1.") as string },
      now: { hash: hashOf("echo@2"), definition: expect.stringContaining("Version 2.") as string },
    });
  });

  test("pins nothing: before the first use every tool is new", async () => {
    const { has, states, store, accept, list } = open();
    has("echo", "sum");
    expect(await states()).toEqual(["echo new", "sum new"]);
    expect(await store.list("notes")).toEqual([]);
    expect(await accept("echo")).toBe(true);
    expect(await list("echo", "sum")).toEqual(["echo"]);
  });

  test("of a server that does not answer says so, with what was seen last", async () => {
    const { list, goDown, reviews, states } = open();
    await list("echo", "sum");
    await list("echo@2");
    goDown();
    expect(await states()).toEqual(["echo changed", "sum gone"]);
    expect(await reviews.list()).toMatchObject([{ server: "notes", isAvailable: false }]);
  });

  test("is only of servers that there are", async () => {
    const { reviews } = open();
    expect(await reviews.find("other")).toBeUndefined();
  });
});

describe("accepting", () => {
  test("pins what was shown, which is used from then on, and the comparison begins anew", async () => {
    const { list, accept, pins, store } = open();
    await list("echo", "sum");
    expect(await list("echo@2", "sum", "more")).toEqual(["sum"]);
    const before = pins.version;
    expect(await accept("echo@2", "more")).toBe(true);
    expect(pins.version).not.toBe(before);
    expect(await list("echo@2", "sum", "more")).toEqual(["echo@2", "sum", "more"].map((text) => text.split("@")[0]));
    expect((await store.list("notes")).map(({ tool, by }) => `${tool} ${by}`)).toEqual([
      "echo human:oona",
      "more human:oona",
      "sum service:host",
    ]);
  });

  for (const row of [
    { name: "a definition that the server has changed meanwhile", now: ["echo@3", "more"], accepted: ["echo@2"] },
    { name: "one of several that is not what it was", now: ["echo@3", "more"], accepted: ["more", "echo@2"] },
    { name: "a tool that is gone meanwhile", now: ["sum"], accepted: ["more"] },
    { name: "what is accepted already", now: ["echo", "more"], accepted: ["echo"] },
    { name: "one tool twice", now: ["echo@2"], accepted: ["echo@2", "echo@2"] },
  ]) {
    test(`refuses ${row.name}, and changes nothing`, async () => {
      const { list, has, accept, store } = open();
      await list("echo", "sum");
      has(...row.now);
      expect(await accept(...row.accepted)).toBe(false);
      expect((await store.list("notes")).map(({ tool, hash }) => [tool, hash])).toEqual([
        ["echo", hashOf("echo")],
        ["sum", hashOf("sum")],
      ]);
    });
  }
});

test("of a tool that owners are told different things about, exactly the accepted definition is pinned", async () => {
  const { store, pins } = open();
  const reviews = createReviews(new Map([["notes", undefined]]), store, pins);
  await pins.usable({ server: "notes", connection: "alice" }, tools("echo"));
  await pins.usable({ server: "notes", connection: "bob" }, tools("echo@2"));
  await pins.usable({ server: "notes", connection: "carol" }, tools("echo@3"));
  const hashes = (await reviews.find("notes"))?.tools.map(({ now }) => now?.hash);
  expect(hashes?.toSorted()).toEqual([hashOf("echo@2"), hashOf("echo@3")].toSorted());
  expect(await reviews.accept("notes", [{ tool: "echo", hash: hashOf("echo@3") }], "human:oona")).toBe(true);
  expect(await store.hashes("notes")).toEqual(new Map([["echo", hashOf("echo@3")]]));
});
