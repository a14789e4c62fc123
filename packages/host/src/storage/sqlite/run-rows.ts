import { NothingChangedError, type SqlValue, type Step, type StepResult } from "../steps.ts";
import type { SqliteStatement } from "./sqlite-file.ts";

/** Runs the statement of a step once for each of its rows. */
export function runRows(statement: SqliteStatement, { rows, mustChange = false }: Omit<Step, "sql">): StepResult {
  const result: StepResult = { rows: [], changes: [] };
  for (const parameters of rows) {
    if (statement.reader) {
      for (const row of statement.all(parameters)) result.rows.push(row as Record<string, SqlValue>);
      result.changes.push(0);
    } else {
      const { changes } = statement.run(parameters);
      if (mustChange && changes === 0) throw new NothingChangedError("Nothing was there to change.");
      result.changes.push(changes);
    }
  }
  return result;
}
