import { createHash } from "node:crypto";
import { sql, type Compilable, type Kysely, type RawBuilder, type SqlBool } from "kysely";
import type { Database, Schema } from "../storage/index.ts";
import { isOwnedBy, ownerKey, pathColumns, pathKey, pathSegments, type OwnerColumns } from "./file-columns.ts";
import type { FullText } from "./full-text.ts";
import { postgresFullText } from "./postgres-full-text.ts";
import { sqliteFullText } from "./sqlite-full-text.ts";
import { tokenize } from "./tokenize.ts";

const byKind: Record<Database["kind"], FullText> = { sqlite: sqliteFullText, postgres: postgresFullText };

/** The full-text index of a kind of database. */
export function fullTextOf(kind: Database["kind"]): FullText {
  return byKind[kind];
}

/** A statement that is built, and sent by what decides in which transaction. */
export type FileStatement = Compilable | RawBuilder<unknown>;

/** What a change of one file writes, and what it comes to. */
export interface FileChange<T> {
  statements: readonly FileStatement[];
  result: T;
}

/** Locks an owner's files until the transaction ends. */
export function lockOwner(db: Kysely<Schema>, mine: OwnerColumns) {
  return db
    .insertInto("owners")
    .values(mine)
    .onConflict((conflict) =>
      conflict.columns(["namespace_id", "owner"]).doUpdateSet((row) => ({ owner: row.ref("excluded.owner") })),
    );
}

/** The size of a row of `contents` in bytes; 0 when there is no such row. */
export const storedBytes = sql<number>`coalesce(octet_length(contents.content), 0)`;

/** The content at a path, which may be no file. As JSON, any text comes back from both databases exactly as it was. */
export function selectContent(db: Kysely<Schema>, mine: OwnerColumns, path: readonly string[]) {
  return db
    .selectFrom("files")
    .innerJoin("contents", (join) =>
      join
        .onRef("contents.namespace_id", "=", "files.namespace_id")
        .onRef("contents.owner", "=", "files.owner")
        .onRef("contents.digest", "=", "files.digest"),
    )
    .select("contents.content")
    .where(isAt(mine, path));
}

/** Deletes a content unless a file or a snapshot of the owner still has it. */
function deleteUnusedContent(db: Kysely<Schema>, mine: OwnerColumns, digest: string) {
  const having = { ...mine, digest };
  const inFiles = db
    .selectFrom("files")
    .select("files.id")
    .where((row) => row.and(having));
  const inSnapshots = db
    .selectFrom("captures")
    .select("captures.file")
    .where((row) => row.and(having));
  return db
    .deleteFrom("contents")
    .where((row) => row.and(having))
    .where(({ not, exists }) => not(exists(inFiles)))
    .where(({ not, exists }) => not(exists(inSnapshots)));
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
export function selectRow(db: Kysely<Schema>, mine: OwnerColumns, path: readonly string[]) {
  return db.selectFrom("files").select(fileColumns).where(isAt(mine, path));
}

function isAt(mine: OwnerColumns, path: readonly string[]): RawBuilder<SqlBool> {
  return sql`files.namespace_id = ${mine.namespace_id} and files.owner = ${mine.owner} and files.path_key = ${pathKey(path)}`;
}

/** How many files an owner has. */
export function countFiles(db: Kysely<Schema>, mine: OwnerColumns) {
  return db
    .selectFrom("files")
    .select(({ fn }) => fn.countAll<number>().as("files"))
    .where(isOwnedBy(mine))
    .where("digest", "is not", null);
}

/** What makes the next version of a file, whatever was there before. A content is stored once, however many files have it. */
export function putFile(
  { db, kind }: Pick<Database, "db" | "kind">,
  mine: OwnerColumns,
  path: readonly string[],
  text: string,
  before: FileRow | undefined,
): FileChange<FileStat> {
  const content = JSON.stringify(text);
  const digest = createHash("sha256").update(content).digest("hex");
  const version = (before?.version ?? 0) + 1;
  const size = Buffer.byteLength(text);
  const updatedAt = new Date().toISOString();
  const now = { version, size, digest, updated_at: updatedAt };
  const stored = db
    .insertInto("contents")
    .values({ ...mine, digest, content })
    .onConflict((conflict) => conflict.doNothing());
  const row = before
    ? updateRow(db, mine, before.id, now)
    : db.insertInto("files").values({ ...mine, shelf: ownerKey(mine), ...pathColumns(path), ...now });
  const id = sql<number>`(${db.selectFrom("files").select("id").where(isAt(mine, path))})`;
  const words = { path: tokenize(path.join("/")), content: tokenize(text) };
  const indexed = fullTextOf(kind).index(mine, id, words);
  const replaced = before?.digest && before.digest !== digest ? [deleteUnusedContent(db, mine, before.digest)] : [];
  return { statements: [stored, row, indexed, ...replaced], result: { path, version, size, updatedAt } };
}

/** What leaves a tombstone, and its version. */
export function removeFile(
  { db, kind }: Pick<Database, "db" | "kind">,
  mine: OwnerColumns,
  { id, version, digest }: FileRow,
): FileChange<number> {
  const next = version + 1;
  const row = updateRow(db, mine, id, { version: next, size: 0, digest: null, updated_at: new Date().toISOString() });
  const unused = digest === null ? [] : [deleteUnusedContent(db, mine, digest)];
  return { statements: [row, fullTextOf(kind).forget(id), ...unused], result: next };
}

function updateRow(
  db: Kysely<Schema>,
  mine: OwnerColumns,
  id: number,
  now: Pick<Schema["files"], "version" | "size" | "digest" | "updated_at">,
) {
  return db
    .updateTable("files")
    .set(now)
    .where((row) => row.and({ ...mine, id }));
}
