import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { newLocation, openHost, tenAtOnce } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import { startPgBouncer } from "../../test/pgbouncer.ts";
import { startOwnPostgres } from "../../test/postgres-server.ts";
import { openHostLease } from "./host-lease.ts";
import { inspectDatabase } from "./inspect-database.ts";
import { registerStart } from "./migrate.ts";
import { openDatabase } from "./open-database.ts";

const count = { sql: "update revision set value = value + 1 where id = $1", rows: [[1]] };
const settings = sql<{ level: string; limit: string }>`
  select current_setting('transaction_isolation') as level, current_setting('statement_timeout') as "limit"`;
const ours = { level: "read committed", limit: "15s" };

async function connected(location: string): Promise<pg.Client> {
  const client = new pg.Client(location);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A new database whose default isolation is the strictest. */
async function strictLocation(): Promise<string> {
  const location = await newLocation("postgres");
  const client = await connected(location);
  await client.query(
    `alter database ${new URL(location).pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
  );
  return location;
}

describe("a pooler in transaction mode that the configuration does not tell of", () => {
  for (const { name, idle = 2, ...more } of [
    { name: "gives out what was used last" },
    { name: "gives its connections out in turn", server_round_robin: 1 },
    { name: "gives many connections out in turn", idle: 6, server_round_robin: 1 },
    { name: "has one connection", idle: 1, default_pool_size: 1 },
  ])
    test(`is refused in one sentence when it ${name}, and nothing is made`, async () => {
      const location = await newLocation("postgres");
      const pooled = await startPgBouncer(location, { pool_mode: "transaction", ...more });
      const { host, pathname } = new URL(pooled);
      const says =
        `PgBouncer at ${host}${pathname} is in transaction mode, which the configuration does not say: ` +
        'set database.pooler to "transaction" (TURNPIKE_DATABASE_POOLER) and database.directUrl to the address of PostgreSQL itself, ' +
        "or give the address of a pooler in session mode.";
      // The pooler has so many connections of the server.
      const others = await Promise.all(Array.from({ length: idle }, () => connected(pooled)));
      await Promise.all(others.map((client) => client.query("begin")));
      await Promise.all(others.map((client) => client.query("commit")));
      for (const database of [pooled, { url: pooled }, { url: pooled, pooler: "session" as const }]) {
        await expect(openDatabase(database)).rejects.toThrow(says);
        await expect(inspectDatabase(database, () => Promise.resolve())).rejects.toThrow(says);
      }
      const watching = await connected(location);
      expect((await watching.query("select to_regclass('hosts') as hosts")).rows).toEqual([{ hosts: null }]);
    });
});

test("a pooler in statement mode is refused", async () => {
  const pooled = await startPgBouncer(await newLocation("postgres"), { pool_mode: "statement" });
  await expect(openDatabase(pooled)).rejects.toThrow(
    /^PgBouncer at \S+ is in statement mode, in which there are no transactions: set it to session or transaction mode\.$/,
  );
});

describe("a pooler in session mode", () => {
  test("needs no setting, and hosts behind it see each other", async () => {
    const pooled = await startPgBouncer(await strictLocation(), { pool_mode: "session", default_pool_size: 60 });
    const [one, other] = [await openHost(pooled), await openHost({ url: pooled, pooler: "session" })];
    expect(one.strand).not.toBe(other.strand);
    expect(await other.isAlive(one.hostId)).toBe(true);
    expect((await settings.execute(one.db)).rows).toEqual([ours]);
    await one.close();
    await vi.waitFor(async () => expect(await other.isAlive(one.hostId)).toBe(false), patience);
  });
});

/** A database behind a pooler in transaction mode, as it is configured. */
async function behindPooler(location: string) {
  const url = await startPgBouncer(location, { pool_mode: "transaction", default_pool_size: 5 });
  return { url, pooler: "transaction", directUrl: location } as const;
}

describe("a pooler in transaction mode", () => {
  test("lends connections on which each statement has the host's own level and time limit", async () => {
    const database = await behindPooler(await strictLocation());
    const { db, reporting, read, transact } = await openHost(database);
    const [before] = await read<{ value: number }>("select value from revision where id = $1", [1]);
    await tenAtOnce<unknown>(60, (place) => {
      if (place % 3 === 0) return transact((steps) => steps([count], "commit"));
      if (place % 3 === 1) return transact((steps) => steps([count, count], "commit"));
      return db.transaction().execute(async (within) => {
        await within.selectFrom("revision").selectAll().execute();
        await sql`update revision set value = value + 1 where id = 1`.execute(within);
      });
    });
    const [after] = await read<{ value: number }>("select value from revision where id = $1", [1]);
    expect((after?.value ?? 0) - (before?.value ?? 0)).toBe(80);

    for (const kysely of [db, reporting]) {
      expect((await settings.execute(kysely)).rows).toEqual([ours]);
      expect((await kysely.transaction().execute((within) => settings.execute(within))).rows).toEqual([ours]);
    }
    expect(await read("select current_setting('transaction_isolation') as level, $1::text as said", ["x"])).toEqual([
      { level: "read committed", said: "x" },
    ]);
    const alone =
      "select current_setting('transaction_isolation') as level, current_setting('statement_timeout') as limit";
    expect((await transact((steps) => steps([{ sql: alone, rows: [[]] }], "commit")))[0]?.rows).toEqual([ours]);
    // Nothing of it stays with the connection, which another client is lent next.
    const other = await connected(database.url);
    expect((await other.query("show statement_timeout")).rows).toEqual([{ statement_timeout: "0" }]);
  });

  test("leaves nothing of a statement that fails, and the connection goes on", async () => {
    const { db, transact } = await openHost(await behindPooler(await newLocation("postgres")));
    const broken = { sql: "insert into revision (id, value) values ($1, 1)", rows: [[1]] };
    for (let round = 0; round < 12; round += 1) {
      await expect(transact((steps) => steps([broken], "commit"))).rejects.toMatchObject({ code: "23505" });
      await expect(sql`select * from nowhere`.execute(db)).rejects.toMatchObject({ code: "42P01" });
    }
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }]);
  });

  test("hosts behind it lease strands of their own, and so do hosts beside it", async () => {
    const database = await behindPooler(await newLocation("postgres"));
    const hosts = [];
    for (const place of [database, database.directUrl, database, database.directUrl]) hosts.push(await openHost(place));
    expect(hosts.map(({ strand }) => strand)).toEqual([0, 1, 2, 3]);
    for (const host of hosts) for (const other of hosts) expect(await host.isAlive(other.hostId)).toBe(true);
    const [first, second] = hosts;
    await first?.close();
    expect(await second?.isAlive(first?.hostId ?? 0)).toBe(false);
    expect((await openHost(database)).strand).toBe(0);
  });

  test("a lease that was not renewed is over: the strand is another host's, and the one that returns leases another", async () => {
    const database = await behindPooler(await newLocation("postgres"));
    const late = await openHost(database);
    const returned = vi.fn<() => void>();
    late.onReturn(returned);
    const { db } = await openHost(database.directUrl);
    const expire = (beat_at: number) => db.updateTable("host_leases").set({ beat_at }).execute();
    await expire(0);
    await vi.waitFor(() => expect(returned).toHaveBeenCalledOnce(), patience);
    // The clock of the server was set back since.
    await expire(4e9);
    const next = await openHost(database);
    await vi.waitFor(() => expect(returned).toHaveBeenCalledTimes(2), patience);
    expect(new Set([late.strand, next.strand, 1]).size).toBe(3);
    expect(await next.isAlive(late.hostId)).toBe(true);
  });
});

test("the beat of a host behind a pooler in transaction mode says when the server is another one, although its connection lasts", async () => {
  const server = await startOwnPostgres();
  onTestFinished(() => server.stop());
  const { url, directUrl } = await behindPooler(server.location);
  const database = await openDatabase(directUrl);
  const host = await registerStart(database.db);
  await database.close();
  const lease = await openHostLease(url, host, () => Promise.resolve());
  onTestFinished(() => lease.destroy());
  expect(await lease.beat(false)).toMatchObject({ silentFor: null });
  expect(await lease.beat(false)).toMatchObject({ silentFor: expect.any(Number) as number });
  await server.order("save");
  await expect(lease.beat(false)).rejects.toThrow("Another server answers by now.");
});

describe("the address for migrations", () => {
  test("has to be that of a server, and not of the pooler", async () => {
    const database = await behindPooler(await newLocation("postgres"));
    await expect(openDatabase({ ...database, directUrl: database.url })).rejects.toThrow(
      /^PgBouncer at \S+ is in transaction mode, which no migration can use: give the address of PostgreSQL itself as database\.directUrl\.$/,
    );
  });

  test("has to lead to the same database", async () => {
    const database = await behindPooler(await newLocation("postgres"));
    const elsewhere = await newLocation("postgres");
    await expect(openDatabase({ ...database, directUrl: elsewhere })).rejects.toThrow(
      /^database\.directUrl leads to another database than database\.url/,
    );
    const client = await connected(elsewhere);
    expect((await client.query("select to_regclass('hosts') as hosts")).rows).toEqual([{ hosts: null }]);
  });
});
