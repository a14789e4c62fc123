import { sql, type Kysely } from "kysely";
import { advisoryLocks } from "./advisory-locks.ts";
import { deadSeconds, isDead, type HostSigns, type JudgeSigns } from "./judge-host.ts";
import type { Schema } from "./schema.ts";

export const maxHosts = 10_000;

/** For the `in` of a query: the ids of all hosts whose lock is held, which a host that is paused, cut off or gone may have for long. */
export const lockedHosts = sql<number>`(select objid::bigint from pg_locks where locktype = 'advisory' and granted
  and database = (select oid from pg_database where datname = current_database()) and classid = ${sql.lit(advisoryLocks.presence)})`;

/** SQL: whether the beat of a row is recent. One from a time that is still to come is not: the clock was set back since. */
export const isRecentBeat = `abs(extract(epoch from clock_timestamp()) - beat_at) < ${deadSeconds}`;

/** For the `in` of a query: the ids of all hosts that have a lease in place of a lock. */
const leasedHosts = sql<number>`(select host_id from host_leases where ${sql.raw(isRecentBeat)})`;

/** For the `in` of a query: the ids of all hosts that have beaten lately, and of those that hold their lock and do not beat at all. */
export const livingHosts = sql<number>`(select seen.id from hosts as seen where seen.ended_at is null
  and case when seen.beat_at is null then seen.id in ${lockedHosts} else ${sql.raw(isRecentBeat)} end)`;

/** A host that was not looked at for longer may have had its lock meanwhile. */
const continuousMs = 3_000;

/** What the database says of a host at one instant, and of its beats if it judges others. */
export type SignsOfHost = HostSigns & Omit<JudgeSigns, "silentFor"> & { id: number };

/** Makes the function that reads the signs of hosts, all at one instant. */
export const signsIn =
  (db: Kysely<Schema>) =>
  async (ids: readonly number[]): Promise<SignsOfHost[]> => {
    const { rows } =
      await sql<SignsOfHost>`select id, clock.now - beat_at as "silentFor", clock.now - beats_since as "beatsFor",
        (id in ${lockedHosts} or id in ${leasedHosts}) as "isLocked", ended_at is not null as "hasEnded"
      from hosts, (select extract(epoch from clock_timestamp())::double precision as now) as clock
      where id in (${sql.join(ids)})`.execute(db);
    return rows;
  };

/** Makes the function that looks whether a host is alive. `now` is a monotonic clock in milliseconds. */
export function createHostWatch(
  readSigns: (ids: readonly number[]) => Promise<readonly SignsOfHost[]>,
  hostId: number,
  now = () => performance.now(),
): (id: number) => Promise<boolean> {
  /** Hosts that were seen without their lock: since when, and when last. */
  const unlocked = new Map<number, { since: number; last: number }>();
  return async (id) => {
    if (id === hostId) return true;
    const rows = await readSigns([id, hostId]);
    const host = rows.find((row) => row.id === id);
    const own = rows.find((row) => row.id === hostId);
    const seen = unlocked.get(id);
    const at = now();
    const since = seen !== undefined && at - seen.last <= continuousMs ? seen.since : at;
    if (host?.isLocked === false) unlocked.set(id, { since, last: at });
    else unlocked.delete(id);
    return !isDead(host, own ?? { silentFor: null, beatsFor: null }, (at - since) / 1000);
  };
}
