import { sql, type Kysely, type RawBuilder, type SqlBool } from "kysely";
import type { Schema } from "./schema.ts";

/** A column of names, and which of its rows count. */
interface NameColumn {
  table: keyof Schema;
  column: string;
  where?: RawBuilder<SqlBool>;
}

/**
 * The distinct names in some columns, in their order, behind another name. Every step jumps to the next name of each column by
 * an index that begins with it, so rows with the same name are skipped.
 */
export async function distinctNames(
  db: Kysely<Schema>,
  columns: readonly NameColumn[],
  { after = "", most }: { after?: string | undefined; most: number },
): Promise<string[]> {
  const nextOf = (name: RawBuilder<string>): RawBuilder<string> => {
    const each = columns.map(
      ({ table, column, where = sql`true` }) =>
        sql`select (select min(${sql.ref(column)}) from ${sql.table(table)}
          where ${where} and ${sql.ref(column)} > ${name}) as name`,
    );
    return sql`(select min(name) from (${sql.join(each, sql` union all `)}) as next_names)`;
  };
  const { rows } = await sql<{ name: string }>`
    with recursive names (name, place) as (
      select ${nextOf(sql`cast(${after} as text)`)}, 1
      union all
      select ${nextOf(sql`names.name`)}, place + 1 from names where names.name is not null and place < ${most}
    )
    select name from names where name is not null`.execute(db);
  return rows.map(({ name }) => name);
}
