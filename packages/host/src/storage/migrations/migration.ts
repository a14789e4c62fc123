import type { QueryExecutorProvider } from "kysely";

/**
 * One step from a schema to the next. A migration that was released is never changed: it imports nothing from the rooms
 * of the host, whose code goes on, and its text is pinned by a test.
 */
export interface Migration {
  /** How the database records it; migrations run in the order of their list. It begins with the number, the epoch of its version. */
  name: string;
  /**
   * Whether hosts of the version before it may serve beside those that have it: they neither misread nor destroy what it adds, nor let
   * through what it makes the host refuse. Otherwise they are waited for before it runs.
   */
  allowsPrevious: boolean;
  /** SQL or, where SQL cannot move the data, code that can. */
  statements: readonly (string | DataMove)[];
  /** A query that finds a row when the migration was applied, although that was not recorded. */
  appliedWhen?: string;
}

/** Moves data within the transaction of a migration. */
export type DataMove = (db: QueryExecutorProvider) => Promise<void>;
