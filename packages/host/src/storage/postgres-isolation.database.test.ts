import { sql } from "kysely";
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { newLocation, openHost, tenAtOnce } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import { inspectDatabase } from "./inspect-database.ts";
import { openDatabase } from "./open-database.ts";
import { isOutage } from "./outage.ts";

/** A new database in which every session begins with a setting. */
async function databaseWith(setting: string): Promise<string> {
  const location = await newLocation("postgres");
  await run(location, `alter database ${new URL(location).pathname.slice(1)} set ${setting}`);
  return location;
}

async function run(location: string, statement: string): Promise<void> {
  const client = new pg.Client(location);
  await client.connect();
  await client.query(statement);
  await client.end();
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const count = { sql: "update revision set value = value + 1 where id = $1", rows: [[1]] };
const level = sql<{ transaction_isolation: string }>`show transaction_isolation`;

for (const isolation of ["serializable", "repeatable read"]) {
  test(`concurrent transactions do not conflict in a database whose default is ${isolation}`, async () => {
    const { db, reporting, read, transact } = await openHost(
      await databaseWith(`default_transaction_isolation = '${isolation}'`),
    );
    await sql`insert into revision (id, value) values (1, 0) on conflict do nothing`.execute(db);
    const [before] = await read<{ value: number }>("select value from revision where id = $1", [1]);
    // A lone statement, several in one transaction, and Kysely's own.
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

    const within = (await db.transaction().execute((transaction) => level.execute(transaction))).rows;
    const report = (await reporting.transaction().execute((transaction) => level.execute(transaction))).rows;
    const [lone, loneReport] = [(await level.execute(db)).rows, (await level.execute(reporting)).rows];
    for (const rows of [within, report, lone, loneReport])
      expect(rows).toEqual([{ transaction_isolation: "read committed" }]);
  });
}

test("a transaction has its own level also on a session that was given another", async () => {
  const { db } = await openHost(await newLocation("postgres"));
  await db.connection().execute(async (connection) => {
    await sql`set default_transaction_isolation = 'serializable'`.execute(connection);
    const { rows } = await connection.transaction().execute((within) => level.execute(within));
    expect(rows).toEqual([{ transaction_isolation: "read committed" }]);
  });
});

for (const kind of ["a batch of the ledger", "a transaction of a store"] as const) {
  test(`${kind} that the server ended because it was idle is an outage, and the next one succeeds`, async () => {
    const location = await newLocation("postgres");
    const database = await openHost(location);
    const watching = new pg.Client(location);
    await watching.connect();
    onTestFinished(() => watching.end());
    const untilEnded = () =>
      vi.waitFor(async () => {
        const { rows } = await watching.query(
          "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
        );
        expect(rows).toEqual([]);
      }, patience);
    const idle = (): Promise<unknown> =>
      kind === "a batch of the ledger"
        ? database.transact(async (steps) => {
            await steps([{ sql: "set local idle_in_transaction_session_timeout = '10ms'", rows: [[]] }]);
            await untilEnded();
            await steps([count], "commit");
          })
        : database.db.transaction().execute(async (within) => {
            await sql`set local idle_in_transaction_session_timeout = '10ms'`.execute(within);
            await untilEnded();
            await within.selectFrom("uses").selectAll().execute();
          });
    expect(await errorOf(idle())).toSatisfy(isOutage);
    await database.transact((steps) => steps([count], "commit"));
  });
}

for (const setting of ["idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"])
  test(`the ${setting} of a database does not end its migrations`, async () => {
    expect((await openHost(await databaseWith(`${setting} = '1ms'`))).hostId).toBe(1);
  });

test("the transaction_timeout of a database does not end a migration that waits for another host's", async () => {
  const location = await databaseWith("transaction_timeout = '2s'");
  const [migrating, watching] = [new pg.Client(location), new pg.Client(location)];
  for (const client of [migrating, watching]) {
    await client.connect();
    onTestFinished(() => client.end());
  }
  await migrating.query("set transaction_timeout = 0");
  await migrating.query("begin; select pg_advisory_xact_lock(3853314791062309107)");
  const opening = openHost(location);
  await vi.waitFor(async () => {
    const { rows } = await watching.query(
      "select 1 from pg_stat_activity where datname = current_database() and clock_timestamp() - xact_start > '3s' and wait_event_type = 'Lock'",
    );
    expect(rows).toHaveLength(1);
  }, patience);
  await migrating.query("commit");
  expect((await opening).hostId).toBe(1);
});

test("the codes of a transaction that was idle or took too long are outages, and others of their class are not", () => {
  const coded = (code: string): Error => Object.assign(new Error("ended"), { code });
  expect(["25P03", "25P04"].map(coded).filter((error) => !isOutage(error))).toEqual([]);
  expect(["25P01", "25P02", "25001"].map(coded).filter(isOutage)).toEqual([]);
});

test("a lock that is not free within lock_timeout is an outage", async () => {
  const location = await databaseWith("lock_timeout = '10ms'");
  const database = await openHost(location);
  const holding = new pg.Client(location);
  await holding.connect();
  onTestFinished(() => holding.end());
  await holding.query("begin; lock table revision in exclusive mode");
  expect(await errorOf(database.transact((steps) => steps([count], "commit")))).toSatisfy(isOutage);
});

test("a search_path without a schema that exists is said by its code, when a host starts and when it is inspected", async () => {
  const location = await databaseWith("search_path = nowhere");
  expect(await errorOf(openDatabase(location))).toMatchObject({ code: "3F000" });
  expect(await errorOf(inspectDatabase(location, () => Promise.resolve()))).toMatchObject({ code: "3F000" });
});
