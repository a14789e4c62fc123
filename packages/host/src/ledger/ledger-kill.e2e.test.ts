import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, newTenant } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { builtFile, otherProcess } from "../../test/other-process.ts";
import { verifyAuditLog } from "../audit/audit-verify.ts";
import { openDatabase, type Database } from "../storage/index.ts";

/**
 * A host of its own: a ledger that says when it reaches a point of a batch, and stays there. It reads first, unless it knows
 * what it wrote before.
 */
function hostThatStops(location: string, tenant: string, point: number, isKnown: boolean): string {
  return `
    ${submissions(location, tenant)}
    let points = -Infinity;
    const reach = () => {
      points += 1;
      return points === ${point} ? new Promise(() => console.log("stopped")) : undefined;
    };
    const ledger = openLedger({
      ...database,
      transact: (work) => database.transact((run) => work(async (steps, end) => {
        await reach();
        const results = await run(steps, end);
        await reach();
        return results;
      })),
    });
    await (${isKnown} ? ledger : openLedger(database)).submit({ claim: claim("one"), ...use("first") });
    points = 0;
    await Promise.all([
      ledger.submit(use("second")),
      ledger.submit({ claim: claim("two"), ...use("third") }),
      ledger.submit({ ending: { ...claim("one"), outcome: { kind: "finished", result: "{}" } } }),
    ]);
    console.log("done");
    setInterval(() => {}, 1000);`;
}

/** A host of its own that writes without a pause, and prints what it was told is stored. */
function hostThatWrites(location: string, tenant: string): string {
  return `
    ${submissions(location, tenant)}
    const ledger = openLedger(database);
    const write = async (id) => {
      for (let n = 0; ; n += 1) {
        await ledger.submit(use(id + "-" + n));
        console.log(id + "-" + n);
      }
    };
    for (const id of ["a", "b", "c", "d"]) void write(id);`;
}

function submissions(location: string, tenant: string): string {
  return `
    const { openLedger, entryOf } = await import(${builtFile("ledger/index.js")});
    const database = await openDatabase(${JSON.stringify(location)});
    const namespaceId = ${JSON.stringify(tenant)};
    const claim = (id) => ({
      key: { namespace_id: namespaceId, actor: "agent:a", kind: "tool", scope: "", id },
      fingerprint: "one",
      nonce: id,
    });
    const use = (id) => {
      const event = { id, type: "tool.invoked", outcome: "allowed", at: "2026-01-01T00:00:00.000Z", traceId: "trace-1",
        namespaceId, actor: { kind: "human", userId: "alice" } };
      return { alternatives: [{ uses: [{ namespaceId, grantId: "grant-1", maxUses: 1000000 }], entries: [entryOf(event)] }] };
    };`;
}

/** What the next host finds of a tenant. */
async function foundOf(location: string, tenant: string) {
  const database = await openDatabase(location);
  try {
    const { db } = database;
    const { rows, broken } = await verifyAuditLog(db, tenant);
    const of = <Table extends "audit" | "replay" | "uses">(table: Table) =>
      (db as Database["db"]).selectFrom<"audit" | "replay" | "uses">(table).where("namespace_id", "=", tenant);
    const events = await of("audit").select("id").orderBy("sequence").execute();
    const claims = await of("replay").select(["claim", "result"]).orderBy("claim").execute();
    const uses = await of("uses").select("used").execute();
    return {
      isWhole: broken === undefined && rows === events.length,
      events: events.map(({ id }) => id),
      claims: claims.map(({ claim, result }) => `${claim} ${result}`),
      used: uses[0]?.used,
    };
  } finally {
    await database.close();
  }
}

const before = { isWhole: true, events: ["first"], claims: ["one null"], used: 1 };
const after = { isWhole: true, events: ["first", "second", "third"], claims: ["one {}", "two null"], used: 3 };

describe.each(databaseKinds)("a host on %s that is killed", (kind) => {
  for (const { name, point, isKnown = false, found } of [
    { name: "before the first message of a batch", point: 1, found: before },
    { name: "after the first message of a batch", point: 2, found: before },
    { name: "before the message that commits", point: 3, found: before },
    { name: "after the message that commits, before a caller was told", point: 4, found: after },
    { name: "when every caller was told", point: 0, found: after },
    { name: "before the only message of a batch", point: 1, isKnown: true, found: before },
    { name: "after the only message of a batch, before a caller was told", point: 2, isKnown: true, found: after },
    { name: "when every caller of a batch of one message was told", point: 0, isKnown: true, found: after },
  ])
    test(`${name} leaves all of it or nothing, and loses nothing acknowledged`, async () => {
      const [location, tenant] = [await newLocation(kind), newTenant()];
      const host = await otherProcess(hostThatStops(location, tenant, point, isKnown));
      expect(host.said).toBe(point === 0 ? "done" : "stopped");
      await host.kill();
      await expect.poll(() => foundOf(location, tenant)).toEqual(found);
    });

  test("while it writes without a pause loses nothing acknowledged, and its chain is whole", async () => {
    const location = await newLocation(kind);
    for (const lines of [1, 10, 100]) {
      const tenant = newTenant();
      const host = await otherProcess(hostThatWrites(location, tenant));
      const acknowledged = [host.said];
      while (acknowledged.length < lines) acknowledged.push(await host.next());
      await host.kill();
      // A database server may still commit what it was sent before, between two reads.
      await eventually(async () => {
        const { isWhole, events, used } = await foundOf(location, tenant);
        expect(events).toEqual(expect.arrayContaining(acknowledged));
        expect([isWhole, used, new Set(events).size]).toEqual([true, events.length, events.length]);
      });
    }
  });
});
