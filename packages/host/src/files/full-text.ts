import type { Kysely, RawBuilder } from "kysely";
import type { Schema } from "../storage/index.ts";
import type { OwnerColumns } from "./file-columns.ts";
import type { WordQuery } from "./tokenize.ts";

/** The words that a file is found by. Words of its path count for more. */
export interface SearchableFile {
  path: readonly string[];
  content: readonly string[];
}

/** A file that matches. Its score depends on this file alone, so it reveals nothing about any other file. */
export interface WordMatch {
  path: string;
  score: number;
}

/** The full-text index of a database. */
export interface FullText {
  /** The statement that indexes the words of a file in place of those that it had before. */
  index(mine: OwnerColumns, id: RawBuilder<number>, file: SearchableFile): RawBuilder<unknown>;
  /** The statement that removes a file from the index. */
  forget(id: number): RawBuilder<unknown>;
  /** The files of an owner at and below a folder that match the query, in no order. */
  match(
    db: Kysely<Schema>,
    mine: OwnerColumns,
    folder: readonly string[],
    query: WordQuery,
    signal: AbortSignal,
  ): Promise<WordMatch[]>;
}
