import { readdirSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { newLocation, openHost, temporaryFolder } from "../../../test/databases.ts";
import { otherProcess } from "../../../test/other-process.ts";
import { checkBackup } from "../check-backup.ts";
import type { Database } from "../database.ts";
import { openDatabase } from "../open-database.ts";
import { openDraft } from "../restore-draft.ts";
import { copyStopped } from "./open-sqlite.ts";

/** Writes uses until it is told to stop; returns how many were acknowledged so far. */
function writeOn({ db }: Database): { acknowledged(): number; stop(): Promise<void> } {
  let count = 0;
  const over = new AbortController();
  const work = (async () => {
    while (!over.signal.aborted) {
      await db
        .insertInto("uses")
        .values({ namespace_id: "acme", grant_id: `grant-${count}`, used: 1 })
        .execute();
      count += 1;
    }
  })();
  const stop = (): Promise<void> => {
    over.abort();
    return work;
  };
  onTestFinished(stop);
  return { acknowledged: () => count, stop };
}

/** The copy as a file in a folder of its own. */
async function saveCopy(database: Database): Promise<string> {
  if (database.copy === undefined) throw new Error("This database cannot be copied.");
  const file = join(temporaryFolder(), "copy.db");
  const { bytes, body } = await database.copy();
  await writeFile(file, body);
  expect(statSync(file).size).toBe(bytes);
  return file;
}

async function usesIn(file: string): Promise<number> {
  const database = await openDatabase(file);
  try {
    const { rows } = await sql<{ n: number }>`select count(*) as n from uses`.execute(database.db);
    return rows[0]?.n ?? 0;
  } finally {
    await database.close();
  }
}

test("a copy under load has everything that was acknowledged before it began, and opens by itself", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  const writing = writeOn(database);
  for (let round = 0; round < 3; round += 1) {
    const before = writing.acknowledged();
    const file = await saveCopy(database);
    const after = writing.acknowledged();
    await checkBackup(file, "full");
    expect(readdirSync(dirname(file))).toEqual(["copy.db"]);
    const copied = await usesIn(file);
    expect(copied).toBeGreaterThanOrEqual(before);
    // One more may have been committed and not yet acknowledged.
    expect(copied).toBeLessThanOrEqual(after + 1);
  }
  await writing.stop();
  expect(readdirSync(dirname(location)).filter((name) => name.includes("-copy-"))).toEqual([]);
});

test("a copy that was given a trigger is no backup: it would undo what a restore revokes", async () => {
  const file = await saveCopy(await openHost(await newLocation("sqlite")));
  const { db, close } = await openDatabase(file);
  await sql`create trigger back after insert on hosts begin update credentials set revoked_at = null; end`.execute(db);
  await close();
  await expect(checkBackup(file, "full", "b.db")).rejects.toThrow(
    "b.db has triggers or views, which no host makes: it was changed by another program.",
  );
});

test("the lock that a restore makes is its owner's alone: a user who can read it could keep hosts out", async () => {
  const backup = await saveCopy(await openHost(await newLocation("sqlite")));
  const database = join(temporaryFolder(), "restored.db");
  const draft = await openDraft(backup, database, false);
  onTestFinished(draft.close);
  expect(statSync(`${database}-lock`).mode & 0o777).toBe(0o600);
});

test("a copy leaves nothing beside the database, also when it is not read to its end", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  const copy = await database.copy?.();
  expect(readdirSync(dirname(location)).filter((name) => name.includes("copy"))).toEqual([]);
  await copy?.body.cancel();
});

test("what a host left that was killed while it copied is removed at the next start", async () => {
  const location = await newLocation("sqlite");
  await (await openDatabase(location)).close();
  const left = `${location}-copy-${crypto.randomUUID()}`;
  for (const name of [left, `${left}-journal`]) writeFileSync(name, "half of a copy");
  for (const name of ["copied by hand", "copy-2026-01-31"]) writeFileSync(`${location}-${name}`, "another's own");
  await openHost(location);
  const beside = readdirSync(dirname(location)).filter((name) => name.includes("cop"));
  expect(beside.toSorted()).toEqual(["turnpike.db-copied by hand", "turnpike.db-copy-2026-01-31"]);
});

test("a copy keeps giving free pages back to the disk", async () => {
  const file = await saveCopy(await openHost(await newLocation("sqlite")));
  const { db } = await openHost(file);
  expect((await sql`pragma auto_vacuum`.execute(db)).rows).toEqual([{ auto_vacuum: 2 }]);
});

test("a database that is closed meanwhile waits for the copy", async () => {
  const location = await newLocation("sqlite");
  const database = await openDatabase(location);
  let isMade = false;
  const copying = database.copy?.().finally(() => (isMade = true));
  await database.close();
  expect(isMade).toBe(true);
  await (await copying)?.body.cancel();
  expect(readdirSync(dirname(location)).toSorted()).toEqual(["turnpike.db", "turnpike.db-closed", "turnpike.db-lock"]);
});

test("a copy for which there is no room is refused before it is begun, in words", async () => {
  const location = await newLocation("sqlite");
  const database = await openHost(location);
  const { bavail, bsize } = statfsSync(dirname(location));
  // Larger than what is free, and yet nothing on the disk.
  const { truncate } = await import("node:fs/promises");
  await truncate(`${location}-wal`, bavail * bsize);
  await expect(database.copy?.()).rejects.toThrow(
    /^A copy needs \d+ MiB beside the database briefly, and \d+ are free\. Make room and try again\.$/,
  );
});

test("a stopped host's file is copied with what a killed host left in its log, and not while a host runs", async () => {
  const location = await newLocation("sqlite");
  const other = await otherProcess(`
    const { db } = await openDatabase(${JSON.stringify(location)});
    await db.insertInto("uses").values({ namespace_id: "acme", grant_id: "grant-1", used: 7 }).execute();
    console.log("acknowledged");
    setInterval(() => {}, 1000);`);
  expect(other.said).toBe("acknowledged");
  const file = join(temporaryFolder(), "copy.db");
  await expect(copyStopped(location, file)).rejects.toThrow("is in use by another process");
  await other.kill();
  expect(await copyStopped(location, file)).toBe(statSync(file).size);
  expect(await usesIn(file)).toBe(1);
});
