import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Kysely, type Logger } from "kysely";
import { ConfigError, makeFolder } from "../../shared/index.ts";
import type { Database } from "../database.ts";
import { createHistory } from "../history/history.ts";
import { preserveCause } from "../preserve-cause.ts";
import { migrate, ownEpoch, registerHost } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { copyFile, copyMemory, removeOldCopies, vacuumInto } from "./copy.ts";
import { threadDialect } from "./dialect.ts";
import { gatherReads } from "./gather.ts";
import { createMutex } from "./mutex.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { realFile, refuseHardLinks } from "./real-file.ts";
import { startThread, type OwnedThread, type StartWorker } from "./thread.ts";
import type { ThreadOptions } from "./thread-protocol.ts";
import { transact } from "./transact.ts";
import { brokenPages, damageOf } from "./whole-file.ts";

/** How often it is read which versions may serve the file. */
const readLowestMs = 2_000;

/** Looks at a database before its tables are brought up to date. When it throws, nothing was changed. */
export type CheckDatabase = (db: Kysely<Schema>) => Promise<void>;

/** How a file is opened. */
interface SqliteOptions {
  /** Told of each statement. */
  log?: Logger | undefined;
  /** May refuse the database before anything is changed in it. */
  check?: CheckDatabase | undefined;
  /** Starts the threads; tests have none, where a thread changes nothing. */
  startWorker?: StartWorker;
}

/** Throws `ConfigError` when there is a folder where the file would be. */
export function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new ConfigError(
      `database: ${path} is a folder, expected a file. Name one in it, such as ${path}/turnpike.db.`,
    );
}

/** The file whose lock says that a process has the database. */
export function lockFile(path: string): string {
  return `${realFile(path)}-lock`;
}

/**
 * Opens an SQLite file for this process alone, in threads of its own: one writes, one reads for calls, and one reads for
 * operators, so that no call waits for a long read.
 */
export async function openSqlite(location: string, { log, check, startWorker }: SqliteOptions = {}): Promise<Database> {
  const isMemory = location === ":memory:";
  const { path, isNew, identity, writer, unlock } = isMemory ? openMemory() : await claim(location, startWorker);
  // A database in memory belongs to one connection.
  const openReader = () => (isMemory ? writer : startThread({ path, isReader: true, identity }, startWorker));
  const [reader, reportReader] = [openReader(), openReader()];
  const writing = createMutex();
  const read = gatherReads(reader);
  const settings = log && { log };
  const db = new Kysely<Schema>({ dialect: preserveCause(threadDialect({ writer, reader, writing })), ...settings });
  const reporting = new Kysely<Schema>({
    dialect: threadDialect({ writer, reader: reportReader, writing }),
    ...settings,
  });
  let closed: Promise<void> | undefined;
  let copying: Promise<unknown> = Promise.resolve();
  let lowest = 0;
  const readLowest = async (): Promise<void> => {
    const { rows } = await read({ sql: "select lowest from schema_epoch", rows: [[]] });
    lowest = Number(rows[0]?.["lowest"] ?? 0);
  };
  // One that fails is followed by the next.
  const reading = setInterval(() => void readLowest().catch(() => {}), readLowestMs).unref();
  const close = (): Promise<void> => {
    clearInterval(reading);
    return (closed ??= copying
      .then(() => reportReader.close())
      .then(() => db.destroy())
      .finally(unlock));
  };
  let hostId = 0;
  try {
    await check?.(db);
  } catch (error) {
    await close();
    if (isNew) rmSync(path, { force: true });
    throw error;
  }
  try {
    await migrate(db, "sqlite");
    hostId = await registerHost(db);
    await writer.own(hostId);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: "sqlite",
    db,
    reporting,
    read: async <Row>(sql: string, parameters: readonly unknown[]) => {
      // SQLite writes the first parameter ?1.
      const { rows } = await read({ sql: sql.replaceAll("$", "?"), rows: [parameters] });
      return rows as Row[];
    },
    transact: (work) => transact({ writer, writing }, work),
    copy() {
      const made = isMemory ? copyMemory(writer.connect()) : copyFile(path, openReader);
      copying = Promise.allSettled([made]);
      return made;
    },
    hostId,
    strand: 0,
    isAlive: (id) => Promise.resolve(id === hostId),
    isPresent: () => true,
    isTooOld: () => lowest > ownEpoch,
    showDrained() {},
    onReturn() {},
    history: createHistory({ hostId: () => hostId, connect: (work) => work(db) }),
    isShared: false,
    close,
  };
}

/** Copies the database of a stopped host to an empty file, and locks hosts out meanwhile. Returns how many bytes. */
export async function copyStopped(location: string, file: string): Promise<number> {
  const { writer, unlock } = await claim(location);
  try {
    await vacuumInto(file, writer.connect());
    return statSync(file).size;
  } finally {
    await writer.close();
    unlock();
  }
}

/** A file that this process has taken, and the thread that writes to it. */
interface Claimed {
  /** The real path of the file. */
  path: string;
  /** Whether there was no file before. */
  isNew: boolean;
  identity: ThreadOptions["identity"];
  writer: OwnedThread;
  unlock(): void;
}

function openMemory(): Claimed {
  const path = ":memory:";
  return { path, isNew: false, identity: undefined, writer: startThread({ path, isReader: false }), unlock() {} };
}

/**
 * Makes the file and its folder, readable by their owner alone, and takes it for this process: by a lock beside the real file, which
 * says at once that it is in use, and by a lock on the file itself, which holds by whatever path another process comes. Both are the
 * operating system's, so they end with the process in any case.
 */
async function claim(location: string, startWorker?: StartWorker): Promise<Claimed> {
  refuseFolder(location);
  const path = realFile(location);
  makeFolder(dirname(path));
  // An existing file is not opened here: closing it would release every lock that this process has on it.
  const isNew = !existsSync(path);
  if (isNew) closeSync(openSync(path, "a", 0o600));
  refuseHardLinks(location, path);
  const unlock = holdLock(location);
  const options: ThreadOptions = { path, isReader: false, isClaimed: true };
  const writer = startThread(options, startWorker);
  try {
    removeOldCopies(path);
    await writer.connect().run([]);
    const { dev, ino } = statSync(path);
    options.identity = { dev, ino };
    // A thread that starts again has the file already.
    options.isClaimed = false;
    return { path, isNew, identity: options.identity, writer, unlock };
  } catch (cause) {
    await writer.close().catch(() => {});
    unlock();
    throw refusalOf(location, cause);
  }
}

function refusalOf(location: string, cause: unknown): unknown {
  if (cause instanceof Error && cause.name === "BrokenPagesError") return brokenPages(location, cause.message);
  return damageOf(location, cause) ?? inUse(location, cause);
}

/** Takes the lock beside a database, whether or not that exists. Throws when another process has it. */
export function holdLock(path: string): () => void {
  let held: SqliteFile | undefined;
  try {
    // Only the owner may read it, because every reader could lock it.
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
