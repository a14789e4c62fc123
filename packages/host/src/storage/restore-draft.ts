import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, linkSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { ConfigError, makeFolder, putInPlace } from "../shared/index.ts";
import { type BackupFacts, checkBackup } from "./check-backup.ts";
import { markOf } from "./sqlite/closed-mark.ts";
import { holdLock, lockFile, refuseFolder } from "./sqlite/open-sqlite.ts";
import { realFile } from "./sqlite/real-file.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";

/** A checked copy of a backup beside the place where it is to be restored. No host opens it yet. */
export interface RestoreDraft extends BackupFacts {
  /** The path of the copy, which may be opened and changed. */
  path: string;
  /** Renames the closed copy to the database. Returns where the previous database is now. */
  putInPlace(): string | undefined;
  /** Releases the lock, and removes the copy if it was not put in place. */
  close(): void;
}

const logs = ["-wal", "-shm", "-journal"];

/**
 * Copies a backup to where it is to be restored, and locks hosts out until it is closed. Throws for a file that is no whole
 * backup, for a database that a host has open, and for one that exists, unless it is to be replaced.
 */
export async function openDraft(file: string, location: string, isReplaced: boolean): Promise<RestoreDraft> {
  const real = realFile(location);
  // Paths are shown to the operator as they were given, unless a link leads elsewhere.
  const database = real === resolve(location) ? location : real;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new ConfigError(`${file} is no file.`);
  refuseFolder(location);
  const isThere = [database, ...logs.map((end) => `${database}${end}`)].some((path) => existsSync(path));
  if (isThere && !isReplaced)
    throw new ConfigError(
      `${location} is there already. Name another place, or add --force, which keeps it aside under another name.`,
    );
  makeFolder(dirname(database));
  const unlock = holdLock(database);
  const path = `${database}.restore-${randomUUID()}`;
  const close = (): void => {
    for (const left of [path, lockFile(path), markOf(path), ...logs.map((end) => `${path}${end}`)])
      rmSync(left, { force: true });
    unlock();
  };
  try {
    // The copy is checked, because the original could be changed between the check and the restore.
    for (const end of ["", "-wal"]) {
      if (!existsSync(`${file}${end}`)) continue;
      const written = createWriteStream(`${path}${end}`, { flags: "wx", mode: 0o600 });
      await pipeline(createReadStream(`${file}${end}`), written);
    }
    const facts = await checkBackup(path, "full", file);
    return { ...facts, path, putInPlace: () => replace(database, path, isThere), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** INVARIANT: no log of the old database is left beside the new one, because SQLite would apply it. */
function replace(database: string, draft: string, isThere: boolean): string | undefined {
  if (!isThere) {
    putInPlace(draft, database);
    return undefined;
  }
  const aside = `${database}.before-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
  foldLog(database);
  for (const end of ["", "-wal", "-journal"]) {
    if (existsSync(`${database}${end}`)) linkSync(`${database}${end}`, `${aside}${end}`);
  }
  for (const end of logs) rmSync(`${database}${end}`, { force: true });
  putInPlace(draft, database, { isReplaced: true });
  return aside;
}

/** Merges the log of a database into its file, so that nothing is lost between two renames. A damaged one stays as it is. */
function foldLog(database: string): void {
  if (!existsSync(database)) return;
  try {
    const file = new SqliteFile(database);
    try {
      file.pragma("journal_mode = delete");
    } finally {
      file.close();
    }
  } catch {
    // It is renamed together with its log.
  }
}
