import { describe, expect, test } from "vitest";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { recordStatements } from "../../test/watched-database.ts";
import { alice, assistant, auditEvent, now } from "../../test/records.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnToBegin } from "../../test/turn-journals.ts";
import { openStores, type Stores } from "./stores.ts";

const tenant = "tenant-1";
const files = { namespaceId: tenant, owner: alice };

/** Reads whose time grows with what the host has stored. */
const reads: { name: string; read(stores: Stores): Promise<unknown> }[] = [
  { name: "grants", read: ({ grants }) => grants.list(tenant, { limit: 9 }) },
  { name: "what was derived from a grant", read: ({ grants }) => grants.descendants(tenant, "grant-1", 9) },
  { name: "one grant", read: ({ grants }) => grants.findStored(tenant, "grant-1") },
  { name: "grants by their ids", read: ({ grants }) => grants.findAll(tenant, ["grant-1"]) },
  { name: "grants by their ids as they are stored", read: ({ grants }) => grants.findAllStored(tenant, ["grant-1"]) },
  { name: "how often grants were used", read: ({ usage }) => usage.usedOf(tenant, ["grant-1"]) },
  { name: "credentials", read: ({ credentials }) => credentials.list({ namespaceId: tenant, limit: 9 }) },
  { name: "escalations", read: ({ escalations }) => escalations.list(tenant, { limit: 9, now }) },
  { name: "turns of every tenant", read: ({ turns }) => turns.listAll({ limit: 9 }) },
  { name: "one turn of any actor", read: ({ turns }) => turns.findBy(tenant, "turn-1") },
  { name: "one turn of an actor", read: ({ turns }) => turns.findBy(tenant, "turn-1", assistant) },
  { name: "how many escalations wait", read: ({ escalations }) => escalations.countPending(now) },
  { name: "how many messages wait", read: ({ messages }) => messages.countUnacknowledged() },
  { name: "audit events", read: ({ audit }) => audit.list(tenant, { limit: 9, outcome: "denied" }) },
  { name: "an audit log that is verified", read: ({ audit }) => audit.verify(tenant) },
  {
    name: "files that have a word",
    read: (stores) => stores.files.match(files, [], { words: ["one"], prefix: "two" }, new AbortController().signal),
  },
];

describe.each(databaseKinds)("on %s", (kind) => {
  const open = sharedDatabase(kind);

  test.each(reads)("operators read $name on connections of their own, which no call waits for", async ({ read }) => {
    const working = await open();
    const stores = openStores(working);
    await stores.audit.record(auditEvent("event-1", { namespaceId: tenant }));
    if ((await stores.turns.findBy(tenant, "turn-1")) === undefined) {
      const writer = await beginTurn(stores.turns, turnToBegin(tenant, "turn-1"));
      await writer.write([...eventEntries(0, 3), endedEntry("turn-1")], progress);
    }
    const [calls, operators] = [recordStatements(working), recordStatements({ ...working, db: working.reporting })];
    await read(openStores({ ...calls.database, reporting: operators.database.db }));
    expect(operators.statements.length).toBeGreaterThan(0);
    expect(calls.statements).toEqual([]);
  });
});
