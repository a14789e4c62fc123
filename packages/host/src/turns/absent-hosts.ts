import { type Database, livingHosts } from "../storage/index.ts";

/**
 * How long the turns of an absent host still count. The connection that shows that a host lives may break while its turns
 * go on, and this is how long it has to return. The slots of a crashed host are free again after this time.
 */
const graceMs = 10_000;

/**
 * Makes a function that removes the rows of hosts that it found absent at every look for longer than the grace period. It
 * returns whether rows of absent hosts are left. While there are, it has to be called again soon.
 */
export function createAbsentHostRemoval(database: Database, now: () => number): () => Promise<boolean> {
  const { db, hostId } = database;
  let absentSince = new Map<number, number>();
  return async () => {
    const seen = absentSince;
    // If this look fails, hosts have to be found absent anew.
    absentSince = new Map();
    const absent = await db
      .selectFrom("running_turns")
      .select("host_id as id")
      .distinct()
      .where("host_id", "!=", hostId)
      .where("host_id", "not in", livingHosts)
      .execute();
    const still = new Map<number, number>();
    let areLeft = false;
    for (const { id } of absent) {
      // After an outage of the database, every host is absent for a moment.
      const isAlive = await database.isAlive(id);
      const since = seen.get(id) ?? now();
      if (!isAlive && now() - since > graceMs) {
        await db
          .deleteFrom("running_turns")
          .where("host_id", "=", id)
          .where("host_id", "not in", livingHosts)
          .execute();
      } else {
        areLeft = true;
        if (!isAlive) still.set(id, since);
      }
    }
    absentSince = still;
    return areLeft;
  };
}
