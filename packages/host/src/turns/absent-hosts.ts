import { type Database, livingHosts } from "../storage/index.ts";

/**
 * How long the turns of an absent host still count. The connection that shows that a host lives may break while its turns
 * go on, and this is how long it has to return. The slots of a crashed host are free again after this time.
 */
const graceMs = 10_000;

/** What a look at hosts finds: those that were absent at every look for longer than the grace period, and the others. */
export interface Absence {
  gone: number[];
  others: number[];
}

/**
 * Makes a function that looks at hosts, given those that seem to be absent. `now` is a monotonic clock in milliseconds.
 * Where one process has the database at a time, every other host is gone.
 */
export function createAbsence(
  database: Pick<Database, "isAlive" | "isShared">,
  now: () => number,
  grace: number,
): (candidates: () => Promise<readonly number[]>) => Promise<Absence> {
  let absentSince = new Map<number, number>();
  return async (candidates) => {
    const seen = absentSince;
    // If this look fails, hosts have to be found absent anew.
    absentSince = new Map();
    const still = new Map<number, number>();
    const absence: Absence = { gone: [], others: [] };
    for (const id of await candidates()) {
      // After an outage of the database, every host is absent for a moment.
      const isAlive = await database.isAlive(id);
      const since = seen.get(id) ?? now();
      if (!isAlive) still.set(id, since);
      const isGone = !isAlive && (!database.isShared || now() - since > grace);
      absence[isGone ? "gone" : "others"].push(id);
    }
    absentSince = still;
    return absence;
  };
}

/**
 * Makes a function that removes the rows of hosts that it found absent at every look for longer than the grace period. It
 * returns whether rows of absent hosts are left. While there are, it has to be called again soon.
 */
export function createAbsentHostRemoval(database: Database, now: () => number): () => Promise<boolean> {
  const { db, hostId } = database;
  const look = createAbsence(database, now, graceMs);
  return async () => {
    const { gone, others } = await look(async () => {
      const absent = db.selectFrom("running_turns").select("host_id as id").distinct();
      const rows = await absent.where("host_id", "!=", hostId).where("host_id", "not in", livingHosts).execute();
      return rows.map(({ id }) => id);
    });
    for (const id of gone)
      await db.deleteFrom("running_turns").where("host_id", "=", id).where("host_id", "not in", livingHosts).execute();
    return others.length > 0;
  };
}
