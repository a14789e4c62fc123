import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { auditSinkSuite } from "turnpike/testing";
import { databaseKinds, openFresh, openPair, sharedDatabase, newTenant } from "../../test/databases.ts";
import { alice, auditEvent } from "../../test/records.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import type { Database } from "../storage/database.ts";
import type { AuditStore } from "./audit-store.ts";

async function recorded({ db }: Database, namespaceId: string): Promise<AuditEvent[]> {
  const rows = await db
    .selectFrom("audit")
    .select("content")
    .where("namespace_id", "=", namespaceId)
    .orderBy("sequence")
    .execute();
  return rows.map(({ content }) => JSON.parse(content) as AuditEvent);
}

/** The first row that was changed or removed; undefined when the audit log is whole. */
async function firstBroken(audit: AuditStore | undefined, namespaceId: string): Promise<number | undefined> {
  return (await audit?.verify(namespaceId))?.broken?.sequence;
}

function events(namespaceId: string, count: number, prefix = "event"): AuditEvent[] {
  return Array.from({ length: count }, (_, place) => auditEvent(`${prefix}-${place + 1}`, { namespaceId }));
}

describe.each(databaseKinds)("audit on %s", (kind) => {
  const open = sharedDatabase(kind);

  const cases = auditSinkSuite(async () => {
    const database = await openFresh(kind);
    return { sink: auditStoreOf(database), recorded: (namespaceId) => recorded(database, namespaceId) };
  });
  for (const one of cases) test(one.name, () => expect(one.run()).resolves.toBeUndefined());

  test("an event recorded as soon as the one before is stored does not wait for a third", async () => {
    const audit = auditStoreOf(await open());
    const [one, two] = events(newTenant(), 2);
    await audit.record(one ?? auditEvent("none"));
    await audit.record(two ?? auditEvent("none"));
    expect(await firstBroken(audit, one?.namespaceId ?? "")).toBeUndefined();
  });

  test("a row shows what its event says", async () => {
    const database = await open();
    const namespaceId = newTenant();
    await auditStoreOf(database).record(auditEvent("event-1", { namespaceId, actor: alice, outcome: "denied" }));
    const row = await database.db
      .selectFrom("audit")
      .selectAll()
      .where("namespace_id", "=", namespaceId)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      sequence: 1,
      id: "event-1",
      type: "tool.invoked",
      outcome: "denied",
      at: "2026-01-01T12:00:00Z",
      actor: "human:alice",
      trace_id: "trace-1",
    });
    expect(row.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("events that arrive at once share one commit, and those that arrive during it the next", async () => {
    const { database, statements } = recordStatements(await open());
    const audit = auditStoreOf(database);
    const namespaceId = newTenant();
    const commits = (): number => statements.filter((statement) => statement === "commit").length;
    await Promise.all(events(namespaceId, 300).map((event) => audit.record(event)));
    expect(commits()).toBe(1);
    const first = audit.record(auditEvent("early", { namespaceId }));
    await Promise.resolve();
    await Promise.resolve();
    await Promise.all([first, ...events(namespaceId, 300, "late").map((event) => audit.record(event))]);
    expect(commits()).toBeLessThanOrEqual(3);
    expect(await firstBroken(audit, namespaceId)).toBeUndefined();
  });

  test("more events than a batch holds are stored in order, a batch at a time", async () => {
    const { database, statements } = recordStatements(await open());
    const audit = auditStoreOf(database);
    const all = events(newTenant(), 1201);
    await Promise.all(all.map((event) => audit.record(event)));
    expect(statements.filter((statement) => statement === "commit")).toHaveLength(3);
    expect(await recorded(database, all[0]?.namespaceId ?? "")).toEqual(all);
    expect(await firstBroken(audit, all[0]?.namespaceId ?? "")).toBeUndefined();
  });

  test("an outage refuses a batch whole and at once, for every tenant in it, and the next one is stored", async () => {
    const working = await open();
    const { statements, database: counted } = recordStatements(working);
    const trial = auditStoreOf(counted);
    await Promise.all([newTenant(), newTenant()].flatMap((id) => events(id, 3).map((event) => trial.record(event))));
    const [one, other] = [newTenant(), newTenant()];
    const mixed = [...events(one, 3), ...events(other, 3)];
    expect(statements.at(-1)).toBe("commit");
    for (let n = 1; n <= statements.length; n += 1) {
      const failing = failingAt(working, n, "before", { code: kind === "sqlite" ? "SQLITE_IOERR" : "08006" });
      const { database: tried, statements: tries } = recordStatements(failing);
      const audit = auditStoreOf(tried);
      const settled = await Promise.allSettled(mixed.map((event) => audit.record(event)));
      expect(tries).toHaveLength(n);
      expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(["rejected"]));
      expect([...(await recorded(working, one)), ...(await recorded(working, other))]).toEqual([]);
      expect([await firstBroken(audit, one), await firstBroken(audit, other)]).toEqual([undefined, undefined]);
    }
    const audit = auditStoreOf(working);
    await Promise.all(mixed.map((event) => audit.record(event)));
    expect(await recorded(working, one)).toHaveLength(3);
  });

  test("a list has the events of a tenant, newest first, before the row that it is told", async () => {
    const audit = auditStoreOf(await open());
    const all = events(newTenant(), 5);
    const namespaceId = all[0]?.namespaceId ?? "";
    await Promise.all([...all, ...events(newTenant(), 3)].map((event) => audit.record(event)));
    const rows = all.map((event, place) => ({ at: event.at, strand: 0, sequence: place + 1, event })).toReversed();
    const [, second, , , last] = rows;
    expect(await audit.list(namespaceId, { limit: 9 })).toEqual(rows);
    expect(await audit.list(namespaceId, { limit: 2 })).toEqual(rows.slice(0, 2));
    expect(await audit.list(namespaceId, { limit: 2, before: second })).toEqual(rows.slice(2, 4));
    expect(await audit.list(namespaceId, { limit: 2, before: last })).toEqual([]);
    expect(await audit.list("no-such-tenant", { limit: 9 })).toEqual([]);
  });

  test("a list of tenants and traces that no column can hold as they are tells them apart", async () => {
    const audit = auditStoreOf(await open());
    const traces = ["same", "same\0", "same\ud800", "same\ud801"];
    for (const [place, traceId] of traces.entries())
      await audit.record(auditEvent(`event-${place}`, { namespaceId: "log\0", traceId }));
    for (const traceId of traces) {
      const listed = await audit.list("log\0", { traceId, limit: 9 });
      expect(listed.map(({ event }) => event.traceId)).toEqual([traceId]);
    }
    expect(await audit.list("log", { limit: 9 })).toEqual([]);
  });

  test("it says how many events wait: those of this instant, and none once they are stored or refused", async () => {
    const working = await open();
    for (const database of [working, failingAt(working, 1, "before")]) {
      const audit = auditStoreOf(database);
      expect(audit.waiting).toBe(0);
      const settled = Promise.allSettled(events(newTenant(), 3).map((event) => audit.record(event)));
      expect(audit.waiting).toBe(3);
      await settled;
      expect(audit.waiting).toBe(0);
    }
  });

  test("an audit log that is verified while it is written is whole every time", async () => {
    const audit = auditStoreOf(await open());
    const namespaceId = newTenant();
    const progress = { isDone: false };
    const write = async (): Promise<void> => {
      for (let round = 0; round < 25; round += 1)
        await Promise.all(events(namespaceId, 20, `round-${round}`).map((event) => audit.record(event)));
      progress.isDone = true;
    };
    const verdicts: (number | undefined)[] = [];
    const verify = async (): Promise<void> => {
      do verdicts.push(await firstBroken(audit, namespaceId));
      while (!progress.isDone);
    };
    await Promise.all([write(), verify(), verify()]);
    expect(new Set(verdicts)).toEqual(new Set([undefined]));
    expect(await audit.list(namespaceId, { limit: 1 })).toMatchObject([{ sequence: 500 }]);
  });

  test("an audit log that is written without a pause is verified all the same", async () => {
    const audit = auditStoreOf(await open());
    const namespaceId = newTenant();
    const progress = { isVerified: false };
    const write = async (): Promise<void> => {
      for (let round = 0; !progress.isVerified; round += 1)
        await audit.record(auditEvent(`event-${round}`, { namespaceId }));
    };
    const verify = async (): Promise<void> => {
      expect(await firstBroken(audit, namespaceId)).toBeUndefined();
      progress.isVerified = true;
    };
    await Promise.all([write(), verify()]);
  });

  test("flush waits until everything recorded so far is stored", async () => {
    const database = await open();
    const audit = auditStoreOf(database);
    const all = events(newTenant(), 20);
    const acknowledged = all.map((event) => audit.record(event));
    await audit.flush();
    expect(await recorded(database, all[0]?.namespaceId ?? "")).toEqual(all);
    await Promise.all(acknowledged);
  });

  test("flush of a store that was never written to returns", async () => {
    await expect(auditStoreOf(await open()).flush()).resolves.toBeUndefined();
  });
});

describe("audit on a PostgreSQL that two hosts share", () => {
  test("the chains of tenants that both write for at once stay whole, with every event once", async () => {
    const hosts = await openPair();
    const stores = hosts.map((host) => auditStoreOf(host));
    const tenants = ["tenant-a", "tenant-b", "tenant-c"];
    for (let round = 0; round < 10; round += 1) {
      const writes = stores.flatMap((audit, host) =>
        tenants.flatMap((tenant) =>
          events(tenant, 10, `round-${round}-host-${host}`).map((event) => audit.record(event)),
        ),
      );
      await Promise.all(writes);
    }
    for (const tenant of tenants) {
      expect(await firstBroken(stores[0], tenant)).toBeUndefined();
      const ids = (await recorded(hosts[0], tenant)).map(({ id }) => id);
      expect(ids).toHaveLength(200);
      expect(new Set(ids).size).toBe(200);
    }
  });

  test("a row that was removed is found on every strand, and named with it", async () => {
    const [here, there] = await openPair();
    for (const host of [here, there]) {
      const audit = auditStoreOf(host);
      for (const event of events("tenant-1", 3, `host-${host.strand}`)) await audit.record(event);
    }
    const audit = auditStoreOf(here);
    expect(await audit.verify("tenant-1")).toMatchObject({ rows: 6, heads: [{ strand: 0 }, { strand: 1 }] });
    await here.db.deleteFrom("audit").where("strand", "=", there.strand).where("sequence", "=", 2).execute();
    const { broken } = await audit.verify("tenant-1");
    expect(broken).toEqual({ strand: 1, sequence: 2, why: "row 2 of strand 1 was changed or removed" });
  });

  test("an audit log that one verifies while the other writes it is whole every time, and a broken one is broken", async () => {
    const [here, there] = await openPair();
    const [writer, reader] = [auditStoreOf(here), auditStoreOf(there)];
    const progress = { isDone: false };
    const write = async (): Promise<void> => {
      for (let round = 0; round < 40; round += 1)
        await Promise.all(events("tenant-1", 10, `round-${round}`).map((event) => writer.record(event)));
      progress.isDone = true;
    };
    const verdicts: (number | undefined)[] = [];
    const verify = async (): Promise<void> => {
      do verdicts.push(await firstBroken(reader, "tenant-1"));
      while (!progress.isDone);
    };
    await Promise.all([write(), verify()]);
    expect(new Set(verdicts)).toEqual(new Set([undefined]));
    await here.db.deleteFrom("audit").where("sequence", "=", 7).execute();
    const more = events("tenant-1", 50, "more").map((event) => writer.record(event));
    expect(await firstBroken(reader, "tenant-1")).toBe(7);
    await Promise.all(more);
  });
});
