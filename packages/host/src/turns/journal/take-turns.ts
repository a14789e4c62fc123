import { sql } from "kysely";
import type { Database } from "../../storage/index.ts";
import type { LedgerRunWriter, RunStart } from "./run-writer.ts";
import type { TurnReader } from "./read-turns.ts";
import { beginningOf, bytesOf, entriesOfRow, type TurnId, type TurnRow } from "./turn-rows.ts";

/** What taking turns uses. */
export interface TakingParts {
  /** The runs of this process. */
  writers: ReadonlyMap<TurnId, LedgerRunWriter | undefined>;
  openWriter(start: Omit<RunStart, "pauses">): LedgerRunWriter;
}

/** Written as in the partial index, which a parameter would not match. */
export const isRunning = sql<boolean>`turns.status = 'running'`;

/** How many turns one statement leaves. */
const atOnce = 1_000;

/**
 * Finds turns that should run and that no host runs, and takes them for this host. Taking a turn of a living host does no harm: its
 * run can write nothing more, and stops.
 */
export function createTurnTaking(database: Database, reader: TurnReader, { writers, openWriter }: TakingParts) {
  const { db, hostId, isAlive } = database;
  /** Turns that are being taken. */
  const taking = new Set<TurnId>();
  const isHere = (id: TurnId): boolean => writers.has(id) || taking.has(id);
  const running = () => db.selectFrom("turns").where(isRunning);

  const isFree = async ({ id, host_id }: TurnRow): Promise<boolean> => {
    if (host_id === null) return true;
    if (host_id === hostId) return !writers.has(id);
    return !(await isAlive(host_id));
  };

  const take = async (id: TurnId): Promise<LedgerRunWriter | undefined> => {
    const row = await reader.byId(id);
    const beginning = row && beginningOf(row);
    if (row === undefined || beginning === undefined || !(await isFree(row))) return undefined;
    // INVARIANT: of all hosts that try, one finds the number of the last run. That last run can write nothing from here on.
    const taken = await db
      .updateTable("turns")
      .set({ host_id: hostId, run: row.run + 1 })
      .where("id", "=", id)
      .where("run", "=", row.run)
      .where(isRunning)
      .returningAll()
      .executeTakeFirst();
    if (taken === undefined) return undefined;
    const entries = db.selectFrom("turn_entries").select(["kind", "content"]).where("turn", "=", id);
    const rows = await entries.orderBy("position").execute();
    const stored = rows.flatMap(entriesOfRow);
    const bytes = bytesOf([taken.heading, taken.content, ...rows.map(({ content }) => content)]);
    const progress = { at: taken.updated_at, steps: taken.steps, toolCalls: taken.tool_calls, ranMs: taken.ran_ms };
    const counts = { entries: taken.entries, events: taken.events, bytes, isIncomplete: taken.is_interrupted === 1 };
    const writer = openWriter({ id, run: taken.run, ...beginning, stored, progress, ...counts });
    if (taken.is_cancelled === 1) writer.halt(new Error("The turn was cancelled."));
    return writer;
  };

  return {
    async unattended(limit: number): Promise<TurnId[]> {
      const others = running().select("host_id").distinct().where("host_id", "!=", hostId);
      const gone: number[] = [];
      for (const { host_id } of await others.execute())
        if (host_id !== null && !(await isAlive(host_id))) gone.push(host_id);
      const unowned = await running().select("id").where("host_id", "is", null).limit(limit).execute();
      // When a run of this process could not write any more, it is over and its turn is unattended.
      const own = await running().select("id").where("host_id", "=", hostId).execute();
      const left =
        gone.length === 0 ? [] : await running().select("id").where("host_id", "in", gone).limit(limit).execute();
      const ids = [...unowned, ...own.filter(({ id }) => !isHere(id)), ...left].map(({ id }) => id);
      return ids.toSorted().slice(0, limit);
    },
    /** Leaves turns of this host that it does not run to other hosts. */
    async giveUp(): Promise<void> {
      const own = await running().select("id").where("host_id", "=", hostId).execute();
      const ids = own.filter(({ id }) => !isHere(id)).map(({ id }) => id);
      if (ids.length === 0) return;
      const left = db.updateTable("turns").set({ host_id: null }).where("id", "in", ids.slice(0, atOnce));
      await left.where("host_id", "=", hostId).execute();
    },
    async take(id: TurnId): Promise<LedgerRunWriter | undefined> {
      if (taking.has(id)) return undefined;
      taking.add(id);
      try {
        return await take(id);
      } finally {
        taking.delete(id);
      }
    },
  };
}
