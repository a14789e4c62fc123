import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { newLocation, openHost, temporaryFolder } from "../../../test/databases.ts";
import { opening, otherProcess } from "../../../test/other-process.ts";
import { openDatabase } from "../open-database.ts";

test("a file that another process has open is refused, in words that say why", async () => {
  const location = await newLocation("sqlite");
  const other = await otherProcess(opening(location));
  expect(other.said).toBe("opened as 1");
  await expect(openDatabase(location)).rejects.toThrow(
    `The database ${location} is in use by another process, or cannot be written.`,
  );
});

test("a file that this process has open is refused to another one", async () => {
  const location = await newLocation("sqlite");
  await openHost(location);
  const other = await otherProcess(opening(location));
  expect(other.said).toBe(`refused: The database ${location} is in use by another process, or cannot be written.`);
});

test("a file that this process tries to open a second time stays its own", async () => {
  const location = await newLocation("sqlite");
  await openHost(location);
  await expect(openDatabase(location)).rejects.toThrow("is in use by another process");
  const other = await otherProcess(opening(location));
  expect(other.said).toContain("is in use by another process");
});

test("a folder is refused, in words that say what is expected", async () => {
  await expect(openDatabase(temporaryFolder())).rejects.toThrow("is a folder, expected a file");
});

test("a file is free again at once when the process that had it is killed, and nothing acknowledged is lost", async () => {
  const location = await newLocation("sqlite");
  const other = await otherProcess(`
    const { db } = await openDatabase(${JSON.stringify(location)});
    await db.insertInto("uses").values({ namespace_id: "tenant-1", grant_id: "grant-1", used: 7 }).execute();
    console.log("acknowledged");
    setInterval(() => {}, 1000);`);
  expect(other.said).toBe("acknowledged");
  await other.kill();
  const { db, hostId } = await openHost(location);
  expect(hostId).toBe(2);
  expect(await db.selectFrom("uses").selectAll().execute()).toEqual([
    { namespace_id: "tenant-1", grant_id: "grant-1", used: 7 },
  ]);
});

test("a file is free again when it was closed, for this process and for others", async () => {
  const location = await newLocation("sqlite");
  await (await openDatabase(location)).close();
  await (await openDatabase(location)).close();
  expect((await otherProcess(opening(location))).said).toBe("opened as 3");
});

test("a database that was closed is one file, a mark that says so, and a free lock", async () => {
  const location = await newLocation("sqlite");
  const { close, db } = await openDatabase(location);
  await db.selectFrom("uses").selectAll().execute();
  await close();
  expect(readdirSync(join(location, "..")).toSorted()).toEqual([
    "turnpike.db",
    "turnpike.db-closed",
    "turnpike.db-lock",
  ]);
  expect(statSync(`${location}-lock`).size).toBe(0);
});

test("a write survives a power cut by default: WAL, and every commit is synced", async () => {
  const { db } = await openHost(await newLocation("sqlite"));
  expect((await sql`pragma journal_mode`.execute(db)).rows).toEqual([{ journal_mode: "wal" }]);
  expect((await sql`pragma synchronous`.execute(db)).rows).toEqual([{ synchronous: 2 }]);
});

test("only its owner can read the file, and the folder made for it", async () => {
  const location = join(temporaryFolder(), "made/here/turnpike.db");
  await openHost(location);
  expect(statSync(location).mode & 0o777).toBe(0o600);
  expect(statSync(join(location, "..")).mode & 0o777).toBe(0o700);
  for (const beside of ["-wal", "-shm", "-lock"]) expect(statSync(`${location}${beside}`).mode & 0o077).toBe(0);
});

test("a file that is no database is refused, and left as it is", async () => {
  const location = join(temporaryFolder(), "turnpike.db");
  const text = "not a database, and long enough to be read as one. ".repeat(40);
  writeFileSync(location, text);
  await expect(openDatabase(location)).rejects.toThrow(location);
  expect(statSync(location).size).toBe(text.length);
});

test("a folder in the place of the file is refused with its name", async () => {
  const location = join(temporaryFolder(), "turnpike.db");
  mkdirSync(location);
  chmodSync(location, 0o700);
  await expect(openDatabase(location)).rejects.toThrow(location);
});

test("no host but this one is alive, and each start is a new host", async () => {
  const location = await newLocation("sqlite");
  const { hostId, isAlive, isShared } = await openHost(location);
  expect([await isAlive(hostId), await isAlive(hostId - 1), await isAlive(hostId + 1)]).toEqual([true, false, false]);
  expect(isShared).toBe(false);
});

test("a write that fails because the disk is full says so, and others work again when there is room", async () => {
  const { db } = await openHost(await newLocation("sqlite"));
  const write = (id: string, length: number) =>
    db.transaction().execute(async (transaction) => {
      await transaction.updateTable("revision").set({ value: 1 }).execute();
      const grant = { namespace_id: "tenant-1", id, subject: "a", issuer: "b", content: "x".repeat(length) };
      await transaction.insertInto("grants").values(grant).execute();
    });
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
  await sql`pragma max_page_count = ${sql.lit(rows[0]?.page_count)}`.execute(db);
  await expect(write("large", 1_000_000)).rejects.toThrow("database or disk is full");
  await sql`pragma max_page_count = 1000000`.execute(db);
  await write("small", 10);
  expect(await db.selectFrom("grants").select("id").execute()).toEqual([{ id: "small" }]);
});
