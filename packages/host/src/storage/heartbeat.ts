import type { Database } from "./database.ts";

/** Larger than a page of SQLite: the write needs space of its own, as the next event of the trail may. */
const content = "x".repeat(8192);

/** One durable write that leaves nothing behind. */
export async function heartbeat({ db, hostId }: Pick<Database, "db" | "hostId">): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.insertInto("heartbeats").values({ host_id: hostId, content }).execute();
    await transaction.deleteFrom("heartbeats").where("host_id", "=", hostId).execute();
  });
}
