import { sql, type RawBuilder, type SqlBool } from "kysely";
import { sha256 } from "turnpike/contracts";

/** How much of a path is in an index: a whole one can be more than PostgreSQL takes. */
const startLength = 400;

/** A path as its columns keep it. */
export interface PathColumns {
  path: string;
  /** What a file is looked up by. */
  path_key: string;
  /** What files are put in order by, and then by their whole paths. */
  path_start: string;
}

export function pathColumns(path: readonly string[]): PathColumns {
  const text = pathText(path);
  return { path: text, path_key: sha256(text), path_start: startOf(text) };
}

/**
 * A path as a column keeps it. Half of a surrogate pair, which PostgreSQL cannot store, is written with a backslash: no
 * segment has one of its own.
 */
export function pathText(path: readonly string[]): string {
  return path.join("/").replaceAll(/\p{Cs}/gu, (half) => String.raw`\u${half.charCodeAt(0).toString(16)}`);
}

/** The path that a column holds. */
export function pathSegments(text: string): string[] {
  const path = text.replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return path === "" ? [] : path.split("/");
}

/** Whether the path of a row of `files` is the folder or below it. */
export function isWithin(folder: readonly string[]): RawBuilder<SqlBool> {
  if (folder.length === 0) return sql`true`;
  const text = pathText(folder);
  // A slash is the character before a zero.
  return sql`(files.path = ${text} or (files.path > ${`${text}/`} and files.path < ${`${text}0`}))
    and ${isFrom(text)} and files.path_start <= ${startOf(`${text}0`)}`;
}

/** Whether the path of a row of `files` is a text or comes behind it, in the order of their bytes. */
export function isFrom(text: string): RawBuilder<SqlBool> {
  return sql`(files.path_start >= ${startOf(text)} and files.path >= ${text})`;
}

/** The first characters of a text, none of them cut in two. */
function startOf(text: string): string {
  return Array.from(text.slice(0, 2 * startLength))
    .slice(0, startLength)
    .join("");
}
