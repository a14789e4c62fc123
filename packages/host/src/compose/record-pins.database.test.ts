import { describe, expect, test } from "vitest";
import { databaseKinds, openPair, sharedDatabase } from "../../test/databases.ts";
import { silentLog, type Logged } from "../../test/mcp/servers.ts";
import type { Database } from "../storage/database.ts";
import { recordPins } from "./record-pins.ts";
import { openStores } from "./stores.ts";

const tools = [{ tool: "echo", hash: "h", definition: "{}" }];

function open(database: Database) {
  const stores = openStores(database);
  const logged: Logged[] = [];
  return { stores, logged, ...recordPins({ stores, log: silentLog(logged), onAuditError() {} }) };
}

async function auditLogOf({ stores }: ReturnType<typeof open>, server: string): Promise<string[]> {
  const rows = await stores.audit.list("operators", { type: "operator.changed", limit: 100 });
  const events = rows.map(({ event }) => event).filter(({ metadata }) => metadata?.["server"] === server);
  return events.map(({ action, outcome, actor }) => `${action} ${outcome} ${actor.kind}`).toSorted();
}

describe.each(databaseKinds)("the first list of a server on %s", (kind) => {
  const shared = sharedDatabase(kind);

  test("is in the operators' audit log with the hashes, and in the log", async () => {
    const host = open(await shared());
    await host.pinFirst("notes", tools);
    expect(await host.stores.mcpPins.list("notes")).toMatchObject([{ tool: "echo", by: "service:host" }]);
    expect(await auditLogOf(host, "notes")).toEqual(["mcp.pin allowed service", "mcp.pin succeeded service"]);
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
    const { pinFirst } = recordPins({ stores: { ...stores, audit }, log: silentLog(), onAuditError() {} });
    await expect(pinFirst("unrecorded", tools)).rejects.toThrow("could not be recorded");
    expect(await stores.mcpPins.list("unrecorded")).toEqual([]);
  });
});

const changed = [{ tool: "echo", hash: "other" }];

describe.each(databaseKinds)("a tool that changed on %s", (kind) => {
  const shared = sharedDatabase(kind);

  test("is marked, and in the operators' audit log with the hash of what it is now, once", async () => {
    const host = open(await shared());
    await host.stores.mcpPins.pinFirst("changing", tools, "human:oona");
    for (let time = 0; time < 3; time += 1) await host.withdraw("changing", changed);
    expect(await host.stores.mcpPins.listWithdrawn(["changing"])).toMatchObject(changed);
    expect(await auditLogOf(host, "changing")).toEqual([
      "mcp.withdraw allowed service",
      "mcp.withdraw succeeded service",
    ]);
    const [newest] = await host.stores.audit.list("operators", { limit: 1 });
    expect(newest?.event.metadata).toEqual({ server: "changing", tools: changed, operator: "host" });
  });

  test("is not marked when that cannot be recorded, so that it is recorded later", async () => {
    const { stores, withdraw } = open(await shared());
    await stores.mcpPins.pinFirst("unheard", tools, "human:oona");
    const audit = { ...stores.audit, record: () => Promise.reject(new Error("away")) };
    const deaf = recordPins({ stores: { ...stores, audit }, log: silentLog(), onAuditError() {} });
    await expect(deaf.withdraw("unheard", changed)).rejects.toThrow("could not be recorded");
    expect(await stores.mcpPins.listWithdrawn(["unheard"])).toEqual([]);
    await withdraw("unheard", changed);
    expect(await stores.mcpPins.listWithdrawn(["unheard"])).toMatchObject(changed);
  });
});

test("of two hosts that see a change at once one says so in the audit log", async () => {
  const [one, other] = (await openPair()).map(open) as [ReturnType<typeof open>, ReturnType<typeof open>];
  await one.stores.mcpPins.pinFirst("notes", tools, "human:oona");
  await Promise.all([one.withdraw("notes", changed), other.withdraw("notes", changed)]);
  expect(await auditLogOf(one, "notes")).toEqual(["mcp.withdraw allowed service", "mcp.withdraw succeeded service"]);
});

test("a host that is second to list a server says in the audit log that it pinned nothing", async () => {
  const [one, other] = (await openPair()).map(open) as [ReturnType<typeof open>, ReturnType<typeof open>];
  await one.pinFirst("notes", tools);
  await other.pinFirst("notes", [{ tool: "echo", hash: "other", definition: "{}" }]);
  expect(await auditLogOf(one, "notes")).toEqual([
    "mcp.pin allowed service",
    "mcp.pin allowed service",
    "mcp.pin failed service",
    "mcp.pin succeeded service",
  ]);
  expect(await one.stores.mcpPins.hashes("notes")).toEqual(new Map([["echo", "h"]]));
  expect(other.logged).toEqual([]);
});
