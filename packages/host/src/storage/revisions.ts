import type { Transaction } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";

/** Which state of grants, settings and credentials is in force, so that reads can be kept until it changes. */
export interface Revisions {
  /** The revision now: a value that was read under another revision may be out of date. */
  current(): Promise<number>;
  /** Writes in one transaction that ends the current revision, here at once and elsewhere with its commit. */
  write<T>(change: (db: Transaction<Schema>) => Promise<T>): Promise<T>;
}

/** On a database of its own a process knows every revision itself; on a shared one it asks, one query a moment. */
export function createRevisions({ db, isShared }: Database): Revisions {
  let known = 0;
  let asked: Promise<number> | undefined;
  const ask = async (): Promise<number> => {
    // Whoever calls in this tick shares a query that starts after all of them.
    await Promise.resolve();
    asked = undefined;
    return (await db.selectFrom("revision").select("value").executeTakeFirstOrThrow()).value;
  };
  return {
    current: () => (isShared ? (asked ??= ask()) : Promise.resolve(known)),
    async write(change) {
      try {
        return await db.transaction().execute(async (transaction) => {
          await transaction
            .updateTable("revision")
            .set((row) => ({ value: row("value", "+", 1) }))
            .execute();
          return change(transaction);
        });
      } finally {
        known += 1;
      }
    },
  };
}
