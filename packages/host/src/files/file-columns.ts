import { sql, type RawBuilder, type SqlBool } from "kysely";
import { principalKey, type PrincipalRef } from "turnpike/contracts";
import { columnText, sha256 } from "../shared/index.ts";

/** The owner of files: a principal in a tenant. */
export interface FileOwner {
  namespaceId: string;
  owner: PrincipalRef;
}

/** The columns that bind a query to one owner in one tenant. */
export interface OwnerColumns {
  namespace_id: string;
  owner: string;
}

export function ownerColumns({ namespaceId, owner }: FileOwner): OwnerColumns {
  return { namespace_id: columnText(namespaceId), owner: columnText(principalKey(owner)) };
}

/** One short key for an owner in a tenant. It leaves room for paths in an index. The column is called `shelf`. */
export function ownerKey({ namespace_id, owner }: OwnerColumns): string {
  return sha256(JSON.stringify([namespace_id, owner])).slice(0, 32);
}

/** SQL: whether a row of `files` belongs to the owner. */
export function isOwnedBy(mine: OwnerColumns): RawBuilder<SqlBool> {
  return sql`files.shelf = ${ownerKey(mine)} and files.namespace_id = ${mine.namespace_id} and files.owner = ${mine.owner}`;
}

/** How many characters of a path are indexed. A whole path can be more than an index of PostgreSQL takes. */
const startLength = 400;

/** The columns that store a path. */
export interface PathColumns {
  path: string;
  /** A file is looked up by this hash. */
  path_key: string;
  /** Files are ordered by this, and then by their whole paths. */
  path_start: string;
}

export function pathColumns(path: readonly string[]): PathColumns {
  const text = pathText(path);
  return { path: text, path_key: sha256(text), path_start: startOf(text) };
}

/** What a file is looked up by. */
export function pathKey(path: readonly string[]): string {
  return sha256(pathText(path));
}

/**
 * A path as the text of a column. Half of a surrogate pair, which PostgreSQL cannot store, is escaped with a backslash.
 * Segments never contain a backslash themselves.
 */
export function pathText(path: readonly string[]): string {
  return path.join("/").replaceAll(/\p{Cs}/gu, (half) => String.raw`\u${half.charCodeAt(0).toString(16)}`);
}

/** The path that the text of a column encodes. */
export function pathSegments(text: string): string[] {
  const path = text.replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return path === "" ? [] : path.split("/");
}

/** SQL: whether the path of a row of `files` is the folder or is below it. */
export function isWithin(folder: readonly string[]): RawBuilder<SqlBool> {
  if (folder.length === 0) return sql`true`;
  const text = pathText(folder);
  // In the order of characters, a zero comes right after a slash.
  return sql`(files.path = ${text} or (files.path > ${`${text}/`} and files.path < ${`${text}0`}))
    and ${isAtOrAfter(text)} and files.path_start <= ${startOf(`${text}0`)}`;
}

/** SQL: whether the path of a row of `files` is this text or comes after it, in the order of their bytes. */
export function isAtOrAfter(text: string): RawBuilder<SqlBool> {
  return sql`(files.path_start >= ${startOf(text)} and files.path >= ${text})`;
}

/** The first characters of a text. No surrogate pair is split. */
function startOf(text: string): string {
  return Array.from(text.slice(0, 2 * startLength))
    .slice(0, startLength)
    .join("");
}
