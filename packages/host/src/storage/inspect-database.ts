import { accessSync, constants, existsSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Kysely, PostgresDialect, sql, SqliteDialect } from "kysely";
import { isPostgres } from "../base/index.ts";
import type { Database } from "./database.ts";
import { listPending } from "./migrate.ts";
import type { Schema } from "./schema.ts";
import { lockFile, refuseFolder } from "./sqlite/open-sqlite.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";
import { damageOf } from "./sqlite/whole-file.ts";

/** What a database looks like before a host opens it. */
export type Inspection<Found = never> =
  | { state: "missing" }
  /** A process has the SQLite file open, and nobody else can look into it. */
  | { state: "in use" }
  | {
      state: "readable";
      kind: Database["kind"];
      /** The migrations that a host would run, in order. */
      pending: string[];
      /** What time it is on a server. */
      now?: Date | undefined;
      /** What was looked for; undefined when the tables are not up to date. */
      found?: Found | undefined;
    };

/** Reads something of a database. */
type Look<Found> = (db: Kysely<Schema>) => Promise<Found>;

/**
 * Looks at the database that `openDatabase` would open, and changes nothing; reads what `look` reads, if its tables are up to
 * date. Throws what a host would not start with.
 */
export function inspectDatabase<Found>(location: string, look: Look<Found>): Promise<Inspection<Found>> {
  return isPostgres(location) ? inspectPostgres(location, look) : inspectSqlite(location, look);
}

async function inspectPostgres<Found>(connectionString: string, look: Look<Found>): Promise<Inspection<Found>> {
  const [{ default: pg }, { patience }] = await Promise.all([import("pg"), import("./postgres.ts")]);
  const pool = new pg.Pool({ connectionString, max: 1, ...patience });
  pool.on("error", () => {});
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  try {
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    const pending = await listPending(db, "postgres");
    const found = pending.length === 0 ? await look(db) : undefined;
    return { state: "readable", kind: "postgres", now: rows[0]?.now, pending, found };
  } finally {
    await db.destroy();
  }
}

async function inspectSqlite<Found>(path: string, look: Look<Found>): Promise<Inspection<Found>> {
  if (path === ":memory:") return { state: "missing" };
  refuseFolder(path);
  requireWritable(path);
  if (!existsSync(path)) return { state: "missing" };
  if (isLocked(path)) return { state: "in use" };
  // After a host was killed, reading makes an index beside the file. Hosts do without it, and it could be another user's.
  const index = `${path}-shm`;
  const hadIndex = existsSync(index);
  const database = openForReading(path);
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
  try {
    const pending = await listPending(db, "sqlite");
    return { state: "readable", kind: "sqlite", pending, found: pending.length === 0 ? await look(db) : undefined };
  } catch (error) {
    if (isBusy(error)) return { state: "in use" };
    throw damageOf(path, error) ?? error;
  } finally {
    await db.destroy();
    if (!hadIndex) rmSync(index, { force: true });
  }
}

/** For reading alone. Only an address can say so of an index that a killed host left. */
function openForReading(path: string): SqliteFile {
  const index = existsSync(`${path}-shm`) ? "&readonly_shm=1" : "";
  return new SqliteFile(`${pathToFileURL(resolve(path)).href}?mode=ro${index}`);
}

/** Whether a process has the lock beside the database. */
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

/** The file, or the nearest folder in which it would be made. */
function requireWritable(path: string): void {
  let nearest = resolve(path);
  while (!existsSync(nearest)) nearest = dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK);
  } catch (cause) {
    throw new Error(`The database ${path} cannot be written: this user may not write to ${nearest}.`, { cause });
  }
}
