import type { Kysely } from "kysely";
import type { Schema } from "../storage/index.ts";
import { dropContent, keepContent } from "./contents.ts";
import { isOwn, shelfOf, type OwnerColumns } from "./file-owner.ts";
import type { HeldFiles } from "./held-files.ts";
import { pathColumns, pathSegments } from "./file-columns.ts";
import { wordsOf } from "./tokenize.ts";

/** What there is to know about a file besides its content; the size is in bytes of UTF-8. */
export interface FileStat {
  path: readonly string[];
  version: number;
  size: number;
  updatedAt: string;
}

/** A row of `files`: a file, or the tombstone of one, which has no digest and goes on counting versions. */
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

export async function countFiles({ transaction, mine }: HeldFiles): Promise<number> {
  const { count } = await transaction
    .selectFrom("files")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where(isOwn(mine))
    .where("digest", "is not", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Writes the next version of a file, whatever was there before. */
export async function putFile(
  held: HeldFiles,
  path: readonly string[],
  content: string,
  before: FileRow | undefined,
): Promise<FileStat> {
  const { transaction, mine, fullText } = held;
  const digest = await keepContent(held, content);
  const version = (before?.version ?? 0) + 1;
  const size = Buffer.byteLength(content);
  const updatedAt = new Date().toISOString();
  const id = await writeRow(held, path, before?.id, { version, size, digest, updated_at: updatedAt });
  await fullText.index(transaction, mine, { id, path: wordsOf(path.join("/")), content: wordsOf(content) });
  if (before?.digest && before.digest !== digest) await dropContent(held, before.digest);
  return { path, version, size, updatedAt };
}

/** Leaves a tombstone, and returns its version. */
export async function removeFile(held: HeldFiles, { id, path, version, digest }: FileRow): Promise<number> {
  const updated_at = new Date().toISOString();
  await writeRow(held, pathSegments(path), id, { version: version + 1, size: 0, digest: null, updated_at });
  await held.fullText.forget(held.transaction, id);
  if (digest !== null) await dropContent(held, digest);
  return version + 1;
}

/** Writes the row of this id, or a new one, and returns its id. */
async function writeRow(
  { transaction, mine }: HeldFiles,
  path: readonly string[],
  id: number | undefined,
  now: Pick<Schema["files"], "version" | "size" | "digest" | "updated_at">,
): Promise<number> {
  if (id === undefined) {
    const row = { ...mine, shelf: shelfOf(mine), ...pathColumns(path), ...now };
    return (await transaction.insertInto("files").values(row).returning("id").executeTakeFirstOrThrow()).id;
  }
  await transaction
    .updateTable("files")
    .set(now)
    .where((row) => row.and({ ...mine, id }))
    .execute();
  return id;
}
