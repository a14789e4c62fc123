import { createHash } from "node:crypto";
import { sql, type Kysely, type Transaction } from "kysely";
import { createKeyedSemaphore, createSemaphore } from "../shared/index.ts";
import type { Database, Schema } from "../storage/index.ts";
import {
  isOwnedBy,
  ownerColumns,
  pathColumns,
  pathSegments,
  ownerKey,
  type FileOwner,
  type OwnerColumns,
} from "./file-columns.ts";
import type { FullText } from "./full-text.ts";
import { postgresFullText } from "./postgres-full-text.ts";
import { sqliteFullText } from "./sqlite-full-text.ts";
import { tokenize } from "./tokenize.ts";

const byKind: Record<Database["kind"], FullText> = { sqlite: sqliteFullText, postgres: postgresFullText };

/** The full-text index of a kind of database. */
export function fullTextOf(kind: Database["kind"]): FullText {
  return byKind[kind];
}

/** The files of one owner inside a transaction during which no other one can change them. */
export interface LockedFiles {
  transaction: Transaction<Schema>;
  mine: OwnerColumns;
  fullText: FullText;
}

/** Changes the files of an owner. A caller who leaves while they wait for their turn has changed nothing. */
export type ChangeFiles = <T>(
  of: FileOwner,
  change: (locked: LockedFiles) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

/** How many owners' files change at a time. The limit leaves some connections to the rest of the host. */
const changesAtOnce = 4;

/** One change at a time for each owner, and a few for all owners together. They wait before they take a connection. */
export function createChangeFiles(database: Database): ChangeFiles {
  const perOwner = createKeyedSemaphore(1);
  const overall = createSemaphore(changesAtOnce);
  return (of, change, signal) => {
    const mine = ownerColumns(of);
    const locked = () => withLock(database, mine, change);
    return perOwner.run(ownerKey(mine), () => overall.run(locked, signal), signal);
  };
}

/** INVARIANT: an owner's files change only in here, one change after the other. So what a change has read stays true. */
function withLock<T>(
  { db, kind }: Database,
  mine: OwnerColumns,
  change: (locked: LockedFiles) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    await sql`insert into owners (namespace_id, owner) values (${mine.namespace_id}, ${mine.owner})
      on conflict (namespace_id, owner) do update set owner = excluded.owner`.execute(transaction);
    return change({ transaction, mine, fullText: fullTextOf(kind) });
  });
}

/** The size of a row of `contents` in bytes; 0 when there is no such row. */
export const storedBytes = sql<number>`coalesce(octet_length(contents.content), 0)`;

/** Stores a content once, however many files and snapshots of the owner have it, and returns its digest. */
async function saveContent({ transaction, mine }: LockedFiles, text: string): Promise<string> {
  // As JSON, any text comes back from both databases exactly as it was.
  const content = JSON.stringify(text);
  const digest = createHash("sha256").update(content).digest("hex");
  await transaction
    .insertInto("contents")
    .values({ ...mine, digest, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return digest;
}

export async function readContent({ transaction, mine }: LockedFiles, digest: string): Promise<string> {
  const { content } = await transaction
    .selectFrom("contents")
    .select("content")
    .where((row) => row.and({ ...mine, digest }))
    .executeTakeFirstOrThrow();
  return JSON.parse(content) as string;
}

/** Deletes a content unless a file or a snapshot of the owner still has it. */
async function deleteUnusedContent({ transaction, mine }: LockedFiles, digest: string): Promise<void> {
  const having = { ...mine, digest };
  const inFiles = transaction
    .selectFrom("files")
    .select("files.id")
    .where((row) => row.and(having));
  const inSnapshots = transaction
    .selectFrom("captures")
    .select("captures.file")
    .where((row) => row.and(having));
  await transaction
    .deleteFrom("contents")
    .where((row) => row.and(having))
    .where(({ not, exists }) => not(exists(inFiles)))
    .where(({ not, exists }) => not(exists(inSnapshots)))
    .execute();
}

/** The metadata of a file. Its size is in bytes of UTF-8. */
export interface FileStat {
  path: readonly string[];
  version: number;
  size: number;
  updatedAt: string;
}

/** A row of `files`: a file, or the tombstone of a deleted one. A tombstone has no digest, and retains the version number. */
export type FileRow = Pick<Schema["files"], "path" | "version" | "size" | "digest" | "updated_at"> & { id: number };

/** The columns of a `FileRow`. */
export const fileColumns = [
  "files.id",
  "files.path",
  "files.version",
  "files.size",
  "files.digest",
  "files.updated_at",
] as const;

export function statOf({ path, version, size, updated_at: updatedAt }: FileRow): FileStat {
  return { path: pathSegments(path), version, size, updatedAt };
}

/** The file at a path, or its tombstone. */
export function findRow(db: Kysely<Schema>, mine: OwnerColumns, path: readonly string[]): Promise<FileRow | undefined> {
  return db
    .selectFrom("files")
    .select(fileColumns)
    .where((row) => row.and({ ...mine, path_key: pathColumns(path).path_key }))
    .executeTakeFirst();
}

export async function countFiles({ transaction, mine }: LockedFiles): Promise<number> {
  const { count } = await transaction
    .selectFrom("files")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where(isOwnedBy(mine))
    .where("digest", "is not", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Writes the next version of a file, whatever was there before. */
export async function putFile(
  locked: LockedFiles,
  path: readonly string[],
  content: string,
  before: FileRow | undefined,
): Promise<FileStat> {
  const { transaction, mine, fullText } = locked;
  const digest = await saveContent(locked, content);
  const version = (before?.version ?? 0) + 1;
  const size = Buffer.byteLength(content);
  const updatedAt = new Date().toISOString();
  const id = await writeRow(locked, path, before?.id, { version, size, digest, updated_at: updatedAt });
  await fullText.index(transaction, mine, { id, path: tokenize(path.join("/")), content: tokenize(content) });
  if (before?.digest && before.digest !== digest) await deleteUnusedContent(locked, before.digest);
  return { path, version, size, updatedAt };
}

/** Leaves a tombstone, and returns its version. */
export async function removeFile(locked: LockedFiles, { id, path, version, digest }: FileRow): Promise<number> {
  const updated_at = new Date().toISOString();
  await writeRow(locked, pathSegments(path), id, { version: version + 1, size: 0, digest: null, updated_at });
  await locked.fullText.forget(locked.transaction, id);
  if (digest !== null) await deleteUnusedContent(locked, digest);
  return version + 1;
}

/** Writes the row of this id, or a new one, and returns its id. */
async function writeRow(
  { transaction, mine }: LockedFiles,
  path: readonly string[],
  id: number | undefined,
  now: Pick<Schema["files"], "version" | "size" | "digest" | "updated_at">,
): Promise<number> {
  if (id === undefined) {
    const row = { ...mine, shelf: ownerKey(mine), ...pathColumns(path), ...now };
    return (await transaction.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow()).id;
  }
  await transaction
    .updateTable("files")
    .set(now)
    .where((row) => row.and({ ...mine, id }))
    .execute();
  return id;
}
