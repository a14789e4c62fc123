import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";

/**
 * SQL: at most so many rows of a table that fit, for a statement that must not hold the database up. Rows that somebody
 * else is changing are left for the next time.
 */
export function fewRows(
  { kind }: Pick<Database, "kind">,
  table: keyof Schema,
  fits: RawBuilder<SqlBool>,
  most: number,
): RawBuilder<SqlBool> {
  const name = sql.table(table);
  // As an array the rows are chosen once; a plan may look at a subquery again, and then at other rows.
  return kind === "postgres"
    ? sql`ctid = any(array(select ctid from ${name} where ${fits} limit ${most} for update skip locked))`
    : sql`rowid in (select rowid from ${name} where ${fits} limit ${most})`;
}
