import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";

/**
 * SQL: up to `most` matching rows of a table, for a statement that must not block others for long. Rows that another
 * transaction is changing are skipped.
 */
export function limitRows(
  { kind }: Pick<Database, "kind">,
  table: keyof Schema,
  fits: RawBuilder<SqlBool>,
  most: number,
): RawBuilder<SqlBool> {
  const name = sql.table(table);
  // An array is evaluated once. A plan may evaluate a subquery again, and then find other rows.
  return kind === "postgres"
    ? sql`ctid = any(array(select ctid from ${name} where ${fits} limit ${most} for update skip locked))`
    : sql`rowid in (select rowid from ${name} where ${fits} limit ${most})`;
}
