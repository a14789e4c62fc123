import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Kysely, type Logger } from "kysely";
import { ConfigError, makeFolder } from "../../base/index.ts";
import type { Database } from "../database.ts";
import { keepCause } from "../keep-cause.ts";
import { migrate, registerHost } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { copyFile, copyMemory, removeOldCopies, vacuumInto } from "./copy.ts";
import { threadDialect } from "./dialect.ts";
import { gatherReads } from "./gather.ts";
import { createMutex } from "./mutex.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { startThread } from "./thread.ts";
import { transact } from "./transact.ts";
import { DamagedDatabaseError, refuseDamaged } from "./whole-file.ts";

/** Throws `ConfigError` when a folder stands where the file would be. */
export function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new ConfigError(
      `database: ${path} is a folder, expected a file. Name one in it, such as ${path}/turnpike.db.`,
    );
}

/** The file whose lock says that a process has the database. */
export function lockFile(path: string): string {
  return `${path}-lock`;
}

/**
 * Opens an SQLite file for this process alone, in threads of its own: one writes, one reads for calls, one reads for
 * operators, whose long questions hold nobody up.
 */
export async function openSqlite(path: string, log?: Logger): Promise<Database> {
  const unlock = path === ":memory:" ? () => {} : lock(path);
  const writer = startThread({ path, isReader: false });
  // A database in memory is that of one connection.
  const openReader = () => (path === ":memory:" ? writer : startThread({ path, isReader: true }));
  const [reader, reportReader] = [openReader(), openReader()];
  const writing = createMutex();
  const read = gatherReads(reader);
  const settings = log && { log };
  const db = new Kysely<Schema>({ dialect: keepCause(threadDialect({ writer, reader, writing })), ...settings });
  const reports = new Kysely<Schema>({
    dialect: threadDialect({ writer, reader: reportReader, writing }),
    ...settings,
  });
  let closed: Promise<void> | undefined;
  let copying: Promise<unknown> = Promise.resolve();
  const close = (): Promise<void> =>
    (closed ??= copying
      .then(() => reportReader.close())
      .then(() => db.destroy())
      .finally(unlock));
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
    reports,
    read: async <Row>(sql: string, parameters: readonly unknown[]) => {
      // SQLite writes the first parameter ?1.
      const { rows } = await read({ sql: sql.replaceAll("$", "?"), rows: [parameters] });
      return rows as Row[];
    },
    transact: (work) => transact({ writer, writing }, work),
    copy() {
      const made = path === ":memory:" ? copyMemory(writer.connect()) : copyFile(path, openReader);
      copying = Promise.allSettled([made]);
      return made;
    },
    hostId,
    strand: 0,
    isAlive: (id) => Promise.resolve(id === hostId),
    onReturn() {},
    isShared: false,
    close,
  };
}

/** Copies the database of a host that is stopped to an empty file, and keeps hosts out meanwhile. Returns how many bytes. */
export async function copyStopped(path: string, file: string): Promise<number> {
  const unlock = lock(path);
  const thread = startThread({ path, isReader: true });
  try {
    await vacuumInto(file, thread.connect());
    return statSync(file).size;
  } finally {
    await thread.close();
    unlock();
  }
}

/**
 * Makes the file, and its folder, for the owner's eyes alone, and takes it for this process. The lock is the operating
 * system's, so it goes with the process however that ends. It lies on a file beside the database, because the lock of
 * the database itself would keep our own threads out.
 */
function lock(path: string): () => void {
  refuseFolder(path);
  makeFolder(dirname(path));
  // One that is there is left alone: closing it would let go of every lock that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  const unlock = holdLock(path);
  let file: SqliteFile | undefined;
  try {
    removeOldCopies(path);
    refuseDamaged(path);
    // Also one that is used without the lock beside it, or that is none.
    file = new SqliteFile(path);
    // A new file can give pages back that are free. One from before this was set keeps them until it is vacuumed once.
    file.pragma("auto_vacuum = incremental");
    file.exec("begin immediate; commit");
  } catch (cause) {
    unlock();
    throw cause instanceof DamagedDatabaseError ? cause : inUse(path, cause);
  } finally {
    file?.close();
  }
  return unlock;
}

/** Takes the lock beside a database, whatever stands there; throws when a process has it. */
export function holdLock(path: string): () => void {
  let held: SqliteFile | undefined;
  try {
    // Whoever can read it can lock it.
    if (!existsSync(lockFile(path))) closeSync(openSync(lockFile(path), "a", 0o600));
    held = new SqliteFile(lockFile(path));
    held.exec("begin exclusive");
  } catch (cause) {
    held?.close();
    throw inUse(path, cause);
  }
  const lockHeld = held;
  return () => {
    lockHeld.exec("rollback");
    lockHeld.close();
  };
}

function inUse(path: string, cause: unknown): Error {
  return new Error(`The database ${path} is in use by another process, or cannot be written.`, { cause });
}
