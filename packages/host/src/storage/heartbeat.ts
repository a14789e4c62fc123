import type { Database } from "./database.ts";

/** Larger than a page of SQLite, so that the write needs new space, as the next event of the audit log may. */
const leastBytes = 8192;

/** One durable write of at least so many bytes that leaves nothing behind. */
export async function heartbeat({ db, hostId }: Pick<Database, "db" | "hostId">, bytes = leastBytes): Promise<void> {
  const content = "x".repeat(Math.max(leastBytes, bytes));
  await db.transaction().execute(async (transaction) => {
    await transaction.insertInto("heartbeats").values({ host_id: hostId, content }).execute();
    await transaction.deleteFrom("heartbeats").where("host_id", "=", hostId).execute();
  });
}
