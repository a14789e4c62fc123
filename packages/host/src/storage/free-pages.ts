import { sql } from "kysely";
import type { Database } from "./database.ts";

/** The part of a file that may be free: what is written next goes there. */
const spare = 1 / 10;

/**
 * Gives pages of an SQLite file that are free back to the disk, at most so many; returns how many. A PostgreSQL does that by
 * itself, and a file from before this was possible never does.
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
