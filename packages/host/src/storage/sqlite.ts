import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Kysely, SqliteDialect, type Logger } from "kysely";
import SqliteDatabase from "libsql";
import { ConfigError } from "../base/index.ts";
import type { Database } from "./database.ts";
import { keepCause } from "./keep-cause.ts";
import { migrate, registerHost } from "./migrate.ts";
import type { Schema } from "./schema.ts";

/** Throws `ConfigError` when a folder stands where the file would be. */
export function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new ConfigError(
      `database: ${path} is a folder, expected a file. Name one in it, such as ${path}/turnpike.db.`,
    );
}

/** Creates the file, and its folder, for the owner's eyes alone; what exists keeps its permissions. */
function makePrivate(path: string): void {
  refuseFolder(path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}

/**
 * Opens an SQLite file for this process alone: the lock is the operating system's, so it goes with the process however
 * that ends. `synchronous = full` lets an acknowledged write survive a power cut.
 */
export async function openSqlite(path: string, log?: Logger): Promise<Database> {
  if (path !== ":memory:") makePrivate(path);
  const file = new SqliteDatabase(path);
  try {
    for (const setting of ["locking_mode = exclusive", "journal_mode = wal", "synchronous = full"])
      file.pragma(setting);
    file.exec("begin immediate; commit");
  } catch (cause) {
    file.close();
    throw new Error(`The database ${path} is in use by another process, or cannot be written.`, { cause });
  }
  const db = new Kysely<Schema>({ dialect: keepCause(new SqliteDialect({ database: file })), ...(log && { log }) });
  const close = async (): Promise<void> => {
    if (!file.open) return;
    // Closing alone can leave the exclusive lock to statements that are not collected yet.
    for (const setting of ["journal_mode = delete", "locking_mode = normal"]) file.pragma(setting);
    file.prepare("select 1 from sqlite_master").all();
    await db.destroy();
  };
  let hostId: number;
  try {
    await migrate(db, "sqlite");
    hostId = await registerHost(db);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: "sqlite",
    db,
    hostId,
    isAlive: (id) => Promise.resolve(id === hostId),
    onReturn() {},
    isShared: false,
    close,
  };
}
