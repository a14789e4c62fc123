import { describe, expect, test } from "vitest";
import { databaseKinds, openPair, sharedDatabase } from "../../test/databases.ts";
import { silentLog, type Logged } from "../../test/mcp/servers.ts";
import type { Database } from "../storage/database.ts";
import { recordFirstPins } from "./first-pins.ts";
import { openStores } from "./stores.ts";

const tools = [{ tool: "echo", hash: "h", definition: "{}" }];

function open(database: Database) {
  const stores = openStores(database);
  const logged: Logged[] = [];
  const pinFirst = recordFirstPins({ stores, log: silentLog(logged), onAuditError() {} });
  return { stores, logged, pinFirst };
}

async function trailOf({ stores }: ReturnType<typeof open>, server: string): Promise<string[]> {
  const rows = await stores.audit.list("operators", { type: "operator.changed", limit: 100 });
  const events = rows.map(({ event }) => event).filter(({ metadata }) => metadata?.["server"] === server);
  return events.map(({ action, outcome, actor }) => `${action} ${outcome} ${actor.kind}`).toSorted();
}

describe.each(databaseKinds)("the first list of a server on %s", (kind) => {
  const shared = sharedDatabase(kind);

  test("is on the operators' trail with the hashes, and in the log", async () => {
    const host = open(await shared());
    await host.pinFirst("notes", tools);
    expect(await host.stores.mcpPins.list("notes")).toMatchObject([{ tool: "echo", by: "service:host" }]);
    expect(await trailOf(host, "notes")).toEqual(["mcp.pin allowed service", "mcp.pin succeeded service"]);
    const [newest] = await host.stores.audit.list("operators", { limit: 1 });
    expect(newest?.event.metadata).toMatchObject({ server: "notes", tools: [{ tool: "echo", hash: "h" }] });
    expect(host.logged).toEqual([
      {
        level: "warn",
        facts: { server: "notes", tools: ["echo"] },
        message: "tools of an MCP server pinned as they are, because nothing of it was accepted before",
      },
    ]);
  });

  test("is not pinned when that cannot be recorded", async () => {
    const { stores } = open(await shared());
    const audit = { ...stores.audit, record: () => Promise.reject(new Error("away")) };
    const pinFirst = recordFirstPins({ stores: { ...stores, audit }, log: silentLog(), onAuditError() {} });
    await expect(pinFirst("unrecorded", tools)).rejects.toThrow("could not be recorded");
    expect(await stores.mcpPins.list("unrecorded")).toEqual([]);
  });
});

test("a host that is second to list a server says on the trail that it pinned nothing", async () => {
  const [one, other] = (await openPair()).map(open) as [ReturnType<typeof open>, ReturnType<typeof open>];
  await one.pinFirst("notes", tools);
  await other.pinFirst("notes", [{ tool: "echo", hash: "other", definition: "{}" }]);
  expect(await trailOf(one, "notes")).toEqual([
    "mcp.pin allowed service",
    "mcp.pin allowed service",
    "mcp.pin failed service",
    "mcp.pin succeeded service",
  ]);
  expect(await one.stores.mcpPins.hashes("notes")).toEqual(new Map([["echo", "h"]]));
  expect(other.logged).toEqual([]);
});
