import type { Transaction } from "kysely";
import type { Schema } from "../storage/index.ts";

/** What counts once, and until when that is remembered. */
export interface Once {
  id: string;
  until: Date;
}

/** Whether something that counts once has not counted before. Of several who ask at the same instant, one is told that it has not. */
export async function countOnce(db: Pick<Transaction<Schema>, "insertInto">, { id, until }: Once): Promise<boolean> {
  const inserted = await db
    .insertInto("used_once")
    .values({ id, expires_at: until.toISOString() })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .execute();
  return inserted.length > 0;
}
