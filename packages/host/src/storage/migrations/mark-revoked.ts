import { sql } from "kysely";
import type { DataMove } from "./migration.ts";

/**
 * Marks the grants whose revocation has come to pass, which their times alone said before: no clock that is behind brings
 * them back. A revocation that is still to come stays one.
 */
export const markRevoked: DataMove = async (db) => {
  const found = await sql<{ namespace_id: string; id: string; content: string }>`
    select namespace_id, id, content from grants where content like '%"revokedAt":%'`.execute(db);
  for (const { namespace_id, id, content } of found.rows) {
    const grant = JSON.parse(content) as { revokedAt?: string };
    if (grant.revokedAt === undefined || Date.parse(grant.revokedAt) > Date.now()) continue;
    await sql`update grants set content = ${JSON.stringify({ ...grant, revoked: true })}
      where namespace_id = ${namespace_id} and id = ${id}`.execute(db);
  }
};
