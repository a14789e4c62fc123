import type { Database } from "../storage/index.ts";
import type { FullText } from "./full-text.ts";
import { postgresFullText } from "./postgres-full-text.ts";
import { sqliteFullText } from "./sqlite-full-text.ts";

const byKind: Record<Database["kind"], FullText> = { sqlite: sqliteFullText, postgres: postgresFullText };

/** The index of words that a kind of database has. */
export function fullTextOf(kind: Database["kind"]): FullText {
  return byKind[kind];
}
