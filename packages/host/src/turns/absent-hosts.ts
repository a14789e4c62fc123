import { type Database, livingHosts } from "../storage/index.ts";

/**
 * How long the turns of a host that nobody sees still count. The connection by which it shows that it lives may have
 * broken while its turns go on; it has this long to return. So the places of a host that crashed are free again some ten
 * seconds later, and whoever is refused meanwhile is told to come back.
 */
const graceMs = 10_000;

/**
 * Makes a function that removes the rows of hosts which it has seen absent, look after look, for longer than the grace,
 * and says whether rows of absent hosts are left. It has to be called again soon while there are.
 */
export function createAbsentHostRemoval(database: Database, now: () => number): () => Promise<boolean> {
  const { db, hostId } = database;
  let absentSince = new Map<number, number>();
  return async () => {
    const seen = absentSince;
    // A look that fails says nothing of any host: what was seen before it does not count.
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
      // After an outage of the server every host is absent for a moment.
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
