import { type Database, livingHosts } from "../storage/index.ts";

/**
 * Makes a function that removes the slots of dead hosts. It returns whether slots of other hosts are left. While there are, it has to
 * be called again soon.
 */
export function createAbsentHostRemoval({ db, hostId, isAlive }: Database): () => Promise<boolean> {
  return async () => {
    const others = db.selectFrom("running_turns").select("host_id as id").distinct().where("host_id", "!=", hostId);
    let areLeft = false;
    for (const { id } of await others.execute()) {
      const isGone = !(await isAlive(id));
      // The statement looks again: a host that is back puts its slots back, and they must stay.
      const own = db.deleteFrom("running_turns").where("host_id", "=", id).where("host_id", "not in", livingHosts);
      if (isGone) await own.execute();
      // A host that beats and has only lost its lock keeps its slots for some seconds more.
      areLeft ||= !isGone || (await hasSlots(db, id));
    }
    return areLeft;
  };
}

async function hasSlots(db: Database["db"], id: number): Promise<boolean> {
  const one = db.selectFrom("running_turns").select("id").where("host_id", "=", id).limit(1);
  return (await one.executeTakeFirst()) !== undefined;
}
