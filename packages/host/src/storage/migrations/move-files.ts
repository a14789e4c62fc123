import { createHash } from "node:crypto";
import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0003-file-history, frozen: it writes the columns and the index of words as that schema had them,
// whatever the files room does today. It is a copy on purpose and imports nothing.

/** A file as it was kept before it had a history. */
interface OldFile {
  namespace_id: string;
  owner: string;
  path: string;
  version: number;
  content: string;
  updated_at: string;
}

/** A file to be found by the words of its path and of its content. */
interface SearchableFile {
  id: number;
  ownerKey: string;
  path: readonly string[];
  content: readonly string[];
}

type IndexFile = (db: QueryExecutorProvider, file: SearchableFile) => Promise<void>;

/** Moves every file out of `old_files`, a hundred at a time. */
export function moveFiles(index: IndexFile): DataMove {
  return async (db) => {
    for (;;) {
      const old = await sql<OldFile>`select * from old_files limit 100`.execute(db);
      if (old.rows.length === 0) return;
      for (const file of old.rows) await moveFile(db, file, index);
    }
  };
}

async function moveFile(db: QueryExecutorProvider, file: OldFile, index: IndexFile): Promise<void> {
  const { namespace_id, owner, path, version, updated_at } = file;
  const text = JSON.parse(file.content) as string;
  const content = JSON.stringify(text);
  const digest = sha256(content);
  const searched = normalizePath(path);
  const ownerKey = sha256(JSON.stringify([namespace_id, owner])).slice(0, 32);
  await sql`insert into contents (namespace_id, owner, digest, content)
    values (${namespace_id}, ${owner}, ${digest}, ${content}) on conflict do nothing`.execute(db);
  const moved = await sql<{ id: number }>`
    insert into files (namespace_id, owner, shelf, path, path_key, path_start, version, size, digest, updated_at)
    values (${namespace_id}, ${owner}, ${ownerKey}, ${path}, ${sha256(searched)}, ${startOf(searched)},
      ${version}, ${Buffer.byteLength(text)}, ${digest}, ${updated_at}) returning id`.execute(db);
  for (const { id } of moved.rows) {
    await index(db, { id, ownerKey, path: tokenize(path), content: tokenize(text) });
  }
  await sql`delete from old_files where namespace_id = ${namespace_id} and owner = ${owner} and path = ${path}`.execute(
    db,
  );
}

/** Each word of the content once, and again in `often` and `most` when it stands there at least 3 or 10 times. */
export const indexOnSqlite: IndexFile = async (db, { id, ownerKey, path, content }) => {
  const counts = new Map<string, number>();
  for (const word of content) counts.set(word, (counts.get(word) ?? 0) + 1);
  const atLeast = (times: number): string =>
    [...counts].flatMap(([word, count]) => (count >= times ? [word] : [])).join(" ");
  await sql`insert into words (rowid, scope, path, content, often, most)
    values (${id}, ${`§${ownerKey}`}, ${path.join(" ")}, ${atLeast(1)}, ${atLeast(3)}, ${atLeast(10)})`.execute(db);
};

/** Each word with its first 255 positions; those of the path have the weight A. */
export const indexOnPostgres: IndexFile = async (db, { id, path, content }) => {
  const positions = new Map<string, string[]>();
  [...path, ...content].forEach((word, place) => {
    const known = positions.get(word) ?? [];
    if (known.length < 255) known.push(`${Math.min(place + 1, 16_383)}${place < path.length ? "A" : ""}`);
    positions.set(word, known);
  });
  const vector = [...positions].map(([word, places]) => `'${word}':${places.join(",")}`).join(" ");
  await sql`insert into words (id, lexemes) values (${id}, ${vector}::tsvector)`.execute(db);
};

function tokenize(text: string): string[] {
  const plain = text.slice(0, 100_000).normalize("NFKC").toLowerCase();
  return plain.slice(0, 100_000).match(/[\p{L}\p{N}\p{M}]{1,100}/gu) ?? [];
}

/** Half of a surrogate pair, which PostgreSQL cannot store, is written with a backslash. */
function normalizePath(path: string): string {
  return path
    .replaceAll(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\p{Cs}/gu, (half) => String.raw`\u${half.charCodeAt(0).toString(16)}`);
}

/** The first 400 characters, none of them cut in two. */
function startOf(path: string): string {
  return Array.from(path.slice(0, 800)).slice(0, 400).join("");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
