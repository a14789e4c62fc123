import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/** The newest time that any host wrote: of a start, or of an event of this tenant. */
export async function readNewestTime(db: Kysely<Schema>, namespaceId: string): Promise<string | undefined> {
  const events = db.selectFrom("audit").select("at").where("namespace_id", "=", namespaceId).orderBy("at", "desc");
  const event = await events.limit(1).executeTakeFirst();
  const starts = db.selectFrom("hosts").select("started_at as at").orderBy("id", "desc");
  const start = await starts.limit(1).executeTakeFirst();
  return [event?.at, start?.at]
    .filter((at) => at !== undefined)
    .toSorted()
    .at(-1);
}
