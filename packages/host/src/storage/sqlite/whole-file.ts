import { programName } from "../../shared/index.ts";
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { bytesIn, headerBytes } from "./file-header.ts";
import { readPragma, SqliteFile } from "./sqlite-file.ts";

/** A file that is no whole database. The message is for the operator. */
export class DamagedDatabaseError extends Error {
  override readonly name = "DamagedDatabaseError";
  /** What is wrong with it, as the end of a sentence. */
  readonly why: string;

  constructor(path: string, why: string, options?: ErrorOptions) {
    super(
      `The database ${path} is damaged: ${why}. Nothing was changed. Put a backup in its place: ` +
        `${programName()} restore <backup> --database ${path} --force, which keeps this file aside.`,
      options,
    );
    this.why = why;
  }
}

const magic = "SQLite format 3\0";

/**
 * Refuses a file that was cut off, that is no database, or that was damaged when its host crashed. The header is checked every
 * time, and every page only after a crash, at about 500 MB a second. INVARIANT: only SQLite opens the file. Closing it in any
 * other way would release all locks that this process has on it, also those of connections that are not collected yet; another
 * process would then delete the log that they use.
 */
export function refuseDamaged(path: string): void {
  if (statSync(path).size === 0) return;
  const hasLog = [`${path}-wal`, `${path}-journal`].some((log) => existsSync(log) && statSync(log).size > 0);
  ask(path, (file) => {
    file.prepare("select 1 from sqlite_master").all();
    const isUnclean = hasLog || readPragma(file, "journal_mode") === "wal";
    if (isUnclean) requireWhole(path, readPragma(file, "quick_check(1)"));
  });
}

/** Refuses a file whose pages are inconsistent. `full` also compares indexes with their tables. */
export function refuseBrokenPages(path: string, check: "quick" | "full"): void {
  const pragma = check === "quick" ? "quick_check(1)" : "integrity_check(1)";
  ask(path, (file) => requireWhole(path, readPragma(file, pragma)));
}

function requireWhole(path: string, found: string): void {
  if (found !== "ok") throw brokenPages(path, found);
}

/** The damage that SQLite found in the pages of a file. */
export function brokenPages(path: string, found: string): DamagedDatabaseError {
  return new DamagedDatabaseError(path, `SQLite found that ${oneLine(found)}`);
}

function ask(path: string, check: (file: SqliteFile) => void): void {
  try {
    const file = new SqliteFile(path);
    try {
      check(file);
    } finally {
      file.close();
    }
  } catch (error) {
    throw damageOf(path, error) ?? error;
  }
}

/** The damage of a file that a driver's error shows; undefined for an error that is not about the file. */
export function damageOf(path: string, cause: unknown): DamagedDatabaseError | undefined {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (!code.startsWith("SQLITE_CORRUPT") && !code.startsWith("SQLITE_NOTADB")) return undefined;
  return new DamagedDatabaseError(path, whatIsWrong(path), { cause });
}

/** Describes the damage of a file that SQLite has refused. */
function whatIsWrong(path: string): string {
  const { size } = statSync(path);
  const header = readHeader(path);
  if (header.length < headerBytes || header.toString("latin1", 0, magic.length) !== magic)
    return "the file is not a database";
  const expected = bytesIn(header);
  return size < expected ? `it has ${size} bytes of ${expected}, so it was cut off` : "SQLite cannot read it";
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 200);
}

function readHeader(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(headerBytes);
    return header.subarray(0, readSync(file, header, 0, headerBytes, 0));
  } finally {
    closeSync(file);
  }
}
