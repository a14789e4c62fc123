import { sql } from "kysely";
import { yieldToEventLoop } from "./time-slice.ts";
import type { FullText } from "./full-text.ts";
import { isOwnedBy, ownerKey, type OwnerColumns, isWithin } from "./file-columns.ts";
import type { WordQuery } from "./tokenize.ts";

/** How often a word must occur in a content to be written to these columns as well. */
const levels = { often: 3, most: 10 } as const;

/** The points for a word that is found in a column, besides the one point for being found at all. */
const worth = { path: 4, often: 1, most: 1 } as const;

/** How many words of a query count for the score. A file has to have all of them in any case. */
const rankedWords = 8;

/**
 * FTS5. A file's row has the file's id, its owner, the words of its path, and each word of its content once. SQLite's own
 * ranking, `bm25`, is not used: it would let the files of other tenants influence a score.
 */
export const sqliteFullText: FullText = {
  index(mine, id, { path, content }) {
    const counts = new Map<string, number>();
    for (const word of content) counts.set(word, (counts.get(word) ?? 0) + 1);
    const atLeast = (times: number): string =>
      [...counts].flatMap(([word, count]) => (count >= times ? [word] : [])).join(" ");
    return sql`insert or replace into words (rowid, scope, path, content, often, most)
      values (${id}, ${scopeOf(mine)}, ${path.join(" ")}, ${atLeast(1)}, ${atLeast(levels.often)},
        ${atLeast(levels.most)})`;
  },
  forget: (id) => sql`delete from words where rowid = ${id}`,
  async match(db, mine, folder, query, signal) {
    const scope = quoted(scopeOf(mine));
    const terms = termsOf(query);
    // A cross join, so that SQLite looks the words up once and not for every file.
    const files = await sql<{ id: number; path: string; size: number }>`
      select files.id, files.path, files.size from words cross join files on files.id = words.rowid
      where words match ${[scope, ...terms].join(" AND ")}
        and ${isOwnedBy(mine)} and ${isWithin(folder)}`.execute(db);
    const points = new Map(files.rows.map(({ id }) => [id, terms.length]));
    for (const term of terms.slice(-rankedWords)) {
      for (const [column, value] of Object.entries(worth)) {
        await yieldToEventLoop(signal);
        const found = await sql<{ id: number }>`
          select rowid as id from words where words match ${`${scope} AND {${column}} : ${term}`}`.execute(db);
        for (const { id } of found.rows) points.set(id, (points.get(id) ?? 0) + value);
      }
    }
    return files.rows.map(({ id, path, size }) => ({ path, score: (points.get(id) ?? 0) / (1 + Math.log1p(size)) }));
  },
};

/** The owner as a term of the index. No word of a text begins with §, so a query can never name an owner. */
function scopeOf(mine: OwnerColumns): string {
  return `§${ownerKey(mine)}`;
}

/** Words are only letters and digits, so between quotes they have no other meaning. */
function termsOf({ words, prefix }: WordQuery): string[] {
  return [...words.map(quoted), `${quoted(prefix)} *`];
}

function quoted(word: string): string {
  return `"${word}"`;
}
