import { expect, onTestFinished, test } from "vitest";
import { sql } from "kysely";
import { migratedLocation, newLocation, openHost } from "../../../test/databases.ts";
import { opening, otherProcess } from "../../../test/other-process.ts";
import { watchThreads } from "../../../test/threads.ts";
import { openDatabase } from "../open-database.ts";
import { isOutage } from "../outage.ts";
import type { Database } from "../database.ts";
import type { Step } from "../steps.ts";
import { startThread } from "./thread.ts";

function use(grantId: string): Step {
  return {
    sql: "insert into uses (namespace_id, grant_id, used) values (?, ?, ?)",
    rows: [["tenant-1", grantId, 1]],
  };
}

async function usesOf({ db }: Database): Promise<string[]> {
  return (await db.selectFrom("uses").select("grant_id").orderBy("grant_id").execute()).map((row) => row.grant_id);
}

/** The error with which something is refused. */
function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "made",
    (error: unknown) => error,
  );
}

test("every commit is synced, into a log beside the file", async () => {
  const database = await openHost(await migratedLocation("sqlite"));
  const settings = ["pragma synchronous", "pragma journal_mode"].map((text) => ({ sql: text, rows: [[]] }));
  const [synced, log] = await database.transact((run) => run(settings, "commit"));
  // 2 is SQLite's number for "full": 1 would lose the last commits with the power.
  expect(synced?.rows).toEqual([{ synchronous: 2 }]);
  expect(log?.rows).toEqual([{ journal_mode: "wal" }]);
});

test("a transaction whose thread dies is refused as an outage, leaves no lock, and the next one is stored", async () => {
  const threads = watchThreads();
  const database = await openHost(await migratedLocation("sqlite"));
  await database.transact((run) => run([use("made")], "commit"));
  const refusal = await refusalOf(
    database.transact(async (run) => {
      await run([use("half")]);
      await threads.kill();
      await run([use("other half")], "commit");
    }),
  );
  expect(isOutage(refusal)).toBe(true);
  await database.transact((run) => run([use("next")], "commit"));
  expect(await usesOf(database)).toEqual(["made", "next"]);
});

test("a query's transaction whose thread dies is refused the same way", async () => {
  const threads = watchThreads();
  const database = await openHost(await migratedLocation("sqlite"));
  const insert = (db: Database["db"], id: string) =>
    db.insertInto("uses").values({ namespace_id: "tenant-1", grant_id: id, used: 1 }).execute();
  const refusal = await refusalOf(
    database.db.transaction().execute(async (transaction) => {
      await insert(transaction, "half");
      await threads.kill();
      await insert(transaction, "other half");
    }),
  );
  expect(isOutage(refusal)).toBe(true);
  await insert(database.db, "next");
  expect(await usesOf(database)).toEqual(["next"]);
});

test("what is written by itself after a transaction that failed is not part of it", async () => {
  const database = await openHost(await migratedLocation("sqlite"));
  await expect(database.transact((run) => run([use("twice"), use("twice")], "commit"))).rejects.toThrow("UNIQUE");
  await database.db.insertInto("uses").values({ namespace_id: "tenant-1", grant_id: "alone", used: 1 }).execute();
  await database.transact((run) => run([use("next")], "commit"));
  expect(await usesOf(database)).toEqual(["alone", "next"]);
});

test("what waits for a thread that dies is refused or was stored whole, and what comes next is stored", async () => {
  const threads = watchThreads();
  const database = await openHost(await migratedLocation("sqlite"));
  const ids = Array.from({ length: 20 }, (_, place) => `use-${String(place).padStart(2, "0")}`);
  const begun = ids.map((id) => refusalOf(database.transact((run) => run([use(id), use(`${id} too`)], "commit"))));
  await begun[3];
  await threads.kill();
  const ended = await Promise.all(begun);
  expect(ended.filter((end) => end !== "made").every(isOutage)).toBe(true);
  await database.transact((run) => run([use("next")], "commit"));
  const stored = await usesOf(database);
  expect(stored).toEqual(expect.arrayContaining(ids.filter((_, place) => ended[place] === "made")));
  for (const id of ids) expect(stored.includes(id)).toBe(stored.includes(`${id} too`));
});

test("reads begin anew when the thread that reads dies", async () => {
  const threads = watchThreads();
  const database = await openHost(await migratedLocation("sqlite"));
  await usesOf(database);
  await database.reporting.selectFrom("uses").selectAll().execute();
  expect(threads.size).toBe(3);
  await threads.kill();
  expect(await usesOf(database)).toEqual([]);
  expect(await database.reporting.selectFrom("uses").selectAll().execute()).toEqual([]);
});

test("the file still belongs to this process after its threads died", async () => {
  const threads = watchThreads();
  const location = await newLocation("sqlite");
  await openHost(location);
  await threads.kill();
  expect((await otherProcess(opening(location))).said).toContain("is in use by another process");
});

test("a thread that ends while it is closed is closed", async () => {
  const path = await newLocation("sqlite");
  const thread = startThread({ path, isReader: true, identity: { dev: 0, ino: 0 } });
  const read = refusalOf(thread.connect().run([{ sql: "select 1", rows: [[]] }]));
  await thread.close();
  expect(isOutage(await read)).toBe(true);
});

test("reads for operators and for calls do not wait for a transaction, and see what was committed alone", async () => {
  const database = await openHost(await migratedLocation("sqlite"));
  await database.transact((run) => run([use("made")], "commit"));
  await database.transact(async (run) => {
    await run([use("open")]);
    expect(await usesOf({ ...database, db: database.reporting })).toEqual(["made"]);
    const byHand = await sql`select grant_id from uses`.execute(database.reporting);
    expect(byHand.rows).toEqual([{ grant_id: "made" }]);
    expect(await usesOf(database)).toEqual(["made"]);
  });
  expect(await usesOf(database)).toEqual(["made"]);
});

test("a long read of an operator holds up neither reads of calls nor writes", async () => {
  const database = await openHost(await migratedLocation("sqlite"));
  const ended: string[] = [];
  const counted = sql<number>`(with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
    select count(*) from n)`;
  const long = database.reporting
    .selectNoFrom(counted.as("count"))
    .execute()
    .then(() => ended.push("the long read"));
  await database.transact((run) => run([use("made")], "commit"));
  ended.push("a write");
  expect(await usesOf(database)).toEqual(["made"]);
  ended.push("a read");
  await long;
  expect(ended).toEqual(["a write", "a read", "the long read"]);
});

test("a database in memory shows no reader what a transaction has not committed", async () => {
  const database = await openDatabase(":memory:");
  let seen: Promise<string[]> | undefined;
  await database
    .transact(async (run) => {
      await run([use("undone")]);
      seen = usesOf(database);
      await run([use("undone too")]);
      throw new Error("changed my mind");
    })
    .catch(() => {});
  expect(await seen).toEqual([]);
  await database.close();
});

test("a transaction that was not ended is undone by the next one, and does not swallow it", async () => {
  const thread = startThread({ path: await newLocation("sqlite"), isReader: false });
  onTestFinished(() => thread.close());
  const begin: Step = { sql: "begin immediate", rows: [[]] };
  const connection = thread.connect();
  const make = { sql: "create table if not exists uses (namespace_id text, grant_id text, used integer)", rows: [[]] };
  await connection.run([make, begin, use("half")]);
  await connection.run([begin, use("next"), { sql: "commit", rows: [[]] }]);
  const [stored] = await connection.run([{ sql: "select grant_id from uses", rows: [[]] }]);
  expect(stored?.rows).toEqual([{ grant_id: "next" }]);
});
