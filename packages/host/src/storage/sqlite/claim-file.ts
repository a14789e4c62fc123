import { readPragma, type SqliteFile } from "./sqlite-file.ts";

/** The pages of a file are inconsistent. The message says what SQLite found. */
class BrokenPagesError extends Error {
  override readonly name = "BrokenPagesError";
}

/**
 * Takes a file for this process, through the connection that will write to it. The lock is on the file itself, so it holds by
 * whatever path another process comes: SQLite grants it only while no other process has the file open, and leaves this
 * connection a shared lock, which excludes every later claim until the connection is closed. Throws `SQLITE_BUSY` when another
 * process has the file, and `BrokenPagesError` when its pages are inconsistent. Reading them takes a second for each 500 MB, so it is not
 * done for a file that `isClosedHere`. SQLite itself compares the size of every file with its header.
 */
export function claimFile(file: SqliteFile, isClosedHere: boolean): void {
  // A new file can return its free pages. One from before this setting cannot until it is vacuumed once.
  file.pragma("auto_vacuum = incremental");
  read(file);
  alone(file, () => {
    if (!isClosedHere) refuseBroken(file);
  });
  file.pragma("journal_mode = wal");
  // The log is opened by the next read. In exclusive mode it would stay this connection's alone.
  read(file);
  // Again, because without a log the lock above ended with its transaction. This one becomes the shared lock without a gap.
  alone(file, () => {});
}

function alone(file: SqliteFile, work: () => void): void {
  file.pragma("locking_mode = exclusive");
  file.exec("begin exclusive");
  try {
    work();
  } finally {
    file.exec("commit");
  }
  file.pragma("locking_mode = normal");
  // The exclusive lock becomes a shared one when the next writing transaction ends.
  file.exec("begin immediate; commit");
}

function read(file: SqliteFile): void {
  file.prepare("select 1 from sqlite_master").all();
}

function refuseBroken(file: SqliteFile): void {
  const found = readPragma(file, "quick_check(1)");
  if (found !== "ok") throw new BrokenPagesError(found);
}
