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
  const told: { tool: string; hash: string }[] = [];
  let current = tools();
  let isDown = false;
  let now = 0;
  const pins = createToolPins({
    store,
    clock: () => now,
    log: silentLog(logged),
    pinFirst: (server, all) => store.pinFirst(server, all, "service:host"),
    withdraw: async (server, changed) => void told.push(...(await store.withdraw(server, changed))),
  });
  const listTools = async (): Promise<Map<string, McpTool>> => {
    if (isDown) throw new Error("down");
    return current;
  };
  const reviews = createReviews(new Map([["notes", listTools]]), store, pins);
  return {
    store,
    pins,
    reviews,
    logged,
    /** The withdrawals that were recorded. */
    told,
    withdrawn: async () => (await store.listWithdrawn(["notes"])).map(({ tool, hash }) => ({ tool, hash })),
    /** What the server lists from now on, and what of it may be used. */
    async list(...names: readonly string[]): Promise<string[]> {
      current = tools(...names);
      return [...(await pins.usable(origin, current)).keys()];
    },
    has: (...names: readonly string[]) => void (current = tools(...names)),
    goDown: () => void (isDown = true),
    pass: (minutes: number) => void (now += minutes * 60_000),
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
      withdraw: () => Promise.resolve(),
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
          message: "tools of an MCP server withdrawn until an operator accepts them: turnpike mcp review",
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

  test("are unknown while the pins cannot be read, and while the first ones cannot be stored", async () => {
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
      pinFirst: () => Promise.reject(new Error("the audit log is away")),
      withdraw: () => Promise.resolve(),
    });
    await expect(unrecorded.usable(origin, tools("echo"))).rejects.toThrow("the audit log is away");
  });
});

describe("a tool that was accepted and changed", () => {
  const changed = { tool: "echo", hash: hashOf("echo@2") };

  test("is marked and recorded once, however often it is seen, and by however many hosts", async () => {
    const one = open();
    await one.list("echo", "sum");
    expect([await one.withdrawn(), one.told]).toEqual([[], []]);
    const other = open(one.store);
    for (const host of [one, one, other]) await host.list("echo@2", "sum");
    expect([await one.withdrawn(), one.told, other.told]).toEqual([[changed], [changed], []]);
  });

  test("is recorded again with each other definition", async () => {
    const { list, told, withdrawn } = open();
    for (const version of ["echo", "echo@2", "echo@3"]) await list(version);
    expect(told.map(({ hash }) => hash)).toEqual([hashOf("echo@2"), hashOf("echo@3")]);
    expect(await withdrawn()).toEqual([{ tool: "echo", hash: hashOf("echo@3") }]);
  });

  for (const { name, later } of [
    { name: "is as it was again", later: ["echo", "sum"] },
    { name: "is gone", later: ["sum"] },
  ])
    test(`is not marked once it ${name}, which the log says`, async () => {
      const { list, withdrawn, logged } = open();
      await list("echo", "sum");
      await list("echo@2", "sum");
      await list(...later);
      expect(await withdrawn()).toEqual([]);
      expect(logged.at(-1)).toEqual({
        level: "info",
        facts: { server: "notes", tools: ["echo"] },
        message: "tools of an MCP server no longer differ from what was accepted",
      });
    });

  test("is not marked once it was accepted, and one that is new never is", async () => {
    const { list, accept, withdrawn, told } = open();
    await list("echo");
    await list("echo@2", "more");
    expect(await withdrawn()).toEqual([changed]);
    await accept("echo@2");
    await list("echo@2", "more");
    expect([await withdrawn(), told]).toEqual([[], [changed]]);
  });

  test("stays marked while one of several owners is shown something else", async () => {
    const { pins, withdrawn, told } = open();
    const show = (connection: string, name: string) => pins.usable({ server: "notes", connection }, tools(name));
    await show("alice", "echo");
    await show("bob", "echo@2");
    await show("alice", "echo");
    await show("carol", "echo@3");
    expect([await withdrawn(), told]).toEqual([[changed], [changed]]);
    await show("bob", "echo");
    expect(await withdrawn()).toEqual([{ tool: "echo", hash: hashOf("echo@3") }]);
    await show("carol", "echo");
    expect(await withdrawn()).toEqual([]);
  });

  test("makes the list unknown while that cannot be recorded, and is recorded with the next one", async () => {
    const { list, store, told } = open();
    await list("echo", "sum");
    const { withdraw } = store;
    store.withdraw = () => Promise.reject(new Error("the audit log is away"));
    await expect(list("echo@2", "sum")).rejects.toThrow("the audit log is away");
    store.withdraw = withdraw;
    expect([await list("echo@2", "sum"), told]).toEqual([["sum"], [changed]]);
  });
});

describe("a server that changes its tools all the time", () => {
  for (const { name, at } of [
    { name: "to something new each time", at: (round: number) => `echo@${round + 2}` },
    { name: "and back again", at: (round: number) => (round % 2 === 0 ? "echo@2" : "echo") },
    { name: "between two others", at: (round: number) => `echo@${2 + (round % 2)}` },
  ])
    test(`${name} fills no audit log: the tool stays marked, and what is not accepted is never usable`, async () => {
      const { list, told, withdrawn, pass, logged } = open();
      await list("echo", "sum");
      for (let round = 0; round < 500; round += 1) {
        const now = at(round);
        expect(await list(now, "sum")).toEqual(now === "echo" ? ["echo", "sum"] : ["sum"]);
      }
      expect(told.length).toBeLessThanOrEqual(20);
      expect((await withdrawn()).map(({ tool }) => tool)).toEqual(["echo"]);
      expect(logged.filter(({ level }) => level === "info").length).toBeLessThanOrEqual(10);
      const before = told.length;
      for (let minute = 0; minute < 60; minute += 1) {
        pass(1);
        for (let round = 0; round < 10; round += 1) await list(at(minute * 11 + round), "sum");
      }
      expect(told.length - before).toBeLessThanOrEqual(60);
      expect(told.length).toBeGreaterThan(before);
      pass(60);
      await list("echo", "sum");
      expect(await withdrawn()).toEqual([]);
    });

  test("has another tool that changes marked and recorded at once all the same", async () => {
    const { list, told, withdrawn } = open();
    await list("echo", "sum");
    for (let round = 0; round < 100; round += 1) await list(`echo@${round + 2}`, "sum");
    await list("echo@200", "sum@2");
    expect(told.at(-1)).toEqual({ tool: "sum", hash: hashOf("sum@2") });
    expect((await withdrawn()).map(({ tool }) => tool)).toEqual(["echo", "sum"]);
  });
});

describe("of two hosts that a server shows different lists", () => {
  for (const { name, shown } of [
    { name: "one what was accepted", shown: "echo" },
    { name: "both something else", shown: "echo@3" },
  ])
    test(`${name}, the mark is set and recorded once, and stays until it is over for those who were shown that`, async () => {
      const one = open();
      await one.list("echo");
      const other = open(one.store);
      await other.list("echo");
      for (let round = 0; round < 50; round += 1) {
        await one.list("echo@2");
        await other.list(shown);
        expect(await one.withdrawn()).toEqual([{ tool: "echo", hash: hashOf("echo@2") }]);
      }
      expect([...one.told, ...other.told]).toEqual([{ tool: "echo", hash: hashOf("echo@2") }]);
      await other.list("echo");
      await one.list("echo");
      expect(await one.withdrawn()).toEqual([]);
    });

  test("the one that alternates ends the other's mark no more often than the limit says", async () => {
    const one = open();
    await one.list("echo");
    const other = open(one.store);
    for (let round = 0; round < 200; round += 1) {
      await one.list("echo@2");
      await other.list(round % 2 === 0 ? "echo@2" : "echo");
    }
    expect(one.told.length + other.told.length).toBeLessThanOrEqual(21);
    expect(await one.withdrawn()).toEqual([{ tool: "echo", hash: hashOf("echo@2") }]);
  });

  test("a mark of one that is gone is ended by one that begins, and set again by one that is there", async () => {
    const one = open();
    await one.list("echo");
    await one.list("echo@2");
    const later = open(one.store);
    await later.list("echo");
    expect(await one.withdrawn()).toEqual([]);
    for (let round = 0; round < 10; round += 1) {
      await one.list("echo@2");
      await later.list("echo");
    }
    expect(one.told).toHaveLength(2);
    expect(await one.withdrawn()).toEqual([{ tool: "echo", hash: hashOf("echo@2") }]);
  });

  test("a mark that could not be ended is ended with the next list", async () => {
    const { list, store, withdrawn } = open();
    await list("echo");
    await list("echo@2");
    const { restore } = store;
    store.restore = () => Promise.reject(new Error("the database is away"));
    await expect(list("echo")).rejects.toThrow("the database is away");
    store.restore = restore;
    await list("echo");
    expect(await withdrawn()).toEqual([]);
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
