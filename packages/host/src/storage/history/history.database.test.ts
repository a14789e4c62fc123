import { beforeEach, describe, expect, test, vi } from "vitest";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../../test/databases.ts";
import { auditEvent } from "../../../test/records.ts";
import { patience } from "../../../test/host-calls.ts";
import { entryOf, openLedger, type Ledger } from "../../ledger/index.ts";
import type { Database } from "../database.ts";
import { readOpenGaps } from "./gaps.ts";
import { createHistory, DatabaseWentBackError, type WatchedHistory } from "./history.ts";
import { findLostChains, type KnownHead } from "./lost-chains.ts";

let events = 0;

/** Records so many rows of a tenant, and returns the head of its chain. */
async function record(database: Database, ledger: Ledger, namespaceId: string, count = 1): Promise<KnownHead> {
  for (let place = 0; place < count; place += 1) {
    const event = auditEvent(`event-${(events += 1)}`, { namespaceId });
    await ledger.submit({ alternatives: [{ entries: [entryOf(event)] }] });
  }
  const head = database.db.selectFrom("audit_heads").selectAll().where("namespace_id", "=", namespaceId);
  const { namespace_id: _tenant, ...rest } = await head.executeTakeFirstOrThrow();
  return { namespaceId, ...rest };
}

/** Takes rows away, and the head back, as a server does that is set back. */
async function lose({ db }: Database, { namespaceId, strand }: KnownHead, from: number): Promise<void> {
  const isOfChain = { namespace_id: namespaceId, strand };
  await db
    .deleteFrom("audit")
    .where((row) => row.and(isOfChain))
    .where("sequence", ">=", from)
    .execute();
  const last = db
    .selectFrom("audit")
    .select(["sequence", "hash"])
    .where((row) => row.and(isOfChain));
  const left = await last.orderBy("sequence", "desc").limit(1).executeTakeFirst();
  if (left === undefined)
    await db
      .deleteFrom("audit_heads")
      .where((row) => row.and(isOfChain))
      .execute();
  else
    await db
      .updateTable("audit_heads")
      .set(left)
      .where((row) => row.and(isOfChain))
      .execute();
}

function claim(namespaceId: string, id: string) {
  const key = { namespace_id: namespaceId, actor: "agent:a", kind: "tool", scope: "t", id };
  return {
    claim: { key, fingerprint: "one", nonce: crypto.randomUUID() },
    alternatives: [{ entries: [entryOf(auditEvent(`event-${(events += 1)}`, { namespaceId }))] }],
  };
}

describe.each(databaseKinds)("what a host knows to be durable on %s", (kind) => {
  const shared = sharedDatabase(kind);

  test("is found when it is the end of a chain, and when others continued it", async () => {
    const database = await shared();
    const [ledger, tenant] = [openLedger(database), newTenant()];
    const heads = [await record(database, ledger, tenant), await record(database, ledger, tenant, 2)];
    expect(await findLostChains(database.db, heads)).toEqual([]);
  });

  test("is missed when rows were cut, and when others were written in their place", async () => {
    const database = await shared();
    const [ledger, tenant, other] = [openLedger(database), newTenant(), newTenant()];
    const head = await record(database, ledger, tenant, 3);
    const whole = await record(database, ledger, other);
    await lose(database, head, 2);
    expect(await findLostChains(database.db, [whole, head])).toEqual([{ ...head, now: 1 }]);
    await record(database, openLedger(database), tenant, 4);
    expect(await findLostChains(database.db, [whole, head])).toEqual([{ ...head, now: 5 }]);
    await lose(database, head, 1);
    expect(await findLostChains(database.db, [head])).toEqual([{ ...head, now: 0 }]);
  });

  test("is found among rows that were exported and removed, up to their anchor", async () => {
    const database = await shared();
    const [ledger, tenant] = [openLedger(database), newTenant()];
    const head = await record(database, ledger, tenant, 2);
    await record(database, ledger, tenant, 2);
    await database.db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", "<=", 3).execute();
    const anchor = (sequence: number) => ({
      namespace_id: tenant,
      strand: head.strand,
      content: JSON.stringify({ sequence }),
    });
    expect(await findLostChains(database.db, [head])).toHaveLength(1);
    await database.db.insertInto("audit_anchors").values(anchor(1)).execute();
    expect(await findLostChains(database.db, [head])).toHaveLength(1);
    await database.db.updateTable("audit_anchors").set(anchor(3)).where("namespace_id", "=", tenant).execute();
    expect(await findLostChains(database.db, [head])).toEqual([]);
  });
});

describe.each(databaseKinds)("a host on %s that comes to another server", (kind) => {
  let database: Database;
  let ledger: Ledger;
  let head: KnownHead;
  beforeEach(async () => {
    database = await openFresh(kind);
    ledger = openLedger(database);
    head = await record(database, ledger, "acme", 3);
  });
  /** The history of the host, which a connection to a server has to pass. */
  const watched = (): WatchedHistory => database.history as WatchedHistory;
  const comeTo = (id: string): Promise<void> => watched().verify(database.db, { id });

  test("goes on when all is there, also after a promotion", async () => {
    const { era } = database.history;
    await watched().verify(database.db, { id: "another", timeline: "2" });
    expect([database.history.isBehind, database.history.era, await readOpenGaps(database.db)]).toEqual([
      false,
      era + 1,
      [],
    ]);
    expect(await ledger.submit(claim("acme", "call-1"))).toMatchObject({ kind: "written" });
  });

  test("takes no id when rows are missing, and records all the same what happened", async () => {
    await lose(database, head, 3);
    await comeTo("another");
    expect(await readOpenGaps(database.db)).toMatchObject([{ chains: [{ ...head, now: 2 }] }]);
    await expect(ledger.submit(claim("acme", "call-1"))).rejects.toThrow(DatabaseWentBackError);
    await expect(ledger.submit(claim("other", "call-1"))).rejects.toThrow(DatabaseWentBackError);
    expect(await database.db.selectFrom("replay").selectAll().execute()).toEqual([]);
    await record(database, ledger, "acme");
  });

  test("stores a loss once, however many connections it opens", async () => {
    await lose(database, head, 3);
    await Promise.all([comeTo("another"), comeTo("another"), comeTo("another")]);
    await comeTo("a third");
    expect(await readOpenGaps(database.db)).toHaveLength(1);
  });

  test("uses no connection, and takes no id, while the loss cannot be stored", async () => {
    await lose(database, head, 3);
    await database.db.schema.alterTable("database_gaps").renameTo("elsewhere").execute();
    await expect(comeTo("another")).rejects.toThrow(/database_gaps/);
    expect(database.history.isBehind).toBe(true);
    await database.db.schema.alterTable("elsewhere").renameTo("database_gaps").execute();
    await comeTo("another");
    expect(await readOpenGaps(database.db)).toHaveLength(1);
  });

  test("does not acknowledge what was committed on the server before", async () => {
    const { era } = database.history;
    await comeTo("another");
    const gone = { ...head, sequence: head.sequence + 1, hash: "b".repeat(64) };
    await expect(database.history.remember([gone], era)).rejects.toThrow(DatabaseWentBackError);
    expect(database.history.isBehind).toBe(true);
  });

  test("notices a chain that went back beneath its connection", async () => {
    await lose(database, head, 3);
    await expect(ledger.submit(claim("acme", "call-1"))).rejects.toThrow(DatabaseWentBackError);
    await vi.waitFor(async () => expect(await readOpenGaps(database.db)).toHaveLength(1), patience);
    expect(await database.db.selectFrom("replay").selectAll().execute()).toEqual([]);
  });

  test("stores a loss as soon as it can, when it could not at once", async () => {
    await lose(database, head, 3);
    await database.db.schema.alterTable("database_gaps").renameTo("elsewhere").execute();
    await expect(ledger.submit(claim("acme", "call-1"))).rejects.toThrow(DatabaseWentBackError);
    const { history } = database;
    await vi.waitFor(() => expect(history.compare()).rejects.toThrow(/database_gaps/), patience);
    await database.db.schema.alterTable("elsewhere").renameTo("database_gaps").execute();
    // Each call asks what the revision is, and is told of losses with that.
    history.told(false, history.stored);
    await vi.waitFor(async () => expect(await readOpenGaps(database.db)).toHaveLength(1), patience);
  });

  test("ends every open turn as interrupted, fences its runs, and lets approvals of single acts lapse", async () => {
    const turn = {
      namespace_id: "acme",
      actor: "agent:a",
      fingerprint: "one",
      is_async: 1,
      heading: "{}",
      content: "{}",
    };
    const times = { started_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" };
    const counts = { steps: 0, tool_calls: 0, ran_ms: 0, entries: 0, events: 0 };
    const open = { ...turn, ...times, ...counts, waiting: null, result: null, run: 4 };
    await database.db
      .insertInto("turns")
      .values([
        { ...open, id: "running", execution_id: "1", status: "running", host_id: database.hostId },
        { ...open, id: "waiting", execution_id: "2", status: "waiting", host_id: null, waiting: "{}" },
        { ...open, id: "ended", execution_id: "3", status: "completed", host_id: null, completed_at: times.updated_at },
      ])
      .execute();
    const permit = {
      namespace_id: "acme",
      id: "1",
      ask: "1",
      requester: "agent:a",
      expires_at: "2099-01-01T00:00:00Z",
    };
    const nothing = {
      place: "1",
      grant_id: null,
      credential_id: null,
      execution_id: null,
      closed: null,
      content: "{}",
    };
    await database.db
      .insertInto("escalations")
      .values({ ...permit, ...nothing, status: "approved", permit_expires_at: "2099-01-01T00:00:00Z" })
      .execute();
    await lose(database, head, 3);
    await comeTo("another");
    const { permit_expires_at } = await database.db
      .selectFrom("escalations")
      .select("permit_expires_at")
      .executeTakeFirstOrThrow();
    expect(String(permit_expires_at) <= new Date().toISOString()).toBe(true);
    const columns = ["id", "status", "run", "host_id", "waiting", "is_interrupted"] as const;
    const rows = await database.db.selectFrom("turns").select(columns).orderBy("id").execute();
    const ended = { status: "running", run: 5, host_id: null, waiting: null, is_interrupted: 1 };
    expect(rows).toEqual([
      { id: "ended", status: "completed", run: 4, host_id: null, waiting: null, is_interrupted: 0 },
      { id: "running", ...ended },
      { id: "waiting", ...ended },
    ]);
  });
});

describe("what a host is told of a loss", () => {
  const history = (): WatchedHistory =>
    createHistory({ hostId: () => 1, connect: () => Promise.reject(new Error("gone")) });

  test("counts until it is told otherwise", () => {
    const told = history();
    told.told(true, 0);
    expect(told.isBehind).toBe(true);
    told.told(false, 0);
    expect(told.isBehind).toBe(false);
  });
});
