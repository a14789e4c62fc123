import { sql } from "kysely";
import { isOwnedBy, isWithin } from "./file-columns.ts";
import type { FullText, SearchableFile, WordMatch } from "./full-text.ts";
import type { WordQuery } from "./tokenize.ts";

/** The limits of PostgreSQL for a word's positions in one text. */
const maxPosition = 16_383;
const maxPositions = 255;

/** A `tsvector` made from our own words, not by the server's parser, so that it has the same words as on SQLite. */
export const postgresFullText: FullText = {
  index: (_mine, id, file) =>
    sql`insert into words (id, lexemes) values (${id}, ${vectorOf(file)}::tsvector)
      on conflict (id) do update set lexemes = excluded.lexemes`,
  forget: (id) => sql`delete from words where id = ${id}`,
  async match(db, mine, folder, query) {
    const search = sql`${queryOf(query)}::tsquery`;
    // The option 1 divides by the logarithm of the file's length. Nothing of other files counts.
    const found = await sql<WordMatch>`
      select files.path, ts_rank(words.lexemes, ${search}, 1) as score
      from words join files on files.id = words.id
      where words.lexemes @@ ${search}
        and ${isOwnedBy(mine)} and ${isWithin(folder)}`.execute(db);
    return found.rows;
  },
};

/** Words are only letters and digits, so between quotes they have no other meaning. */
function vectorOf({ path, content }: SearchableFile): string {
  const positions = new Map<string, string[]>();
  [...path, ...content].forEach((word, index) => {
    const known = positions.get(word) ?? [];
    const weight = index < path.length ? "A" : "";
    if (known.length < maxPositions) known.push(`${Math.min(index + 1, maxPosition)}${weight}`);
    positions.set(word, known);
  });
  return [...positions].map(([word, places]) => `'${word}':${places.join(",")}`).join(" ");
}

function queryOf({ words, prefix }: WordQuery): string {
  return [...words.map((word) => `'${word}'`), `'${prefix}':*`].join(" & ");
}
