import type { Database } from "../storage/index.ts";
import { breathe } from "./breathe.ts";
import { createFileChanges, type FileChanges } from "./file-changes.ts";
import { isOwn, ownerColumns, type FileOwner } from "./file-owner.ts";
import { fileColumns, findRow, statOf, type FileRow, type FileStat } from "./file-rows.ts";
import { fullTextOf } from "./full-text-of.ts";
import type { WordMatch } from "./full-text.ts";
import { createHold } from "./held-files.ts";
import { defaultFileLimits, type FileLimits } from "./limits.ts";
import { isFrom, isWithin, pathColumns } from "./path-text.ts";
import { createSnapshotStore, type SnapshotStore } from "./snapshot-store.ts";
import { createTurnstile, type Turnstile } from "./turnstile.ts";
import type { WordQuery } from "./words.ts";

/** Files of every owner of every tenant: the storage alone, which asks nobody's leave. */
export interface FileStore extends FileChanges {
  readonly limits: FileLimits;
  readonly snapshots: SnapshotStore;
  /** Where those wait who look through many files. */
  readonly scans: Turnstile;
  stat(of: FileOwner, path: readonly string[]): Promise<FileStat | undefined>;
  read(of: FileOwner, path: readonly string[]): Promise<{ content: string; version: number } | undefined>;
  /** The files at and below a folder in the order of their path texts, from the text `from` on. */
  walk(of: FileOwner, folder: readonly string[], from?: string): AsyncGenerator<FileStat>;
  /** The files at and below a folder that have all the words, in no order. */
  match(of: FileOwner, folder: readonly string[], query: WordQuery, signal: AbortSignal): Promise<WordMatch[]>;
}

/** How many rows are read at once. */
const batch = 500;

/** How many look through many files at once. */
const scansAtOnce = 2;

/** Opens the files of a database; limits that are not given are the usual ones. */
export function createFileStore(database: Database, given: Partial<FileLimits> = {}): FileStore {
  const { db, reports, kind } = database;
  const fullText = fullTextOf(kind);
  const hold = createHold(database);
  const limits: FileLimits = Object.freeze({ ...defaultFileLimits, ...given });
  return {
    ...createFileChanges(hold, limits),
    limits,
    snapshots: createSnapshotStore(database, hold, limits),
    scans: createTurnstile(scansAtOnce),
    async stat(of, path) {
      const row = await findRow(db, ownerColumns(of), path);
      return row === undefined || row.digest === null ? undefined : statOf(row);
    },
    async read(of, path) {
      const mine = ownerColumns(of);
      const found = await db
        .selectFrom("files")
        .innerJoin("contents", (join) =>
          join
            .onRef("contents.namespace_id", "=", "files.namespace_id")
            .onRef("contents.owner", "=", "files.owner")
            .onRef("contents.digest", "=", "files.digest"),
        )
        .select(["contents.content", "files.version"])
        .where("files.namespace_id", "=", mine.namespace_id)
        .where("files.owner", "=", mine.owner)
        .where("files.path_key", "=", pathColumns(path).path_key)
        .executeTakeFirst();
      return found && { content: JSON.parse(found.content) as string, version: found.version };
    },
    async *walk(of, folder, from = "") {
      let rows: FileRow[] = [];
      let last = "";
      do {
        rows = await db
          .selectFrom("files")
          .select(fileColumns)
          .where(isOwn(ownerColumns(of)))
          .where("digest", "is not", null)
          .where(isWithin(folder))
          .where(isFrom(last || from))
          .where("path", ">", last)
          .orderBy("files.path_start")
          .orderBy("path")
          .limit(batch)
          .execute();
        yield* rows.map(statOf);
        await breathe();
        last = rows.at(-1)?.path ?? "";
      } while (rows.length === batch);
    },
    match: (of, folder, query, signal) => fullText.match(reports, ownerColumns(of), folder, query, signal),
  };
}
