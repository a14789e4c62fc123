import { createHash } from "node:crypto";
import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0018-credential-actors, frozen: it is a copy on purpose and imports nothing from the rooms.

const rowsAtOnce = 200;

interface OldCredential {
  id: string;
  access: string;
}

/** Writes who acts with each credential, which was in its access alone, into a column; some credentials at a time. */
export const fillActors: DataMove = async (db) => {
  let last: OldCredential | undefined = { id: "", access: "" };
  while (last !== undefined) {
    const page: readonly OldCredential[] = await readBehind(db, last.id);
    await fill(db, page);
    last = page.length < rowsAtOnce ? undefined : page.at(-1);
  }
};

async function readBehind(db: QueryExecutorProvider, id: string): Promise<readonly OldCredential[]> {
  const { rows } = await sql<OldCredential>`select id, access from credentials where id > ${id}
    order by id limit ${sql.lit(rowsAtOnce)}`.execute(db);
  return rows;
}

async function fill(db: QueryExecutorProvider, credentials: readonly OldCredential[]): Promise<void> {
  const actors = credentials.map(({ id, access }) => sql`(${id}, ${columnText(actorKey(access))})`);
  if (actors.length === 0) return;
  await sql`update credentials set actor = actors.column2 from (values ${sql.join(actors)}) as actors
    where credentials.id = actors.column1`.execute(db);
}

/** `kind:id` of the actor. */
function actorKey(access: string): string {
  const { kind, ...id } = (JSON.parse(access) as { actor: Record<string, string> }).actor;
  return `${kind}:${Object.values(id)[0]}`;
}

/** A text that PostgreSQL cannot store is stored as its hash. */
function columnText(text: string): string {
  const isStorable = !text.includes("\0") && !/\p{Cs}/u.test(text);
  return isStorable ? text : `sha256:${createHash("sha256").update(JSON.stringify(text)).digest("hex")}`;
}
