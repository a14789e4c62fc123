import type { CompiledQuery } from "kysely";

/** A value that a statement takes or gives. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One statement, run once for each row of parameters. */
export interface Step {
  sql: string;
  rows: readonly (readonly unknown[])[];
  /** SQLite only: each run has to change something. When one does not, it fails with a `NothingChangedError`. */
  mustChange?: boolean;
}

/** The step that runs a query once. */
export function stepOf({ sql, parameters }: CompiledQuery): Step {
  return { sql, rows: [parameters] };
}

/** The result of a step. */
export interface StepResult {
  /** The rows of all runs of the statement. */
  rows: Record<string, SqlValue>[];
  /** How many rows each run changed. */
  changes: number[];
}

/** Runs steps in order within a transaction; the last ones of a transaction commit it too. */
export type RunSteps = (steps: readonly Step[], end?: "commit") => Promise<StepResult[]>;

/** A statement that had to change something changed nothing. */
export class NothingChangedError extends Error {
  override readonly name: string = "NothingChangedError";
}

/** It is unknown whether a transaction was committed, because the answer to the commit did not come. */
export class UnansweredCommitError extends Error {
  override readonly name: string = "UnansweredCommitError";

  constructor(cause: unknown) {
    super("The database did not answer whether it has committed.", { cause });
  }
}
