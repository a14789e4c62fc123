import { sql } from "kysely";
import type { Database } from "./database.ts";

/** The part of a file that may remain free, for the next writes. */
const spare = 1 / 10;

/**
 * Returns up to `most` free pages of an SQLite file to the disk, and says how many. PostgreSQL does that by itself. A file that
 * was made without incremental vacuum cannot.
 */
export async function freePages({ db, kind }: Pick<Database, "db" | "kind">, most: number): Promise<number> {
  if (kind === "postgres") return 0;
  const pages = sql<{ freelist_count: number; page_count: number; auto_vacuum: number }>`
    select freelist_count, page_count, auto_vacuum from pragma_freelist_count, pragma_page_count, pragma_auto_vacuum`;
  const [found] = (await pages.execute(db)).rows;
  if (found === undefined || found.auto_vacuum === 0) return 0;
  const count = Math.min(most, Math.floor(found.freelist_count - found.page_count * spare));
  if (count <= 0) return 0;
  await sql.raw(`pragma incremental_vacuum(${count})`).execute(db);
  return count;
}
