import { accessSync, constants, existsSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Kysely, PostgresDialect, sql, SqliteDialect } from "kysely";
import { isPostgres, locationOf } from "../shared/index.ts";
import type { Database } from "./database.ts";
import type { DatabaseSettings, ServerSettings } from "./database-settings.ts";
import { listDurabilityRisks } from "./durability.ts";
import { listPending } from "./migrate.ts";
import { readEpoch, type SchemaEpoch } from "./schema-epoch.ts";
import type { Schema } from "./schema.ts";
import { lockFile, refuseFolder } from "./sqlite/open-sqlite.ts";
import { SqliteFile, readPragma } from "./sqlite/sqlite-file.ts";
import { realFile, refuseHardLinks } from "./sqlite/real-file.ts";
import { brokenPages, damageOf } from "./sqlite/whole-file.ts";

/** The state of a database before a host opens it. */
export type Inspection<Found = never> =
  | { state: "missing" }
  /** Another process has the SQLite file open, so it cannot be read. */
  | { state: "in use" }
  | {
      state: "readable";
      kind: Database["kind"];
      /** The migrations that a host would run, in order. */
      pending: string[];
      /** The time on the PostgreSQL server. */
      now?: Date | undefined;
      /** How the settings of the PostgreSQL server let acknowledged rows be lost, as sentences. */
      risks?: readonly string[] | undefined;
      /** What was read; undefined when the tables are not up to date. */
      found?: Found | undefined;
    };

/** Reads something of a database. */
type Read<Found> = (db: Kysely<Schema>) => Promise<Found>;

/**
 * Inspects the database that `openDatabase` would open, and changes nothing. Calls `read` if its tables are up to date. Throws
 * the error with which a host would not start.
 */
export function inspectDatabase<Found>(database: DatabaseSettings, read: Read<Found>): Promise<Inspection<Found>> {
  if (!isPostgres(database)) return inspectSqlite(locationOf(database), read);
  return inspectPostgres(typeof database === "string" ? { url: database } : database, read);
}

/** The epoch of a database, whichever version has changed it. Changes nothing. */
export async function databaseEpoch(database: DatabaseSettings): Promise<SchemaEpoch> {
  const found = isPostgres(database)
    ? await epochOfPostgres(typeof database === "string" ? { url: database } : database)
    : await epochOfSqlite(locationOf(database));
  if (found === undefined)
    throw new Error(
      "This database has no epoch: no host has made its tables, or one of a version that knows no epochs has.",
    );
  return found;
}

async function epochOfPostgres(server: ServerSettings): Promise<SchemaEpoch | undefined> {
  const db = await connectPostgres(server);
  try {
    return await readEpoch(db, "postgres");
  } finally {
    await db.destroy();
  }
}

async function epochOfSqlite(location: string): Promise<SchemaEpoch | undefined> {
  const path = realFile(location);
  if (!existsSync(path)) throw new Error(`There is no database ${location}.`);
  if (isLocked(path)) throw new Error(`The database ${location} is in use by another process. Stop it first.`);
  const index = `${path}-shm`;
  const hadIndex = existsSync(index);
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: openForReading(path) }) });
  try {
    return await readEpoch(db, "sqlite");
  } finally {
    await db.destroy();
    if (!hadIndex) rmSync(index, { force: true });
  }
}

async function connectPostgres(server: ServerSettings): Promise<Kysely<Schema>> {
  const [{ checkPooler }, { openPool }, { sessions }] = await Promise.all([
    import("./pooler.ts"),
    import("./postgres-pool.ts"),
    import("./postgres-sessions.ts"),
  ]);
  const { url, pooler = "session" } = server;
  await checkPooler(server);
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(url, 1, sessions[pooler]) }) });
}

async function inspectPostgres<Found>(server: ServerSettings, read: Read<Found>): Promise<Inspection<Found>> {
  const db = await connectPostgres(server);
  try {
    const { rows } = await sql<{ now: Date; schema: string | null }>`
      select clock_timestamp() as now, current_schema() as schema`.execute(db);
    if (rows[0]?.schema === null) throw Object.assign(new Error("There is no schema for tables."), { code: "3F000" });
    const pending = await listPending(db, "postgres");
    const found = pending.length === 0 ? await read(db) : undefined;
    const risks = await listDurabilityRisks(db);
    return { state: "readable", kind: "postgres", now: rows[0]?.now, pending, risks, found };
  } finally {
    await db.destroy();
  }
}

async function inspectSqlite<Found>(location: string, read: Read<Found>): Promise<Inspection<Found>> {
  if (location === ":memory:") return { state: "missing" };
  refuseFolder(location);
  const path = realFile(location);
  requireWritable(path);
  if (!existsSync(path)) return { state: "missing" };
  if (isLocked(path)) return { state: "in use" };
  refuseHardLinks(location, path);
  // After a host was killed, reading makes an index file beside the database. It is removed again: it could belong to another user.
  const index = `${path}-shm`;
  const hadIndex = existsSync(index);
  const database = openForReading(path);
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
  try {
    const found = readPragma(database, "quick_check(1)");
    if (found !== "ok") throw brokenPages(location, found);
    const pending = await listPending(db, "sqlite");
    return { state: "readable", kind: "sqlite", pending, found: pending.length === 0 ? await read(db) : undefined };
  } catch (error) {
    if (isBusy(error)) return { state: "in use" };
    throw damageOf(location, error) ?? error;
  } finally {
    await db.destroy();
    if (!hadIndex) rmSync(index, { force: true });
  }
}

/** Opens a file read-only. Only a URI can make SQLite do so with the index file that a killed host left. */
function openForReading(path: string): SqliteFile {
  const index = existsSync(`${path}-shm`) ? "&readonly_shm=1" : "";
  return new SqliteFile(`${pathToFileURL(resolve(path)).href}?mode=ro${index}`);
}

/** Whether another process holds the lock beside the database. */
function isLocked(path: string): boolean {
  if (!existsSync(lockFile(path))) return false;
  const file = openForReading(lockFile(path));
  try {
    file.prepare("select 1 from sqlite_master").all();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    file.close();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_BUSY";
}

/** Throws unless the file, or the nearest existing folder of its path, is writable. */
function requireWritable(path: string): void {
  let nearest = resolve(path);
  while (!existsSync(nearest)) nearest = dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK);
  } catch (cause) {
    throw new Error(`The database ${path} cannot be written: this user may not write to ${nearest}.`, { cause });
  }
}
