import { sql } from "kysely";
import type { Database } from "../src/storage/database.ts";

/** Says of a host that it has beaten without a gap for long, so that it can tell at once who is dead. */
export async function settle({ db, hostId }: Database): Promise<void> {
  await db.updateTable("hosts").set({ beats_since: 1 }).where("id", "=", hostId).execute();
}

/** Closes a host and says that it did not: it is as one that was killed or cut off long ago. Another host is to notice. */
export async function die(dead: Database, observer: Database): Promise<void> {
  await dead.close();
  await observer.db.updateTable("hosts").set({ ended_at: null, beat_at: 1 }).where("id", "=", dead.hostId).execute();
  await settle(observer);
}

/**
 * Does to the database what a host does that is paused: it does not beat, and its lock is held. Returns what lets it beat again. Each beat
 * that is not taken is a row of `heartbeats`.
 */
export async function pauseBeats({ hostId }: Database, { db }: Database): Promise<() => Promise<void>> {
  const name = sql.ref(`pause_${hostId}`);
  await sql`create function ${name}() returns trigger language plpgsql
    as 'begin insert into heartbeats (host_id, content) values (new.id, ''''); return null; end'`.execute(db);
  await sql`create trigger ${name} before update on hosts for each row when (new.id = ${sql.lit(hostId)} and new.beat_at > 1)
    execute function ${name}()`.execute(db);
  await db.updateTable("hosts").set({ beat_at: 1 }).where("id", "=", hostId).execute();
  return async () => void (await sql`drop trigger ${name} on hosts`.execute(db));
}
