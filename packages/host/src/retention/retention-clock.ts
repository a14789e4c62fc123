import type { Log } from "../telemetry/index.ts";
import type { Database } from "../storage/index.ts";

const dayMs = 86_400_000;
/** A clock that is so far ahead is worth a warning. */
const warnMs = 2 * dayMs;

/**
 * Moves the time by which the age of rows is judged towards the host's clock, by a day at most. INVARIANT: a clock that jumps
 * forward by mistake never makes years of rows old at once. Retention runs every hour, so until the operator corrects the
 * clock one day of rows is removed an hour. A host that was off catches up in the same way.
 */
export async function judgeTime({ db }: Pick<Database, "db">, now: Date, log: Pick<Log, "warn">): Promise<Date> {
  const judged = await db.transaction().execute(async (transaction) => {
    const known = await transaction.selectFrom("retention_clock").select("at").where("id", "=", 1).executeTakeFirst();
    const latest = known === undefined ? now.getTime() : Date.parse(known.at) + dayMs;
    const at = new Date(Math.min(now.getTime(), latest));
    await transaction
      .insertInto("retention_clock")
      .values({ id: 1, at: at.toISOString() })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ at: at.toISOString() }))
      .execute();
    return at;
  });
  if (now.getTime() - judged.getTime() > warnMs)
    log.warn(
      { clock: now.toISOString(), judgedAt: judged.toISOString() },
      "the clock is days ahead of the last removal of old rows: the host was off, or the clock is wrong; correct it now if it is",
    );
  return judged;
}
