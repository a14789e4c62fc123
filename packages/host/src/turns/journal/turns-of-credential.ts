import { sql } from "kysely";
import { principalKey, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../../shared/index.ts";
import type { Database } from "../../storage/index.ts";
import { isStartedWith, operatedTurn, type OperatedTurn } from "./turn-rows.ts";

/** A credential that turns were started with. */
export interface StartingCredential {
  id: string;
  namespaceId: string;
  access: { actor: PrincipalRef; admin?: boolean | undefined };
}

/** A page: up to `limit` turns after another one. */
export interface OpenTurnsPage {
  after?: string | undefined;
  limit: number;
}

/**
 * The turns that were started with a credential, or that its operator tries, and that have neither ended nor been cancelled. An
 * agent's turns are among the open turns of its actor, which are limited; an operator's are among the trials of operators. The
 * query preselects rows by their text, and the parsed content decides.
 */
export async function listOpenTurns(
  { reporting }: Pick<Database, "reporting">,
  { id, namespaceId, access }: StartingCredential,
  { after, limit }: OpenTurnsPage,
): Promise<{ turns: OperatedTurn[]; next?: string }> {
  const open = reporting
    .selectFrom("turns")
    .selectAll()
    .where("completed_at", "is", null)
    .where("is_cancelled", "=", 0)
    .limit(limit + 1);
  const named = `%"${columnText(id)}"%`;
  const behind = columnText(after ?? "");
  // The condition on the heading is written as in its partial index. It is an expression, so that the planner does not use the
  // index that has an actor's whole past in the order of ids.
  const own =
    access.admin === true
      ? open
          .where(sql<boolean>`heading like '%"triedBy":%'`)
          .where("heading", "like", named)
          .where("id", ">", behind)
          .orderBy("id")
      : open
          .where("namespace_id", "=", columnText(namespaceId))
          .where("actor", "=", columnText(principalKey(access.actor)))
          .where("content", "like", named)
          .where(sql<boolean>`id || '' > ${behind}`)
          .orderBy(sql`id || ''`);
  const rows = await own.execute();
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  const turns = page.filter((row) => isStartedWith(row, id)).map((row) => operatedTurn(row, []));
  return { turns, ...(last && { next: last.id }) };
}
