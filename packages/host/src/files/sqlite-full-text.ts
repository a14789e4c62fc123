import { sql } from "kysely";
import { breathe } from "./breathe.ts";
import type { FullText } from "./full-text.ts";
import { isOwn, shelfOf, type OwnerColumns } from "./file-owner.ts";
import { isWithin } from "./file-columns.ts";
import type { WordQuery } from "./tokenize.ts";

/** How often a word stands in a content whose words are kept in these columns too. */
const levels = { often: 3, most: 10 } as const;

/** What a word is worth that is found in a column, besides the one point for being found at all. */
const worth = { path: 4, often: 1, most: 1 } as const;

/** How many words of a query make a difference for the order; all of them have to be there. */
const rankedWords = 8;

/**
 * FTS5. A file's row has the file's id, whose it is, the words of its path, and each word of its content once. What
 * `bm25` would know of all tenants' files stays out of the scores.
 */
export const sqliteFullText: FullText = {
  async index(db, mine, { id, path, content }) {
    const counts = new Map<string, number>();
    for (const word of content) counts.set(word, (counts.get(word) ?? 0) + 1);
    const atLeast = (times: number): string =>
      [...counts].flatMap(([word, count]) => (count >= times ? [word] : [])).join(" ");
    await sql`insert or replace into words (rowid, scope, path, content, often, most)
      values (${id}, ${scopeOf(mine)}, ${path.join(" ")}, ${atLeast(1)}, ${atLeast(levels.often)},
        ${atLeast(levels.most)})`.execute(db);
  },
  async forget(db, id) {
    await sql`delete from words where rowid = ${id}`.execute(db);
  },
  async match(db, mine, folder, query, signal) {
    const scope = quoted(scopeOf(mine));
    const terms = termsOf(query);
    // Crossed, so that the words are looked up once and not for every file.
    const files = await sql<{ id: number; path: string; size: number }>`
      select files.id, files.path, files.size from words cross join files on files.id = words.rowid
      where words match ${[scope, ...terms].join(" AND ")}
        and ${isOwn(mine)} and ${isWithin(folder)}`.execute(db);
    const points = new Map(files.rows.map(({ id }) => [id, terms.length]));
    for (const term of terms.slice(-rankedWords)) {
      for (const [column, value] of Object.entries(worth)) {
        await breathe(signal);
        const found = await sql<{ id: number }>`
          select rowid as id from words where words match ${`${scope} AND {${column}} : ${term}`}`.execute(db);
        for (const { id } of found.rows) points.set(id, (points.get(id) ?? 0) + value);
      }
    }
    return files.rows.map(({ id, path, size }) => ({ path, score: (points.get(id) ?? 0) / (1 + Math.log1p(size)) }));
  },
};

/** No word begins like this: whose a file is can be asked for together with its words, and never by them. */
function scopeOf(mine: OwnerColumns): string {
  return `§${shelfOf(mine)}`;
}

/** Words are letters and digits alone: between quotes they are nothing but themselves. */
function termsOf({ words, prefix }: WordQuery): string[] {
  return [...words.map(quoted), `${quoted(prefix)} *`];
}

function quoted(word: string): string {
  return `"${word}"`;
}
