import { sql } from "kysely";
import { expect, test } from "vitest";
import { openCutProxy } from "../../test/cut-proxy.ts";
import { databaseKinds, newLocation, openFresh, openHost } from "../../test/databases.ts";
import { openDatabase } from "./open-database.ts";
import { isOutage } from "./outage.ts";

/** What a promise was rejected with. */
function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

for (const kind of databaseKinds) {
  test(`a ${kind} that was closed is an outage`, async () => {
    const database = await openDatabase(await newLocation(kind));
    await database.close();
    expect(isOutage(await errorOf(sql`select 1`.execute(database.db)))).toBe(true);
  });

  for (const [name, statement] of [
    ["a statement that is none", sql`selec 1`],
    ["a table that is not there", sql`select * from nowhere`],
    ["a row that is there already", sql`insert into revision (id, value) values (1, 1)`],
  ] as const) {
    test(`${name} is a bug on ${kind}, and no outage`, async () => {
      const { db } = await openFresh(kind);
      const error = await errorOf(statement.execute(db));
      expect([error instanceof Error, isOutage(error)]).toEqual([true, false]);
    });
  }
}

test("a disk that is full is an outage, within a transaction too", async () => {
  const { db } = await openFresh("sqlite");
  await sql`pragma max_page_count = 1`.execute(db);
  const insert = (within: Pick<typeof db, "insertInto">) =>
    within
      .insertInto("owners")
      .values({ namespace_id: "tenant-1", owner: "x".repeat(100_000) })
      .execute();
  expect(isOutage(await errorOf(insert(db)))).toBe(true);
  expect(isOutage(await errorOf(db.transaction().execute((transaction) => insert(transaction))))).toBe(true);
});

test("a connection that breaks is an outage", async () => {
  const proxy = await openCutProxy(await newLocation("postgres"));
  const { db } = await openHost(proxy.location);
  proxy.cut();
  expect(isOutage(await errorOf(sql`select 1`.execute(db)))).toBe(true);
});

test("a server that does not answer is an outage", async () => {
  expect(isOutage(await errorOf(openDatabase("postgres://user:secret@127.0.0.1:1/none")))).toBe(true);
});

test("a statement that takes too long, and one whose connection was ended by an operator, are outages", async () => {
  const { db } = await openFresh("postgres");
  const slow = db.connection().execute(async (connection) => {
    await sql`set statement_timeout = 10`.execute(connection);
    await sql`select pg_sleep(10)`.execute(connection);
  });
  expect(isOutage(await errorOf(slow))).toBe(true);
  expect(isOutage(await errorOf(sql`select pg_terminate_backend(pg_backend_pid())`.execute(db)))).toBe(true);
});

for (const [name, error, expected] of [
  [
    "an error that an outage caused",
    new Error("not read", { cause: Object.assign(new Error(), { code: "EPIPE" }) }),
    true,
  ],
  ["a query that was never answered", new Error("Query read timeout"), true],
  ["a pool without a free connection", new Error("timeout exceeded when trying to connect"), true],
  ["a bug", new TypeError("undefined is not a function"), false],
  ["a file that is not there", Object.assign(new Error("none"), { code: "ENOENT" }), false],
  ["something that is no error", "SQLITE_FULL", false],
] as const) {
  test(`${name} is ${expected ? "an outage" : "no outage"}`, () => {
    expect(isOutage(error)).toBe(expected);
  });
}
