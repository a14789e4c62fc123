import { parentPort, workerData } from "node:worker_threads";
import type { Step, StepResult } from "../steps.ts";
import { runRows } from "./run-rows.ts";
import { SqliteFile, type SqliteStatement } from "./sqlite-file.ts";
import type { ThreadOptions, ThreadReply, ThreadRequest } from "./thread-protocol.ts";

// The thread that has a connection to the database: it prepares each statement once, and waits for the disk alone.

const { path, isReader } = workerData as ThreadOptions;
const file = new SqliteFile(path, { timeoutMs: 5000 });
/**
 * Every commit is synced: an acknowledged write survives a power cut. The log is moved into the file at 16 MiB, not at SQLite's
 * 4: pages that many commits change are written there a quarter as often.
 */
const writerSettings = ["journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 4000"];
for (const setting of isReader ? ["query_only = on"] : writerSettings) file.pragma(setting);

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
  // A transaction that could not be ended must not swallow the next one.
  if (sql === begin && file.isInTransaction) file.exec("rollback");
  if (!sql.startsWith("pragma incremental_vacuum")) return runRows(prepare(sql), step);
  // A prepared one would do the first page of its work only.
  file.exec(sql);
  return { rows: [], changes: [] };
}

function close(): void {
  prepared.clear();
  // Closing alone can leave a lock to statements that are not collected yet.
  if (file.isInTransaction) file.exec("rollback");
  if (!isReader) leaveOneFile();
  file.close();
}

/** Without a log and its index beside it, the database is one file that can be copied. Somebody may be reading it. */
function leaveOneFile(): void {
  try {
    file.pragma("journal_mode = delete");
  } catch {
    // The next one to open it takes the log over.
  }
}

function answer(request: ThreadRequest): ThreadReply {
  const { id } = request;
  try {
    if ("steps" in request) return { id, results: request.steps.map(run) };
    close();
    return { id, results: [] };
  } catch (cause) {
    const { name, message, code } = cause as Error & { code?: unknown };
    return { id, error: { name, message, ...(typeof code === "string" && { code }) } };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on("message", (request: ThreadRequest) => parentPort?.postMessage(answer(request)));
