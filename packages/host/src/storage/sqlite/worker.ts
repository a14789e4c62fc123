import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { Step, StepResult } from "../steps.ts";
import { claimFile } from "./claim-file.ts";
import { markClosed, takeClosedMark } from "./closed-mark.ts";
import { runRows } from "./run-rows.ts";
import { readPragma, SqliteFile, type SqliteStatement } from "./sqlite-file.ts";
import type { ThreadOptions, ThreadReply, ThreadRequest } from "./thread-protocol.ts";
import { LostFileError, watchFile } from "./watch-file.ts";

// The thread that has a connection to the database. It prepares each statement once, and only this thread waits for the disk.

const { path, isReader, isClaimed = false, hostId, identity } = workerData as ThreadOptions;
requireIdentity();
// Before the file is opened: closing it once more would release its locks.
const isClosedHere = isClaimed && takeClosedMark(path);
const file = new SqliteFile(path, { timeoutMs: 5000 });
requireIdentity();
/** Why the file could not be taken: the answer to every request. */
let refusal: unknown;
try {
  if (isClaimed) claimFile(file, isClosedHere);
} catch (error) {
  refusal = error;
}
/**
 * Every commit is synced, so an acknowledged write survives a power cut. The log is moved into the file at 16 MiB instead of
 * SQLite's 4 MiB, so pages that many commits change are written a quarter as often.
 */
const writerSettings = ["journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 4000"];
if (refusal === undefined) for (const setting of isReader ? ["query_only = on"] : writerSettings) file.pragma(setting);
const isWatched = !isReader && (isClaimed || identity !== undefined) && refusal === undefined;
// The first read opens the log.
if (isWatched) file.prepare("select 1 from sqlite_master").all();
const watch = isWatched ? watchFile(path, file) : undefined;
if (hostId !== undefined) watch?.own(hostId);

/** A thread that starts again must not open another file than the others have. */
function requireIdentity(): void {
  if (identity === undefined) return;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.ino !== identity.ino || found.dev !== identity.dev)
    throw new LostFileError(`${path} was removed or replaced while this host had it open.`);
}

const maxPrepared = 500;
const begin = "begin immediate";
const prepared = new Map<string, SqliteStatement>();

function prepare(sql: string): SqliteStatement {
  let statement = prepared.get(sql);
  if (statement === undefined) {
    statement = file.prepare(sql);
    if (prepared.size >= maxPrepared) prepared.clear();
    prepared.set(sql, statement);
  }
  return statement;
}

function run(step: Step): StepResult {
  const { sql } = step;
  // A transaction that could not be ended must not contain the next one.
  if (sql === begin && file.isInTransaction) file.exec("rollback");
  if (!sql.startsWith("pragma incremental_vacuum")) return runRows(prepare(sql), step);
  // A prepared statement would do only the first page of its work.
  file.exec(sql);
  return { rows: [], changes: [] };
}

function close(): void {
  prepared.clear();
  // After closing alone, statements that are not collected yet can still hold a lock.
  if (file.isInTransaction) file.exec("rollback");
  const isOneFile = isWatched && isOwn() && leaveOneFile();
  file.close();
  watch?.close();
  if (isOneFile) leaveMark();
}

/** Whether the file is the one that was opened. The log beside another one is not this connection's to remove. */
function isOwn(): boolean {
  try {
    watch?.check(true);
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes the log and its index, so that the database is one file that can be copied. Returns false while another process reads it: then
 * the next one that opens the database uses the log.
 */
function leaveOneFile(): boolean {
  try {
    return readPragma(file, "journal_mode = delete") === "delete";
  } catch {
    return false;
  }
}

function leaveMark(): void {
  try {
    markClosed(path);
  } catch {
    // The next start checks every page.
  }
}

function answer(request: ThreadRequest): ThreadReply {
  const { id } = request;
  try {
    if ("close" in request) close();
    else if (refusal !== undefined) throw refusal;
    else if ("hostId" in request) watch?.own(request.hostId);
    else {
      watch?.check();
      return { id, results: request.steps.map(run) };
    }
    return { id, results: [] };
  } catch (cause) {
    const { name, message, code } = cause as Error & { code?: unknown };
    return { id, error: { name, message, ...(typeof code === "string" && { code }) } };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on("message", (request: ThreadRequest) => parentPort?.postMessage(answer(request)));
