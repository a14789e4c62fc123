import { sql } from "kysely";
import { isOwn } from "./file-owner.ts";
import type { FullText, SearchableFile, WordMatch } from "./full-text.ts";
import { isWithin } from "./file-columns.ts";
import type { WordQuery } from "./tokenize.ts";

/** What PostgreSQL keeps of a word's positions in one text. */
const maxPosition = 16_383;
const maxPositions = 255;

/** A `tsvector`, made of our words and not by the server's own parser: it has the same words as on SQLite. */
export const postgresFullText: FullText = {
  async index(db, _mine, file) {
    await sql`insert into words (id, lexemes) values (${file.id}, ${vectorOf(file)}::tsvector)
      on conflict (id) do update set lexemes = excluded.lexemes`.execute(db);
  },
  async forget(db, id) {
    await sql`delete from words where id = ${id}`.execute(db);
  },
  async match(db, mine, folder, query) {
    const asked = sql`${queryOf(query)}::tsquery`;
    // Divided by the logarithm of the file's length, and by nothing that other files have.
    const found = await sql<WordMatch>`
      select files.path, ts_rank(words.lexemes, ${asked}, 1) as score
      from words join files on files.id = words.id
      where words.lexemes @@ ${asked}
        and ${isOwn(mine)} and ${isWithin(folder)}`.execute(db);
    return found.rows;
  },
};

/** Words are letters and digits alone: between quotes they are nothing but themselves. */
function vectorOf({ path, content }: SearchableFile): string {
  const positions = new Map<string, string[]>();
  [...path, ...content].forEach((word, place) => {
    const known = positions.get(word) ?? [];
    const weight = place < path.length ? "A" : "";
    if (known.length < maxPositions) known.push(`${Math.min(place + 1, maxPosition)}${weight}`);
    positions.set(word, known);
  });
  return [...positions].map(([word, places]) => `'${word}':${places.join(",")}`).join(" ");
}

function queryOf({ words, prefix }: WordQuery): string {
  return [...words.map((word) => `'${word}'`), `'${prefix}':*`].join(" & ");
}
