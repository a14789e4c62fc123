import { sql } from "kysely";
import { columnText } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";

/** What names an escalation. */
export interface EscalationKey {
  namespaceId: string;
  id: string;
}

/** Those of some escalations that still wait for an answer, read by one statement. */
export async function findPending(
  { reporting, kind }: Pick<Database, "reporting" | "kind">,
  escalations: readonly EscalationKey[],
  now: string,
): Promise<EscalationKey[]> {
  const rows = JSON.stringify(escalations.map(({ namespaceId, id }) => [columnText(namespaceId), columnText(id)]));
  // Without the limit the planner of PostgreSQL expects a hundred rows.
  const wanted =
    kind === "postgres"
      ? sql`(select value ->> 0 as namespace_id, value ->> 1 as id from json_array_elements(${rows}::json) limit ${escalations.length}::integer) as wanted`
      : sql`(select value ->> 0 as namespace_id, value ->> 1 as id from json_each(${rows})) as wanted`;
  // The expressions keep the planner from the indexes of states and ends: the rows are known by their keys.
  const found = await sql<{ namespace_id: string; id: string }>`select namespace_id, id from ${wanted}
    join escalations using (namespace_id, id) where status || '' = 'pending' and expires_at || '' > ${now}`.execute(
    reporting,
  );
  const pending = new Set(found.rows.map(({ namespace_id, id }) => JSON.stringify([namespace_id, id])));
  return escalations.filter(({ namespaceId, id }) =>
    pending.has(JSON.stringify([columnText(namespaceId), columnText(id)])),
  );
}
