import { sql } from "kysely";
import { expect, test } from "vitest";
import { openFresh } from "../../test/databases.ts";
import type { Database } from "./database.ts";
import { outageReason } from "./outage.ts";
import { NothingChangedError } from "./steps.ts";
import { watchWrites } from "./write-watch.ts";

const insert = "insert into uses (namespace_id, grant_id, used) values (?, ?, ?)";

/** A database whose file can grow by five pages and no more, so that a small write succeeds and a large one does not. */
async function almostFull(): Promise<Database> {
  const database = await openFresh("sqlite");
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db);
  await limit(database, (rows[0]?.page_count ?? 0) + 5);
  return database;
}

async function limit({ db }: Database, pages: number): Promise<void> {
  await sql`pragma max_page_count = ${sql.lit(pages)}`.execute(db);
}

async function world() {
  const database = await almostFull();
  let now = 0;
  const { transact, probe } = watchWrites(database, () => now);
  const write = (bytes: number): Promise<string> =>
    transact((run) => run([{ sql: insert, rows: [["acme", "x".repeat(bytes), 1]] }], "commit")).then(
      () => "written",
      (error: Error) => error.message,
    );
  const broken = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
  const fail = () => transact(() => Promise.reject(broken)).catch(() => {});
  const ready = (): Promise<string> => probe().then(() => "ready", outageReason);
  return { database, transact, write, fail, ready, pass: (ms: number) => (now += ms) };
}

const full = "The disk of the database is full.";

test("while writes of calls have failed for five seconds it is not ready, although another write succeeds", async () => {
  const { fail, ready, pass } = await world();
  await fail();
  pass(4999);
  await fail();
  expect(await ready()).toBe("ready");
  pass(1);
  expect(await ready()).toBe("The disk of the database does not work.");
  pass(4998);
  expect(await ready()).toBe("The disk of the database does not work.");
  pass(1);
  expect(await ready()).toBe("ready");
});

test("the five seconds begin anew with each write of a call that succeeds", async () => {
  const { write, fail, ready, pass } = await world();
  await fail();
  pass(4999);
  expect(await write(10)).toBe("written");
  await fail();
  pass(4999);
  await fail();
  expect(await ready()).toBe("ready");
  pass(1);
  expect(await ready()).toBe("The disk of the database does not work.");
});

test("it is not ready for a write that is larger than the room that is left, until a smaller one succeeds", async () => {
  const { write, ready, pass } = await world();
  expect(await ready()).toBe("ready");
  expect(await write(100_000)).toBe("database or disk is full");
  expect(await ready()).toBe(full);
  pass(2500);
  expect(await write(1000)).toBe("written");
  expect(await ready()).toBe("ready");
});

test("without traffic it is ready five seconds after there is room for the write that failed, and not before", async () => {
  const { database, write, fail, ready, pass } = await world();
  await write(100_000);
  pass(5000);
  await write(100_000);
  expect(await ready()).toBe(full);
  pass(5000);
  expect(await ready()).toBe(full);
  await limit(database, 1_000_000);
  expect(await ready()).toBe("ready");
  // What failed before is over: the next five seconds begin with the next failure.
  await fail();
  pass(4999);
  await fail();
  expect(await ready()).toBe("ready");
});

test("with traffic it is ready at once when a write of a call succeeds", async () => {
  const { database, write, ready, pass } = await world();
  await write(100_000);
  pass(5000);
  await write(100_000);
  await limit(database, 1_000_000);
  expect(await ready()).toBe(full);
  expect(await write(100_000)).toBe("written");
  expect(await ready()).toBe("ready");
});

test("a transaction that fails for another reason says nothing about the database", async () => {
  const { transact, ready, pass } = await world();
  const fail = () => transact(() => Promise.reject(new NothingChangedError("nothing"))).catch(() => {});
  await fail();
  pass(5000);
  await fail();
  expect(await ready()).toBe("ready");
});
