import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Kysely, SqliteDialect } from "kysely";
import { afterAll, inject, onTestFinished, TestRunner } from "vitest";
import type { Database } from "../src/storage/database.ts";
import { migrate } from "../src/storage/migrate.ts";
import type { DatabaseSettings } from "../src/storage/database-settings.ts";
import { openDatabase } from "../src/storage/open-database.ts";
import type { Schema } from "../src/storage/schema.ts";
import { isPostgres } from "../src/shared/index.ts";
import { openSqlite } from "../src/storage/sqlite/open-sqlite.ts";
import { SqliteFile } from "../src/storage/sqlite/sqlite-file.ts";
import { answerHere } from "./in-process-worker.ts";
import { testRoot } from "./test-root.ts";

/** The databases every store has to work on: those of the run, which `TEST_DATABASES` names when it is one of them alone. */
export const databaseKinds: readonly Database["kind"][] = (["sqlite", "postgres"] as const).filter(
  (kind) => (process.env["TEST_DATABASES"] ?? kind) === kind,
);

/**
 * For what is done above the stores and is the same on every database: one of those of the run. That a host works on the other
 * is shown by every command of `tests/host/commands.test.ts`.
 */
export const anyDatabase: readonly Database["kind"][] = databaseKinds.slice(0, 1);

/** A folder of the test that runs, gone when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(testRoot, "turnpike-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where there is no database yet: a file, or an empty database of a real PostgreSQL. Gone when the test ends, unless it is in a folder. */
export async function newLocation(kind: Database["kind"], folder?: string): Promise<string> {
  if (kind === "sqlite") return join(folder ?? temporaryFolder(), "turnpike.db");
  return newPostgres("empty", folder === undefined);
}

/** Where the run has no PostgreSQL, the test that needs one is skipped. */
async function newPostgres(state: "empty" | "migrated", isOfTest: boolean): Promise<string> {
  const test = TestRunner.getCurrentTest();
  if (!databaseKinds.includes("postgres")) test?.context.skip("needs a PostgreSQL");
  const answer = await askPostgres(state);
  if (isOfTest && test !== undefined) {
    onTestFinished(async () => {
      await askPostgres(new URL(answer).pathname.slice(1), "DELETE");
    });
  }
  return answer;
}

async function askPostgres(path: string, method = "GET"): Promise<string> {
  const response = await fetch(`${inject("newPostgresDatabase")}/${path}`, { method });
  const answer = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL refuses: ${answer}`);
  return answer;
}

/** A database that no host opened yet: a copy of one that was migrated once. */
export async function migratedLocation(kind: Database["kind"], folder?: string): Promise<string> {
  if (kind === "postgres") return newPostgres("migrated", folder === undefined);
  const location = await newLocation(kind, folder);
  writeFileSync(location, await (migratedFile ??= migrateFile()));
  return location;
}

/** A connection to a file beside those of its host, if one has it open. */
export function connectSqlite(location: string): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: new SqliteDialect({ database: new SqliteFile(location) }) });
}

let migratedFile: Promise<Buffer> | undefined;

async function migrateFile(): Promise<Buffer> {
  const folder = mkdtempSync(join(testRoot, "turnpike-test-"));
  const location = join(folder, "turnpike.db");
  const db = connectSqlite(location);
  await migrate(db, "sqlite");
  await db.destroy();
  const file = readFileSync(location);
  rmSync(folder, { recursive: true });
  return file;
}

/** A host's handle on a database, closed when the test ends. */
export async function openHost(location: DatabaseSettings): Promise<Database> {
  return closedAfterwards(await openDatabase(location));
}

/** A new database without rows. */
export async function openFresh(kind: Database["kind"]): Promise<Database> {
  return closedAfterwards(await openOnce(await migratedLocation(kind)));
}

function closedAfterwards(database: Database): Database {
  onTestFinished(() => database.close());
  return database;
}

/**
 * Opens a database as a host does, but a file without threads: starting them takes longer than most tests. Only for a location that is
 * not opened again: this process has locks on such a file until its statements are collected.
 */
function openOnce(location: string): Promise<Database> {
  return isPostgres(location) ? openDatabase(location) : openSqlite(location, { startWorker: answerHere });
}

/** For tests that do not disturb each other: one database for the block it is called in, opened when first asked for. */
export function sharedDatabase(kind: Database["kind"]): () => Promise<Database> {
  let opened: Promise<Database> | undefined;
  const folder = mkdtempSync(join(testRoot, "turnpike-test-"));
  afterAll(async () => {
    await (await opened)?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => (opened ??= migratedLocation(kind, folder).then(openOnce));
}

let tenants = 0;

/** A tenant that no other test of the file uses. */
export function newTenant(): string {
  tenants += 1;
  return `own-tenant-${tenants}`;
}

/** Two hosts on one new PostgreSQL database. */
export async function openPair(): Promise<[Database, Database]> {
  const location = await migratedLocation("postgres");
  return [await openHost(location), await openHost(location)];
}

/**
 * Runs something so many times, ten at once: as many as a host has connections. A caller who waits for one gives up after five
 * seconds, which is what a hundred at once would test on a busy machine.
 */
export async function tenAtOnce<T>(count: number, run: (place: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const places = Array.from({ length: count }, (_, place) => place).values();
  const work = async (): Promise<void> => {
    for (const place of places) results[place] = await run(place);
  };
  await Promise.all(Array.from({ length: 10 }, work));
  return results;
}
