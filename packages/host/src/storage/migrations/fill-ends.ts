import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0020-grant-ends, frozen: it is a copy on purpose and imports nothing from the rooms.

const rowsAtOnce = 200;

interface OldGrant {
  namespace_id: string;
  id: string;
  content: string;
}

/** Writes when each grant ends, which was in its content alone, into a column; some grants at a time. */
export const fillEnds: DataMove = async (db) => {
  let last: OldGrant | undefined = { namespace_id: "", id: "", content: "" };
  while (last !== undefined) {
    const page: readonly OldGrant[] = await readBehind(db, last);
    await fill(db, page);
    last = page.length < rowsAtOnce ? undefined : page.at(-1);
  }
};

async function readBehind(db: QueryExecutorProvider, { namespace_id, id }: OldGrant): Promise<readonly OldGrant[]> {
  const { rows } = await sql<OldGrant>`select namespace_id, id, content from grants
    where (namespace_id, id) > (${namespace_id}, ${id})
      and (content like '%"expiresAt":%' or content like '%"revokedAt":%')
    order by namespace_id, id limit ${sql.lit(rowsAtOnce)}`.execute(db);
  return rows;
}

async function fill(db: QueryExecutorProvider, grants: readonly OldGrant[]): Promise<void> {
  const ends = grants.flatMap(({ namespace_id, id, content }) => {
    const end = endOf(content);
    return end === undefined ? [] : [sql`(${namespace_id}, ${id}, ${end})`];
  });
  if (ends.length === 0) return;
  await sql`update grants set ends_at = ends.column3 from (values ${sql.join(ends)}) as ends
    where grants.namespace_id = ends.column1 and grants.id = ends.column2`.execute(db);
}

/** When a grant expires or is revoked, whichever is first; undefined when it is not before the year 10000. */
function endOf(content: string): string | undefined {
  const { constraints = {}, revokedAt } = JSON.parse(content) as {
    constraints?: { expiresAt?: string };
    revokedAt?: string;
  };
  const times = [constraints.expiresAt, revokedAt].map((time) => (time === undefined ? NaN : Date.parse(time)));
  const end = Math.min(...times.filter((time) => !Number.isNaN(time)));
  return end < Date.UTC(10_000, 0) ? new Date(end).toISOString() : undefined;
}
