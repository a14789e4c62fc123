import { createHash } from "node:crypto";
import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0010-read-indexes, frozen: it is a copy on purpose and imports nothing from the rooms.

const rowsAtOnce = 200;

interface OldGrant {
  namespace_id: string;
  id: string;
  content: string;
}

/** Writes the parent of every derived grant, which was in its content alone, into its column; some grants at a time. */
export const fillParents: DataMove = async (db) => {
  let last: OldGrant | undefined = { namespace_id: "", id: "", content: "" };
  while (last !== undefined) {
    const page: readonly OldGrant[] = await readBehind(db, last);
    await fill(db, page);
    last = page.length < rowsAtOnce ? undefined : page.at(-1);
  }
};

async function readBehind(db: QueryExecutorProvider, { namespace_id, id }: OldGrant): Promise<readonly OldGrant[]> {
  const { rows } = await sql<OldGrant>`select namespace_id, id, content from grants
    where (namespace_id, id) > (${namespace_id}, ${id}) and content like '%"parentId":%'
    order by namespace_id, id limit ${sql.lit(rowsAtOnce)}`.execute(db);
  return rows;
}

async function fill(db: QueryExecutorProvider, grants: readonly OldGrant[]): Promise<void> {
  const parents = grants.flatMap(({ namespace_id, id, content }) => {
    const { parentId } = JSON.parse(content) as { parentId?: string };
    return parentId === undefined ? [] : [sql`(${namespace_id}, ${id}, ${columnText(parentId)})`];
  });
  if (parents.length === 0) return;
  await sql`update grants set parent_id = parents.column3 from (values ${sql.join(parents)}) as parents
    where grants.namespace_id = parents.column1 and grants.id = parents.column2`.execute(db);
}

/** A text that PostgreSQL cannot store is stored as its hash. */
function columnText(text: string): string {
  const isStorable = !text.includes("\0") && !/\p{Cs}/u.test(text);
  return isStorable ? text : `sha256:${createHash("sha256").update(JSON.stringify(text)).digest("hex")}`;
}
