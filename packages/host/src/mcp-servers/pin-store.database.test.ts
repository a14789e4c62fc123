import { describe, expect, test } from "vitest";
import { databaseKinds, openPair, sharedDatabase } from "../../test/databases.ts";
import { createRevisions } from "../storage/revisions.ts";
import type { Database } from "../storage/database.ts";
import { silentLog } from "../../test/mcp/servers.ts";
import { readTool, type McpTool } from "./mcp-tool.ts";
import { createToolPins, type ToolPins } from "./tool-pins.ts";
import { createPinStore, type PinStore, type ToolDefinition } from "./pin-store.ts";

function openPins(database: Database): PinStore {
  return createPinStore(database, createRevisions(database));
}

function definitions(...names: readonly string[]): ToolDefinition[] {
  return names.map((name) => {
    const [tool = "", version = "1"] = name.split("@");
    return { tool, hash: `hash-${version}`, definition: JSON.stringify({ name: tool, version }) };
  });
}

async function pinned(pins: PinStore, server: string): Promise<string[]> {
  return (await pins.list(server)).map(({ tool, hash, by }) => `${tool} ${hash} ${by}`);
}

describe.each(databaseKinds)("pins on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("nothing is pinned of a server at first", async () => {
    const pins = openPins(await open());
    expect(await pins.list("unknown")).toEqual([]);
    expect(await pins.hashes("unknown")).toEqual(new Map());
  });

  test("the first list of a server is pinned, and no later one", async () => {
    const pins = openPins(await open());
    expect(await pins.pinFirst("first", definitions("echo", "sum"), "service:host")).toBe(true);
    expect(await pins.pinFirst("first", definitions("echo@2", "more"), "service:host")).toBe(false);
    expect(await pinned(pins, "first")).toEqual(["echo hash-1 service:host", "sum hash-1 service:host"]);
  });

  test("a first list without tools pins nothing, so that the next one is the first", async () => {
    const pins = openPins(await open());
    expect(await pins.pinFirst("empty", [], "service:host")).toBe(false);
    expect(await pins.pinFirst("empty", definitions("echo"), "service:host")).toBe(true);
  });

  test("accepting pins what is new and replaces what changed, and leaves the rest and other servers alone", async () => {
    const pins = openPins(await open());
    for (const server of ["mine", "theirs"]) await pins.pinFirst(server, definitions("echo", "sum"), "service:host");
    await pins.pin("mine", definitions("echo@2", "more"), "human:oona");
    expect(await pinned(pins, "mine")).toEqual([
      "echo hash-2 human:oona",
      "more hash-1 human:oona",
      "sum hash-1 service:host",
    ]);
    expect(await pinned(pins, "theirs")).toEqual(["echo hash-1 service:host", "sum hash-1 service:host"]);
    expect(await pins.hashes("mine")).toEqual(
      new Map([
        ["echo", "hash-2"],
        ["more", "hash-1"],
        ["sum", "hash-1"],
      ]),
    );
  });

  test("a definition is stored as it was said, whatever is hidden in it, with when it was pinned", async () => {
    const pins = openPins(await open());
    const definition = JSON.stringify({ name: "odd", description: "a\u0000b\u202e\ud800 \u{e0041}" });
    await pins.pinFirst("odd", [{ tool: "odd", hash: "h", definition }], "human:\0");
    expect(await pins.list("odd")).toEqual([
      {
        tool: "odd",
        hash: "h",
        definition,
        pinnedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        by: expect.stringMatching(/^sha256:/) as string,
      },
    ]);
  });
});

describe.each(databaseKinds)("a withdrawn tool on %s", (kind) => {
  const open = sharedDatabase(kind);
  const withdrawn = async (pins: PinStore, ...servers: string[]) =>
    (await pins.listWithdrawn(servers)).map(({ server, tool, hash }) => `${server} ${tool} ${hash}`);
  const other = [{ tool: "echo", hash: "hash-2" }];

  test("is listed with its server, the other hash, and since when, until it is accepted", async () => {
    const pins = openPins(await open());
    for (const server of ["w-mine", "w-theirs"])
      await pins.pinFirst(server, definitions("echo", "sum"), "service:host");
    expect(await pins.listWithdrawn(["w-mine", "w-theirs"])).toEqual([]);
    expect(await pins.withdraw("w-mine", other)).toEqual(other);
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(await pins.listWithdrawn(["w-mine", "w-theirs"])).toEqual([
      { server: "w-mine", tool: "echo", hash: "hash-2", at },
    ]);
    expect(await pins.listWithdrawn(["w-theirs"])).toEqual([]);
    expect(await pins.listWithdrawn([])).toEqual([]);
    expect(await pins.list("w-mine")).toMatchObject([{ tool: "echo", withdrawnAt: at }, { tool: "sum" }]);
    await pins.pin("w-mine", definitions("echo@2"), "human:oona");
    expect(await withdrawn(pins, "w-mine")).toEqual([]);
  });

  test("is marked once for a hash, never for what is pinned or unknown, and restored for that hash alone", async () => {
    const pins = openPins(await open());
    await pins.pinFirst("w-once", definitions("echo"), "service:host");
    expect(await pins.withdraw("w-once", [{ tool: "echo", hash: "hash-1" }])).toEqual([]);
    expect(await pins.withdraw("w-once", [{ tool: "more", hash: "hash-1" }])).toEqual([]);
    expect([await pins.withdraw("w-once", other), await pins.withdraw("w-once", other)]).toEqual([other, []]);
    await pins.restore("w-once", [{ tool: "echo", hash: "hash-3" }]);
    expect(await withdrawn(pins, "w-once")).toEqual(["w-once echo hash-2"]);
    await pins.restore("w-once", other);
    expect(await withdrawn(pins, "w-once")).toEqual([]);
    expect(await pins.withdraw("w-once", other)).toEqual(other);
  });
});

test("of two hosts that see a change at once one marks it", async () => {
  const [one, other] = (await openPair()).map(openPins) as [PinStore, PinStore];
  for (let round = 0; round < 10; round += 1) {
    const server = `seen-${round}`;
    await one.pinFirst(server, definitions("a", "b"), "one");
    const changed = [
      { tool: "a", hash: "hash-2" },
      { tool: "b", hash: "hash-2" },
    ];
    const marked = await Promise.all([one.withdraw(server, changed), other.withdraw(server, changed)]);
    expect(marked.flat()).toEqual(changed);
  }
});

test("of two hosts that list a server first at once one pins its list, whole", async () => {
  const [one, other] = await openPair();
  for (let round = 0; round < 10; round += 1) {
    const server = `race-${round}`;
    const [first, second] = [openPins(one), openPins(other)];
    const wins = await Promise.all([
      first.pinFirst(server, definitions("a@1", "b@1"), "one"),
      second.pinFirst(server, definitions("a@2", "c@2"), "other"),
    ]);
    const stored = await pinned(first, server);
    expect(stored).toEqual(wins[0] ? ["a hash-1 one", "b hash-1 one"] : ["a hash-2 other", "c hash-2 other"]);
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect(await pinned(second, server)).toEqual(stored);
  }
});

test("what is accepted through one host is used on another from its next list on", async () => {
  const [one, other] = (await openPair()).map((database) => {
    const store = openPins(database);
    const pinFirst = (server: string, all: readonly ToolDefinition[]) => store.pinFirst(server, all, "service:host");
    return createToolPins({ store, log: silentLog(), pinFirst, withdraw: store.withdraw });
  }) as [ToolPins, ToolPins];
  const origin = { server: "notes", connection: "" };
  const tool = (description: string): ReadonlyMap<string, McpTool> => {
    const reading = readTool("notes", { name: "echo", description, inputSchema: { type: "object" } });
    return new Map(reading.ok ? [["echo", reading.tool]] : []);
  };
  expect((await one.usable(origin, tool("One."))).size).toBe(1);
  expect((await other.usable(origin, tool("Two."))).size).toBe(0);
  await one.accept("notes", [...tool("Two.").values()], "human:oona");
  expect((await other.usable(origin, tool("Two."))).size).toBe(1);
  expect((await other.usable(origin, tool("One."))).size).toBe(0);
});
