import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, linkSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { ConfigError, makeFolder, putInPlace } from "../base/index.ts";
import { type BackupFacts, checkBackup } from "./check-backup.ts";
import { holdLock, lockFile, refuseFolder } from "./sqlite/open-sqlite.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";

/** A backup that was copied to where it is to be restored, and checked. It is no database yet. */
export interface RestoreDraft extends BackupFacts {
  /** The copy, which may be opened and changed. */
  path: string;
  /** Gives the copy, closed, the name of the database. Returns where the database from before is now. */
  putInPlace(): string | undefined;
  /** Lets hosts in again, and removes the copy if it was not put in place. */
  close(): void;
}

const logs = ["-wal", "-shm", "-journal"];

/**
 * Copies a backup to where it is to be restored, and keeps hosts out until it is closed. Throws for a file that is no whole
 * backup, for a database that a host has open, and for one that is there, unless that is to be replaced.
 */
export async function openDraft(file: string, database: string, isReplaced: boolean): Promise<RestoreDraft> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new ConfigError(`${file} is no file.`);
  refuseFolder(database);
  const isThere = [database, ...logs.map((end) => `${database}${end}`)].some((path) => existsSync(path));
  if (isThere && !isReplaced)
    throw new ConfigError(
      `${database} is there already. Name another place, or add --force, which keeps it aside under another name.`,
    );
  makeFolder(dirname(database));
  const unlock = holdLock(database);
  const path = `${database}.restore-${randomUUID()}`;
  const close = (): void => {
    for (const left of [path, lockFile(path), ...logs.map((end) => `${path}${end}`)]) rmSync(left, { force: true });
    unlock();
  };
  try {
    // What is checked is the copy: nobody can change it between the check and the restore.
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

/** INVARIANT: no log of the old database stands beside the new one, which SQLite would take for its own. */
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

/** Makes one file of a database and its log, so that nothing is lost between two steps. A damaged one stays as it is. */
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
    // It is kept aside with its log.
  }
}
