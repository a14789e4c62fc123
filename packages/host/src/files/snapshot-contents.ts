import type { Database } from "../storage/index.ts";
import { isOwnedBy, isWithin, pathSegments } from "./file-columns.ts";
import { tooMany, tooMuchAtOnce } from "./file-errors.ts";
import type { LockedFiles } from "./change-files.ts";
import {
  countFiles,
  fileColumns,
  putFile,
  removeFile,
  storedBytes,
  type FileChange,
  type FileRow,
} from "./file-rows.ts";
import type { FileLimits } from "./limits.ts";
import { yieldToEventLoop } from "./time-slice.ts";

/** Which files an action may capture or change. All other files stay as they are. */
export interface PathCoverage {
  covers(path: readonly string[]): Promise<boolean>;
  signal: AbortSignal;
}

/** The outcome of an attempt: a result, or the paths that have to be checked against the grants first. */
export type Attempt<T> = { kind: "done"; result: T } | { kind: "unknown"; paths: readonly string[] };

/**
 * Repeats an attempt until it knows of every path whether it is covered. Coverage is looked up between the attempts,
 * because that may need the database, which an attempt has locked.
 */
export async function attemptWithin<T>(
  { covers, signal }: PathCoverage,
  attempt: (covered: ReadonlyMap<string, boolean>) => Promise<Attempt<T>>,
): Promise<T> {
  const covered = new Map<string, boolean>();
  for (;;) {
    signal.throwIfAborted();
    const outcome = await attempt(covered);
    if (outcome.kind === "done") return outcome.result;
    for (const path of outcome.paths) covered.set(path, await covers(pathSegments(path)));
  }
}

/** The paths that were not checked against the grants yet. */
function uncheckedPaths(rows: readonly { path: string }[], covered: ReadonlyMap<string, boolean>): string[] {
  return rows.map(({ path }) => path).filter((path) => !covered.has(path));
}

/** How many rows are written at once. */
const batch = 500;

/**
 * Captures the covered files at and below a folder, and returns how many they are. Of the others it records only that
 * they existed, so that a restore does not delete them as new.
 */
export async function captureFiles(
  { transaction, mine }: LockedFiles,
  snapshot: string,
  folder: readonly string[],
  { covered, limits }: { covered: ReadonlyMap<string, boolean>; limits: FileLimits },
): Promise<Attempt<number>> {
  const files = await transaction
    .selectFrom("files")
    .leftJoin("contents", (join) =>
      join
        .onRef("contents.namespace_id", "=", "files.namespace_id")
        .onRef("contents.owner", "=", "files.owner")
        .onRef("contents.digest", "=", "files.digest"),
    )
    .select([...fileColumns, storedBytes.as("bytes")])
    .where(isOwnedBy(mine))
    .where("files.digest", "is not", null)
    .where(isWithin(folder))
    .execute();
  const unknown = uncheckedPaths(files, covered);
  if (unknown.length > 0) return { kind: "unknown", paths: unknown };

  const bytes = files.reduce((sum, file) => sum + (covered.get(file.path) === true ? file.bytes : 0), 0);
  if (bytes > limits.restoredBytes) throw tooMuchAtOnce("store", bytes, limits.restoredBytes);

  const captures = files.map(({ id, path, digest }) => {
    return { ...mine, snapshot, file: id, digest: covered.get(path) === true ? digest : null };
  });
  for (let start = 0; start < captures.length; start += batch) {
    await yieldToEventLoop();
    await transaction
      .insertInto("captures")
      .values(captures.slice(start, start + batch))
      .execute();
  }
  return { kind: "done", result: captures.filter(({ digest }) => digest !== null).length };
}

/** How many files a restore changed. */
export interface Restored {
  written: number;
  deleted: number;
}

/** A file that exists now or did in the snapshot, with what the snapshot has of it. */
interface Comparison extends FileRow {
  /** Null when the file did not exist then. */
  capture: number | null;
  /** Null when the file did not exist then, or was not covered. */
  captured: string | null;
  /** The size of the captured content. */
  bytes: number;
}

/** How many files are changed before other work gets its turn. */
const atOnce = 5;

/** Makes every covered file at and below a folder what it was in the snapshot. Files that did not change are not written. */
export async function restoreFiles(
  locked: LockedFiles,
  kind: Database["kind"],
  snapshot: string,
  folder: readonly string[],
  { covered, limits, signal }: { covered: ReadonlyMap<string, boolean>; limits: FileLimits; signal: AbortSignal },
): Promise<Attempt<Restored>> {
  const rows = await compare(locked, snapshot, folder);
  const toWrite = rows.filter(({ digest, captured }) => captured !== null && captured !== digest);
  const toDelete = rows.filter(({ digest, capture }) => capture === null && digest !== null);
  const unknown = uncheckedPaths([...toWrite, ...toDelete], covered);
  if (unknown.length > 0) return { kind: "unknown", paths: unknown };

  const isCovered = ({ path }: FileRow): boolean => covered.get(path) === true;
  const [written, deleted] = [toWrite.filter(isCovered), toDelete.filter(isCovered)];
  const created = written.filter(({ digest }) => digest === null);
  const { transaction: db, mine } = locked;
  const { files } = await countFiles(db, mine).executeTakeFirstOrThrow();
  const count = files + created.length - deleted.length;
  if (created.length > 0 && count > limits.files) throw tooMany("files", limits.files);

  const bytes = written.reduce((sum, row) => sum + row.bytes, 0);
  if (bytes > limits.restoredBytes) throw tooMuchAtOnce("restore", bytes, limits.restoredBytes);

  for (const [index, row] of [...deleted, ...written].entries()) {
    if (index % atOnce === 0) await yieldToEventLoop(signal);
    const change: FileChange<unknown> =
      row.captured === null
        ? removeFile({ db, kind }, mine, row)
        : putFile({ db, kind }, mine, pathSegments(row.path), await readContent(locked, row.captured), row);
    for (const statement of change.statements) await db.executeQuery(statement.compile(db));
  }
  return { kind: "done", result: { written: written.length, deleted: deleted.length } };
}

async function readContent({ transaction, mine }: LockedFiles, digest: string): Promise<string> {
  const { content } = await transaction
    .selectFrom("contents")
    .select("content")
    .where((row) => row.and({ ...mine, digest }))
    .executeTakeFirstOrThrow();
  return JSON.parse(content) as string;
}

function compare(
  { transaction, mine }: LockedFiles,
  snapshot: string,
  folder: readonly string[],
): Promise<Comparison[]> {
  return transaction
    .selectFrom("files")
    .leftJoin("captures", (join) =>
      join
        .onRef("captures.namespace_id", "=", "files.namespace_id")
        .onRef("captures.owner", "=", "files.owner")
        .onRef("captures.file", "=", "files.id")
        .on("captures.snapshot", "=", snapshot),
    )
    .leftJoin("contents", (join) =>
      join
        .onRef("contents.namespace_id", "=", "captures.namespace_id")
        .onRef("contents.owner", "=", "captures.owner")
        .onRef("contents.digest", "=", "captures.digest"),
    )
    .select([...fileColumns, "captures.file as capture", "captures.digest as captured", storedBytes.as("bytes")])
    .where(isOwnedBy(mine))
    .where(isWithin(folder))
    .where(({ or, eb }) => or([eb("files.digest", "is not", null), eb("captures.digest", "is not", null)]))
    .execute();
}
