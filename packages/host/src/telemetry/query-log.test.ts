import { Kysely, sql, SqliteDialect } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import type { Schema } from "../storage/schema.ts";
import { SqliteFile } from "../storage/sqlite/sqlite-file.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { queryLog } from "./query-log.ts";

/** A database with one table whose statements are timed. */
async function openTimed(): Promise<{ db: Kysely<Schema>; metrics: Metrics }> {
  const metrics = createMetrics();
  const file = new SqliteFile(":memory:");
  file.exec("create table uses (namespace_id text not null, grant_id text not null, used integer not null)");
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: file }), log: queryLog(metrics) });
  onTestFinished(() => db.destroy());
  return { db, metrics };
}

async function timed(metrics: Metrics): Promise<string[]> {
  const counts = (await metrics.text()).matchAll(/^turnpike_store_duration_seconds_count\{(.*)\} (\d+)$/gm);
  return Array.from(counts, ([, labels, count]) => `${labels} ${count}`);
}

const use = { namespace_id: "tenant-1", grant_id: "grant-1", used: 1 };

const rows: { name: string; run(db: Kysely<Schema>): Promise<unknown>; labels: string[] }[] = [
  {
    name: "a select",
    run: (db) => db.selectFrom("uses").selectAll().where("namespace_id", "=", "tenant-1").execute(),
    labels: ['operation="select",table="uses" 1'],
  },
  {
    name: "an insert",
    run: (db) => db.insertInto("uses").values(use).execute(),
    labels: ['operation="insert",table="uses" 1'],
  },
  {
    name: "an update",
    run: (db) => db.updateTable("uses").set({ used: 2 }).where("grant_id", "=", "grant-1").execute(),
    labels: ['operation="update",table="uses" 1'],
  },
  {
    name: "a delete",
    run: (db) => db.deleteFrom("uses").where("grant_id", "=", "grant-1").execute(),
    labels: ['operation="delete",table="uses" 1'],
  },
  {
    name: "a transaction",
    run: (db) => db.transaction().execute((transaction) => transaction.insertInto("uses").values(use).execute()),
    labels: [
      'operation="begin",table="none" 1',
      'operation="insert",table="uses" 1',
      'operation="commit",table="none" 1',
    ],
  },
  {
    name: "a transaction that fails",
    run: (db) => db.transaction().execute(() => Promise.reject(new Error("changed its mind"))),
    labels: ['operation="begin",table="none" 1', 'operation="rollback",table="none" 1'],
  },
  {
    name: "a statement that fails",
    run: (db) => db.selectFrom("files").selectAll().execute(),
    labels: ['operation="select",table="files" 1'],
  },
  {
    name: "a statement written by hand, whatever it says,",
    run: (db) => sql`select ${"a secret"} as secret`.execute(db),
    labels: ['operation="other",table="none" 1'],
  },
  {
    name: "a select from a select",
    run: (db) => db.selectFrom(db.selectFrom("uses").selectAll().as("inner")).selectAll().execute(),
    labels: ['operation="select",table="none" 1'],
  },
  {
    name: "a change of the schema",
    run: (db) => db.schema.createTable("chosen").addColumn("id", "text").execute(),
    labels: ['operation="other",table="none" 1'],
  },
];

for (const row of rows) {
  test(`${row.name} is timed by what it does and to which table`, async () => {
    const { db, metrics } = await openTimed();
    await row.run(db).catch(() => {});
    expect(await timed(metrics)).toEqual(row.labels);
  });
}

test("what a statement is about never becomes a label", async () => {
  const { db, metrics } = await openTimed();
  await db.insertInto("uses").values(use).execute();
  await sql.raw("select 'tenant-1' as tenant").execute(db);
  expect(await metrics.text()).not.toMatch(/tenant-1|grant-1/);
});
