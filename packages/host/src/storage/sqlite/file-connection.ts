import { statSync } from "node:fs";
import type { Step, StepResult } from "../steps.ts";
import { claimFile } from "./claim-file.ts";
import { markClosed, takeClosedMark } from "./closed-mark.ts";
import { runRows } from "./run-rows.ts";
import { readPragma, SqliteFile, type SqliteStatement } from "./sqlite-file.ts";
import type { ThreadOptions, ThreadReply, ThreadRequest } from "./thread-protocol.ts";
import { type FileWatch, LostFileError, watchFile } from "./watch-file.ts";

/**
 * Every commit is synced, so an acknowledged write survives a power cut. The log is moved into the file at 16 MiB instead of
 * SQLite's 4 MiB, so pages that many commits change are written a quarter as often.
 */
const writerSettings = ["journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 4000"];
const readerSettings = ["query_only = on"];
const maxPrepared = 500;
const begin = "begin immediate";

/** A connection to the file of a host, which answers requests. It prepares each statement once. */
export class FileConnection {
  readonly #path: string;
  readonly #file: SqliteFile;
  readonly #watch: FileWatch | undefined;
  readonly #prepared = new Map<string, SqliteStatement>();
  /** Why the file could not be taken: the answer to every request. */
  readonly #refusal: unknown;

  constructor({ path, isReader, isClaimed = false, hostId, identity }: ThreadOptions) {
    this.#path = path;
    requireIdentity(path, identity);
    // Before the file is opened: closing it once more would release its locks.
    const isClosedHere = isClaimed && takeClosedMark(path);
    this.#file = new SqliteFile(path, { timeoutMs: 5000 });
    requireIdentity(path, identity);
    try {
      if (isClaimed) claimFile(this.#file, isClosedHere);
    } catch (error) {
      this.#refusal = error;
      return;
    }
    for (const setting of isReader ? readerSettings : writerSettings) this.#file.pragma(setting);
    if (isReader || (!isClaimed && identity === undefined)) return;
    // The first read opens the log.
    this.#file.prepare("select 1 from sqlite_master").all();
    this.#watch = watchFile(path, this.#file);
    if (hostId !== undefined) this.#watch.own(hostId);
  }

  answer(request: ThreadRequest): ThreadReply {
    const { id } = request;
    try {
      if ("close" in request) this.#close();
      else if (this.#refusal !== undefined) throw this.#refusal;
      else if ("hostId" in request) this.#watch?.own(request.hostId);
      else {
        this.#watch?.check();
        return { id, results: request.steps.map((step) => this.#run(step)) };
      }
      return { id, results: [] };
    } catch (cause) {
      const { name, message, code } = cause as Error & { code?: unknown };
      return { id, error: { name, message, ...(typeof code === "string" && { code }) } };
    }
  }

  #run(step: Step): StepResult {
    const { sql } = step;
    // A transaction that could not be ended must not contain the next one.
    if (sql === begin && this.#file.isInTransaction) this.#file.exec("rollback");
    if (!sql.startsWith("pragma incremental_vacuum")) return runRows(this.#prepare(sql), step);
    // A prepared statement would do only the first page of its work.
    this.#file.exec(sql);
    return { rows: [], changes: [] };
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#file.prepare(sql);
      if (this.#prepared.size >= maxPrepared) this.#prepared.clear();
      this.#prepared.set(sql, statement);
    }
    return statement;
  }

  #close(): void {
    this.#prepared.clear();
    // After closing alone, statements that are not collected yet can still hold a lock.
    if (this.#file.isInTransaction) this.#file.exec("rollback");
    const isOneFile = this.#isOwn() && this.#leaveOneFile();
    this.#file.close();
    this.#watch?.close();
    if (isOneFile) this.#leaveMark();
  }

  /** Whether the file is the one that was opened. The log beside another one is not this connection's to remove. */
  #isOwn(): boolean {
    try {
      this.#watch?.check(true);
      return this.#watch !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Removes the log and its index, so that the database is one file that can be copied. Returns false while another process reads it:
   * then the next one that opens the database uses the log.
   */
  #leaveOneFile(): boolean {
    try {
      return readPragma(this.#file, "journal_mode = delete") === "delete";
    } catch {
      return false;
    }
  }

  #leaveMark(): void {
    try {
      markClosed(this.#path);
    } catch {
      // The next start checks every page.
    }
  }
}

/** A thread that starts again must not open another file than the others have. */
function requireIdentity(path: string, identity: ThreadOptions["identity"]): void {
  if (identity === undefined) return;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.ino !== identity.ino || found.dev !== identity.dev)
    throw new LostFileError(`${path} was removed or replaced while this host had it open.`);
}
