import { sql } from "kysely";
import type { Database } from "../../storage/index.ts";
import { createAbsence } from "../absent-hosts.ts";
import type { JournalPen, RunStart } from "./pen.ts";
import type { TurnReader } from "./read-turns.ts";
import { beginningOf, bytesOf, entriesOfRow, type TurnId, type TurnRow } from "./turn-rows.ts";

/** What taking turns uses. */
export interface TakingParts {
  /** The runs of this process. */
  pens: ReadonlyMap<TurnId, JournalPen | undefined>;
  openPen(start: Omit<RunStart, "pauses">): JournalPen;
  /** A monotonic clock in milliseconds. */
  now(): number;
}

/**
 * How long a host may be absent until others take its turns, which has to happen within 10 s of its death. Taking one of a
 * host that lives does no harm: its run can write nothing more, and stops.
 */
const graceMs = 3_000;

/** Written as it stands in the partial index, which no parameter would find. */
export const isRunning = sql<boolean>`turns.status = 'running'`;

/** Finds turns that should run and that nobody runs, and makes them this host's. */
export function createTurnTaking(database: Database, reader: TurnReader, { pens, openPen, now }: TakingParts) {
  const { db, hostId, isAlive } = database;
  const look = createAbsence(database, now, graceMs);
  /** The hosts that are gone, as of the last look. */
  let gone: ReadonlySet<number> = new Set();
  /** Turns that are being taken. */
  const taking = new Set<TurnId>();
  const isHere = (id: TurnId): boolean => pens.has(id) || taking.has(id);
  const running = () => db.selectFrom("turns").where(isRunning);

  const isFree = async ({ id, host_id }: TurnRow): Promise<boolean> => {
    if (host_id === null) return true;
    if (host_id === hostId) return !pens.has(id);
    return gone.has(host_id) && !(await isAlive(host_id));
  };

  const take = async (id: TurnId): Promise<JournalPen | undefined> => {
    const row = await reader.byId(id);
    const beginning = row && beginningOf(row);
    if (row === undefined || beginning === undefined || !(await isFree(row))) return undefined;
    // INVARIANT: of all that try, one finds the number of the last run; whoever had it can write nothing from here on.
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
    const kept = rows.flatMap(entriesOfRow);
    const bytes = bytesOf([taken.heading, taken.content, ...rows.map(({ content }) => content)]);
    const progress = { at: taken.updated_at, steps: taken.steps, toolCalls: taken.tool_calls, ranMs: taken.ran_ms };
    const counts = { entries: taken.entries, events: taken.events, bytes };
    const pen = openPen({ id, run: taken.run, ...beginning, kept, progress, ...counts });
    if (taken.is_cancelled === 1) pen.halt(new Error("The turn was cancelled."));
    return pen;
  };

  return {
    async unattended(limit: number): Promise<TurnId[]> {
      const absence = await look(async () => {
        const others = running().select("host_id").distinct().where("host_id", "!=", hostId);
        return (await others.execute()).flatMap(({ host_id }) => host_id ?? []);
      });
      gone = new Set(absence.gone);
      const nobodys = await running().select("id").where("host_id", "is", null).limit(limit).execute();
      // A run of this process that could write no more is over, and its turn is left.
      const own = await running().select("id").where("host_id", "=", hostId).execute();
      const left =
        gone.size === 0
          ? []
          : await running()
              .select("id")
              .where("host_id", "in", [...gone])
              .limit(limit)
              .execute();
      const ids = [...nobodys, ...own.filter(({ id }) => !isHere(id)), ...left].map(({ id }) => id);
      return ids.toSorted().slice(0, limit);
    },
    async take(id: TurnId): Promise<JournalPen | undefined> {
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
