import { statSync } from "node:fs";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { newLocation, openHost } from "../../test/databases.ts";
import type { Database } from "./database.ts";
import { freePages } from "./free-pages.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";

/** Writes some megabytes and deletes them. */
async function leaveFreePages({ db }: Database): Promise<void> {
  const content = "x".repeat(100_000);
  for (let row = 0; row < 50; row += 1) await db.insertInto("heartbeats").values({ host_id: row, content }).execute();
  await db.deleteFrom("heartbeats").execute();
}

async function freeIn({ db }: Database): Promise<number> {
  const { rows } = await sql<{ free: number }>`select freelist_count as free from pragma_freelist_count`.execute(db);
  return rows[0]?.free ?? 0;
}

test("a new SQLite file gives free pages back in small steps, and is smaller in the end", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  await leaveFreePages(database);
  const before = await freeIn(database);
  expect(before).toBeGreaterThan(1000);
  expect(await freePages(database, 200)).toBe(200);
  expect(await freeIn(database)).toBe(before - 200);
  let steps = 0;
  while ((await freePages(database, 200)) > 0) steps += 1;
  expect(steps).toBeGreaterThan(3);
  // Some stay, for what is written next.
  const left = await freeIn(database);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(before / 5);
  await database.close();
  expect(statSync(location).size).toBeLessThan(2_000_000);
});

test("a file from before that keeps its pages, until it is vacuumed once", async () => {
  const location = await newLocation("sqlite");
  const file = new SqliteFile(location);
  file.exec("create table old (id integer)");
  file.close();
  const database = await openHost(location);
  await leaveFreePages(database);
  expect(await freePages(database, 200)).toBe(0);
  await database.close();
  const offline = new SqliteFile(location);
  offline.exec("pragma auto_vacuum = incremental");
  offline.exec("vacuum");
  offline.close();
  const again = await openHost(location);
  await leaveFreePages(again);
  expect(await freePages(again, 200)).toBe(200);
});
