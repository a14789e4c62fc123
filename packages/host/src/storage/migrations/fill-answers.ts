import { createHash } from "node:crypto";
import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0023-answers, frozen: it is a copy on purpose and imports nothing from the rooms.

const rowsAtOnce = 200;

interface OldEscalation {
  namespace_id: string;
  id: string;
  status: string;
  content: string;
}

/**
 * Writes which credential approved each escalation, and which grant carries each act that waits, which were in its content
 * alone; some escalations at a time.
 */
export const fillAnswers: DataMove = async (db) => {
  let last: OldEscalation | undefined = { namespace_id: "", id: "", status: "", content: "" };
  while (last !== undefined) {
    const page: readonly OldEscalation[] = await readBehind(db, last);
    await fillCredentials(db, page);
    await fillGrants(db, page);
    last = page.length < rowsAtOnce ? undefined : page.at(-1);
  }
};

async function readBehind(
  db: QueryExecutorProvider,
  { namespace_id, id }: OldEscalation,
): Promise<readonly OldEscalation[]> {
  const { rows } = await sql<OldEscalation>`select namespace_id, id, status, content from escalations
    where (namespace_id, id) > (${namespace_id}, ${id}) and status in ('approved', 'pending')
    order by namespace_id, id limit ${sql.lit(rowsAtOnce)}`.execute(db);
  return rows;
}

async function fillCredentials(db: QueryExecutorProvider, escalations: readonly OldEscalation[]): Promise<void> {
  const answers = escalations.flatMap(({ namespace_id, id, content }) => {
    const { decidedBy } = JSON.parse(content) as { decidedBy?: string };
    return decidedBy === undefined ? [] : [sql`(${columnText(decidedBy)}, ${namespace_id}, ${id})`];
  });
  if (answers.length === 0) return;
  await sql`insert into escalation_answers (credential_id, namespace_id, escalation_id)
    values ${sql.join(answers)}`.execute(db);
}

async function fillGrants(db: QueryExecutorProvider, escalations: readonly OldEscalation[]): Promise<void> {
  const carried = escalations.flatMap(({ namespace_id, id, status, content }) => {
    const { approval } = JSON.parse(content) as { approval?: { grantId: string } };
    const isMeant = approval !== undefined && status === "pending";
    return isMeant ? [sql`(${namespace_id}, ${id}, ${columnText(approval.grantId)})`] : [];
  });
  if (carried.length === 0) return;
  await sql`update escalations set grant_id = carried.column3 from (values ${sql.join(carried)}) as carried
    where escalations.namespace_id = carried.column1 and escalations.id = carried.column2`.execute(db);
}

/** A text that PostgreSQL cannot store is stored as its hash. */
function columnText(text: string): string {
  const isStorable = !text.includes("\0") && !/\p{Cs}/u.test(text);
  return isStorable ? text : `sha256:${createHash("sha256").update(JSON.stringify(text)).digest("hex")}`;
}
