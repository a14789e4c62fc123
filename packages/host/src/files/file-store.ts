import { createSemaphore, type Semaphore } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";
import { createChangeFiles, type ChangeFiles, type FileBefore, type OneFile } from "./change-files.ts";
import { isAtOrAfter, isOwnedBy, isWithin, ownerColumns, pathKey, type FileOwner } from "./file-columns.ts";
import { contentTooLarge, fileExists, noFile, otherVersion, tooMany } from "./file-errors.ts";
import {
  fileColumns,
  fullTextOf,
  putFile,
  removeFile,
  selectRow,
  statOf,
  type FileRow,
  type FileStat,
} from "./file-rows.ts";
import type { WordMatch } from "./full-text.ts";
import { defaultFileLimits, type FileLimits } from "./limits.ts";
import { createSnapshotStore, type SnapshotStore } from "./snapshot-store.ts";
import { yieldToEventLoop } from "./time-slice.ts";
import type { WordQuery } from "./tokenize.ts";

/** Changes of one file. A refused change throws a `ToolError` and has changed nothing. An aborted one may have. */
interface FileChanges {
  create(of: FileOwner, path: readonly string[], content: string, signal?: AbortSignal): Promise<FileStat>;
  replace(
    of: FileOwner,
    path: readonly string[],
    content: string,
    expectedVersion?: number,
    signal?: AbortSignal,
  ): Promise<FileStat>;
  append(
    of: FileOwner,
    path: readonly string[],
    content: string,
    expectedVersion?: number,
    signal?: AbortSignal,
  ): Promise<FileStat>;
  /** Deletes a file and returns the version that its tombstone has. */
  delete(of: FileOwner, path: readonly string[], expectedVersion?: number, signal?: AbortSignal): Promise<number>;
  /** Creates or replaces a file, whatever is there: for files that the host itself provides. */
  write(of: FileOwner, path: readonly string[], content: string): Promise<FileStat>;
}

/** Makes the next content of a file from what is or was at its path. Throws to refuse the change. */
type NextContent = (before: FileBefore) => string;

function createFileChanges(
  database: Pick<Database, "db" | "kind">,
  changeFiles: ChangeFiles,
  limits: FileLimits,
): FileChanges {
  const put = (
    of: FileOwner,
    { path, reads }: Pick<OneFile<FileStat>, "path" | "reads">,
    signal: AbortSignal | undefined,
    next: NextContent,
  ): Promise<FileStat> => {
    const decide: OneFile<FileStat>["decide"] = (before, mine) => {
      const content = next(before);
      const bytes = Buffer.byteLength(content);
      if (bytes > limits.fileBytes) throw contentTooLarge(bytes, limits.fileBytes);
      const { row, files = limits.files } = before;
      if (!exists(row) && files >= limits.files) throw tooMany("files", limits.files);
      return putFile(database, mine, path, content, row);
    };
    return changeFiles.one(of, { path, reads, decide }, signal);
  };

  return {
    create: (of, path, content, signal) =>
      put(of, { path, reads: "files" }, signal, ({ row }) => {
        if (exists(row)) throw fileExists();
        return content;
      }),
    replace: (of, path, content, expectedVersion, signal) =>
      put(of, { path }, signal, ({ row }) => {
        expectFile(row, expectedVersion);
        return content;
      }),
    append: (of, path, content, expectedVersion, signal) =>
      put(of, { path, reads: "content" }, signal, ({ row, content: stored }) => {
        expectFile(row, expectedVersion);
        return `${JSON.parse(stored as string) as string}${content}`;
      }),
    delete: (of, path, expectedVersion, signal) =>
      changeFiles.one(
        of,
        { path, decide: ({ row }, mine) => removeFile(database, mine, expectFile(row, expectedVersion)) },
        signal,
      ),
    write: (of, path, content) => put(of, { path, reads: "files" }, undefined, () => content),
  };
}

function exists(row: FileRow | undefined): row is FileRow & { digest: string } {
  return row !== undefined && row.digest !== null;
}

/** The file, which must exist, in the expected version if there is one. */
function expectFile(row: FileRow | undefined, version: number | undefined): FileRow & { digest: string } {
  if (!exists(row)) throw noFile();
  if (version !== undefined && version !== row.version) throw otherVersion(row.version, version);
  return row;
}

/** The files of every owner of every tenant. The store only stores: it checks no authority. */
export interface FileStore extends FileChanges {
  readonly limits: FileLimits;
  readonly snapshots: SnapshotStore;
  /** Limits how many calls scan many files at once. */
  readonly scans: Semaphore;
  stat(of: FileOwner, path: readonly string[]): Promise<FileStat | undefined>;
  read(of: FileOwner, path: readonly string[]): Promise<{ content: string; version: number } | undefined>;
  /** The files at and below a folder in the order of their paths, from the path `from` on. */
  walk(of: FileOwner, folder: readonly string[], from?: string): AsyncGenerator<FileStat>;
  /** The files at and below a folder that match the query, in no order. */
  match(of: FileOwner, folder: readonly string[], query: WordQuery, signal: AbortSignal): Promise<WordMatch[]>;
}

const readSql = `select contents.content, files.version from files
  join contents on contents.namespace_id = files.namespace_id and contents.owner = files.owner
    and contents.digest = files.digest
  where files.namespace_id = $1 and files.owner = $2 and files.path_key = $3`;

/** How many rows are read at once. */
const batch = 500;

/** How many calls scan many files at once. */
const scansAtOnce = 2;

/** Opens the files of a database. Limits that are not given have their defaults. */
export function createFileStore(database: Database, given: Partial<FileLimits> = {}): FileStore {
  const { db, reporting, read, kind } = database;
  const fullText = fullTextOf(kind);
  const changeFiles = createChangeFiles(database);
  const limits: FileLimits = Object.freeze({ ...defaultFileLimits, ...given });
  return {
    ...createFileChanges(database, changeFiles, limits),
    limits,
    snapshots: createSnapshotStore(database, changeFiles, limits),
    scans: createSemaphore(scansAtOnce),
    async stat(of, path) {
      const row = await selectRow(db, ownerColumns(of), path).executeTakeFirst();
      return row === undefined || row.digest === null ? undefined : statOf(row);
    },
    async read(of, path) {
      const { namespace_id, owner } = ownerColumns(of);
      const [found] = await read<{ content: string; version: number }>(readSql, [namespace_id, owner, pathKey(path)]);
      return found && { content: JSON.parse(found.content) as string, version: found.version };
    },
    async *walk(of, folder, from = "") {
      let rows: FileRow[] = [];
      let last = "";
      do {
        rows = await db
          .selectFrom("files")
          .select(fileColumns)
          .where(isOwnedBy(ownerColumns(of)))
          .where("digest", "is not", null)
          .where(isWithin(folder))
          .where(isAtOrAfter(last || from))
          .where("path", ">", last)
          .orderBy("files.path_start")
          .orderBy("path")
          .limit(batch)
          .execute();
        yield* rows.map(statOf);
        await yieldToEventLoop();
        last = rows.at(-1)?.path ?? "";
      } while (rows.length === batch);
    },
    match: (of, folder, query, signal) => fullText.match(reporting, ownerColumns(of), folder, query, signal),
  };
}
