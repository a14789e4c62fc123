import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Kysely, type Logger } from "kysely";
import SqliteDatabase from "libsql";
import { ConfigError } from "../../base/index.ts";
import type { Database } from "../database.ts";
import { keepCause } from "../keep-cause.ts";
import { migrate, registerHost } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { threadDialect } from "./dialect.ts";
import { gatherReads } from "./gather.ts";
import { createMutex } from "./mutex.ts";
import { startThread } from "./thread.ts";
import { transact } from "./transact.ts";

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
  const close = (): Promise<void> =>
    (closed ??= reportReader
      .close()
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
    hostId,
    strand: 0,
    isAlive: (id) => Promise.resolve(id === hostId),
    onReturn() {},
    isShared: false,
    close,
  };
}

/**
 * Makes the file, and its folder, for the owner's eyes alone, and takes it for this process. The lock is the operating
 * system's, so it goes with the process however that ends. It lies on a file beside the database, because the lock of
 * the database itself would keep our own threads out.
 */
function lock(path: string): () => void {
  refuseFolder(path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // One that is there is left alone: closing it would let go of every lock that this process has on it.
  for (const file of [path, lockFile(path)]) if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  let held: InstanceType<typeof SqliteDatabase> | undefined;
  let file: InstanceType<typeof SqliteDatabase> | undefined;
  try {
    held = new SqliteDatabase(lockFile(path));
    held.exec("begin exclusive");
    // Also one that is used without the lock beside it, or that is none.
    file = new SqliteDatabase(path);
    // A new file can give pages back that are free. One from before this was set keeps them until it is vacuumed once.
    file.pragma("auto_vacuum = incremental");
    file.exec("begin immediate; commit");
  } catch (cause) {
    held?.close();
    throw new Error(`The database ${path} is in use by another process, or cannot be written.`, { cause });
  } finally {
    file?.close();
  }
  return () => {
    held.exec("rollback");
    held.close();
  };
}
