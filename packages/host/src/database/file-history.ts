import { sql, type Kysely, type Migration } from "kysely";
import { keptContent } from "../files/contents.ts";
import { shelfOf } from "../files/file-owner.ts";
import { fullTextOf } from "../files/full-text-of.ts";
import { pathColumns, pathSegments } from "../files/path-text.ts";
import { wordsOf } from "../files/words.ts";
import type { Database } from "./database.ts";

/** What the tables of files are made of on each database. */
const byKind: Record<Database["kind"], { byteOrder: string; words: readonly string[] }> = {
  sqlite: {
    byteOrder: "",
    words: [
      `create virtual table words using fts5 (scope, path, content, often, most, tokenize = 'ascii', detail = column,
         content = '', contentless_delete = 1)`,
    ],
  },
  postgres: {
    byteOrder: 'collate "C"',
    words: [
      "create table words (id integer primary key, lexemes tsvector not null)",
      "create index words_by_lexeme on words using gin (lexemes)",
    ],
  },
};

/** A file as it was kept before it had a history. */
interface OldFile {
  namespace_id: string;
  owner: string;
  path: string;
  version: number;
  content: string;
  updated_at: string;
}

/** Gives files tombstones, snapshots and an index of their words, and moves the files there are. */
export function fileHistory({ kind, countingKey }: { kind: Database["kind"]; countingKey: string }): Migration {
  const { byteOrder, words } = byKind[kind];
  const statements = [
    "alter table files rename to old_files",
    `create table files (id ${countingKey}, namespace_id text not null, owner text not null, shelf text not null,
       path text ${byteOrder} not null, path_key text not null, path_start text ${byteOrder} not null,
       version integer not null, size integer not null, digest text, updated_at text not null,
       unique (path_key, namespace_id, owner))`,
    "create index files_by_path on files (shelf, path_start, digest)",
    "create index files_by_digest on files (digest, namespace_id, owner)",
    `create table contents (namespace_id text not null, owner text not null, digest text not null,
       content text not null, primary key (digest, namespace_id, owner))`,
    "create table owners (namespace_id text not null, owner text not null, primary key (namespace_id, owner))",
    `create table snapshots (namespace_id text not null, owner text not null, sequence integer not null,
       id text not null, path text not null, label text, created_at text not null,
       primary key (namespace_id, owner, sequence))`,
    `create table captures (namespace_id text not null, owner text not null, snapshot text not null,
       file integer not null, digest text, primary key (snapshot, file))`,
    "create index captures_by_digest on captures (digest, namespace_id, owner)",
    ...words,
  ];
  const move = async (db: Kysely<never>): Promise<void> => {
    for (const statement of statements) await sql.raw(statement).execute(db);
    for (;;) {
      const old = await sql<OldFile>`select * from old_files limit 100`.execute(db);
      if (old.rows.length === 0) break;
      for (const file of old.rows) await moveFile(db, kind, file);
    }
    await sql`drop table old_files`.execute(db);
  };
  return {
    async up(db: Kysely<never>) {
      if (db.isTransaction) return move(db);
      // A process that died after this migration, before that was written down, comes here again.
      const tables = await db.introspection.getTables();
      if (!tables.some(({ name }) => name === "contents")) await db.transaction().execute(move);
    },
  };
}

async function moveFile(db: Kysely<never>, kind: Database["kind"], file: OldFile): Promise<void> {
  const { namespace_id, owner, path, version, updated_at } = file;
  const text = JSON.parse(file.content) as string;
  const size = Buffer.byteLength(text);
  const { digest, content } = keptContent(text);
  const { path_key, path_start } = pathColumns(pathSegments(path));
  await sql`insert into contents (namespace_id, owner, digest, content)
    values (${namespace_id}, ${owner}, ${digest}, ${content}) on conflict do nothing`.execute(db);
  const moved = await sql<{ id: number }>`
    insert into files (namespace_id, owner, shelf, path, path_key, path_start, version, size, digest, updated_at)
    values (${namespace_id}, ${owner}, ${shelfOf(file)}, ${path}, ${path_key}, ${path_start}, ${version}, ${size},
      ${digest}, ${updated_at}) returning id`.execute(db);
  for (const { id } of moved.rows) {
    const searchable = { id, path: wordsOf(path), content: wordsOf(text) };
    await fullTextOf(kind).index(db, { namespace_id, owner }, searchable);
  }
  await sql`delete from old_files where namespace_id = ${namespace_id} and owner = ${owner} and path = ${path}`.execute(
    db,
  );
}
