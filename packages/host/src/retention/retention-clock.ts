import type { Database } from "../storage/index.ts";

const dayMs = 86_400_000;

/** The time by which the age of rows is judged. */
export interface JudgedTime {
  at: Date;
  /** How far the clock is ahead of it. */
  aheadMs: number;
}

/**
 * Moves the time by which the age of rows is judged on to the host's clock, by a day at most. INVARIANT: a clock that jumps
 * forward, by mistake, never makes years of rows old at once. Judged an hour apart, a day goes for every hour that nobody
 * corrects the clock, and what a host missed while it was off it catches up with.
 */
export function judgeTime({ db }: Pick<Database, "db">, now: Date): Promise<JudgedTime> {
  return db.transaction().execute(async (transaction) => {
    const known = await transaction.selectFrom("retention_clock").select("at").where("id", "=", 1).executeTakeFirst();
    const latest = known === undefined ? now.getTime() : Date.parse(known.at) + dayMs;
    const at = new Date(Math.min(now.getTime(), latest));
    await transaction
      .insertInto("retention_clock")
      .values({ id: 1, at: at.toISOString() })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ at: at.toISOString() }))
      .execute();
    return { at, aheadMs: now.getTime() - at.getTime() };
  });
}
