import type { Transaction } from "kysely";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";

/** Which state of grants, settings and credentials is in force, so that reads can be kept until it changes. */
export interface Revisions {
  /** The revision now: a value that was read under another revision may be out of date. */
  current(): number | Promise<number>;
  /** Writes in one transaction that ends the current revision, here at once and elsewhere with its commit. */
  write<T>(change: (db: Transaction<Schema>) => Promise<T>): Promise<T>;
}

/** On a database of its own a process knows every revision itself; on a shared one it asks, one query a moment. */
export function createRevisions({ db, read, isShared }: Database): Revisions {
  let known = 0;
  let asked: Promise<number> | undefined;
  const ask = async (): Promise<number> => {
    // Whoever calls in this turn of the event loop shares a query that starts after all of them.
    await new Promise(setImmediate);
    asked = undefined;
    const [row] = await read<Schema["revision"]>("select value from revision", []);
    if (row === undefined) throw new Error("The database has no revision.");
    return row.value;
  };
  return {
    current: () => (isShared ? (asked ??= ask()) : known),
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
