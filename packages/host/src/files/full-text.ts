import type { Kysely } from "kysely";
import type { Schema } from "../storage/index.ts";
import type { OwnerColumns } from "./file-owner.ts";
import type { WordQuery } from "./tokenize.ts";

/** The words that a file is found by, those of its path counting for more. */
export interface SearchableFile {
  id: number;
  path: readonly string[];
  content: readonly string[];
}

/** A file that has the words. The score follows from the file alone, so it tells nothing about any other. */
export interface WordMatch {
  path: string;
  score: number;
}

/** A database's index of words. */
export interface FullText {
  /** Makes a file found by its words, and by none that it had before. */
  index(db: Kysely<Schema>, mine: OwnerColumns, file: SearchableFile): Promise<void>;
  forget(db: Kysely<Schema>, id: number): Promise<void>;
  /** The files of an owner at and below a folder that have all the words, in no order. */
  match(
    db: Kysely<Schema>,
    mine: OwnerColumns,
    folder: readonly string[],
    query: WordQuery,
    signal: AbortSignal,
  ): Promise<WordMatch[]>;
}
