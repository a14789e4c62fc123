import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { SqliteFile } from "./sqlite-file.ts";

/** A file that is no whole database; the words are for the operator. */
export class DamagedDatabaseError extends Error {
  override readonly name = "DamagedDatabaseError";
  /** What is wrong with it, as the end of a sentence. */
  readonly why: string;

  constructor(path: string, why: string, options?: ErrorOptions) {
    super(
      `The database ${path} is damaged: ${why}. Nothing was changed. Put a backup in its place: ` +
        `turnpike restore <backup> --database ${path} --force, which keeps this file aside.`,
      options,
    );
    this.why = why;
  }
}

const headerBytes = 100;
const magic = "SQLite format 3\0";

/**
 * Refuses a file that was cut off, that is no database, or whose host did not end in order and that is not whole. What its header
 * says is looked at every time; every page only after such an end, at about 500 MB a second. INVARIANT: SQLite alone opens the
 * file. Whoever closes it lets go of all locks that this process has on it, also those of connections that linger until they are
 * collected; another process would then throw away the log that they use.
 */
export function refuseDamaged(path: string): void {
  if (statSync(path).size === 0) return;
  const hasLog = [`${path}-wal`, `${path}-journal`].some((log) => existsSync(log) && statSync(log).size > 0);
  ask(path, (file) => {
    file.prepare("select 1 from sqlite_master").all();
    const isUnclean = hasLog || textOf(file.pragma("journal_mode")) === "wal";
    if (isUnclean) requireWhole(path, textOf(file.pragma("quick_check(1)")));
  });
}

/** Refuses a file whose pages do not fit together; `full` holds indexes against their tables as well. */
export function refuseBrokenPages(path: string, check: "quick" | "full"): void {
  const pragma = check === "quick" ? "quick_check(1)" : "integrity_check(1)";
  ask(path, (file) => requireWhole(path, textOf(file.pragma(pragma))));
}

function requireWhole(path: string, found: string): void {
  if (found !== "ok") throw new DamagedDatabaseError(path, `SQLite found that ${oneLine(found)}`);
}

function ask(path: string, look: (file: SqliteFile) => void): void {
  try {
    const file = new SqliteFile(path);
    try {
      look(file);
    } finally {
      file.close();
    }
  } catch (error) {
    throw damageOf(path, error) ?? error;
  }
}

/** What is wrong with a file, from the error of a driver; undefined when it is not the file. */
export function damageOf(path: string, cause: unknown): DamagedDatabaseError | undefined {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (!code.startsWith("SQLITE_CORRUPT") && !code.startsWith("SQLITE_NOTADB")) return undefined;
  return new DamagedDatabaseError(path, whatIsWrong(path), { cause });
}

/** Says it of a file that SQLite has refused. */
function whatIsWrong(path: string): string {
  const { size } = statSync(path);
  const header = readHeader(path);
  if (header.length < headerBytes || header.toString("latin1", 0, magic.length) !== magic)
    return "the file is not a database";
  const expected = bytesIn(header);
  return size < expected ? `it has ${size} bytes of ${expected}, so it was cut off` : "SQLite cannot read it";
}

/** The one value that a pragma answers. */
function textOf(rows: unknown): string {
  const [value] = (rows as Record<string, unknown>[]).flatMap((row) => Object.values(row));
  return String(value);
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

/** How long the file has to be; 0 when the header does not say so. */
function bytesIn(header: Buffer): number {
  const pageSize = header.readUInt16BE(16);
  const isCounted = header.readUInt32BE(24) === header.readUInt32BE(92);
  return isCounted ? header.readUInt32BE(28) * (pageSize === 1 ? 65_536 : pageSize) : 0;
}
