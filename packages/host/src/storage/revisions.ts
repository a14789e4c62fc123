import type { Transaction } from "kysely";
import type { Database } from "./database.ts";
import { currentBasis, onBasis, ReadBasis } from "./read-basis.ts";
import type { Schema } from "./schema.ts";

/** The revision of grants, settings and credentials, so that reads can be cached until it changes. */
export interface Revisions {
  /** The revision now: a value that was read under another revision may be out of date. */
  current(): number | Promise<number>;
  /** Counts the servers that the database was on, as far as this host knows. Each counts revisions for itself. */
  readonly era: number;
  /** The revision that the running call assumes without having asked; undefined for a call that asks. */
  assumed(): number | undefined;
  /**
   * Runs a call on the revision that was the newest one when this process last asked, so that it reads what is cached without
   * asking first. The write of its decision asks, together with all that it writes. When the revision was another one by then, or
   * when the call wrote nothing and it is another one now, `act` runs once more, and asks before each read. So what it came to the
   * first time must not show.
   */
  attempt<T>(act: () => Promise<T>): Promise<T>;
  /** The newest revision, read after this call. All callers of one tick of the event loop share a query. */
  ask(): Promise<number>;
  /** Writes in one transaction that begins a new revision: in this process at once, in others with the commit. */
  write<T>(change: (db: Transaction<Schema>) => Promise<T>): Promise<T>;
}

/**
 * What each call reads first. Whether the database has lost rows comes with it, so that every host knows at its next call what
 * another one noticed.
 */
const revisionSql = `select value, (select count(*) from database_gaps where accepted_at is null) as is_behind from revision`;

/** On a database of its own a process counts revisions itself. On a shared one it reads them, one query at a time. */
export function createRevisions({ db, read, isShared, history }: Database): Revisions {
  let known = 0;
  /** Of a shared database: the revision that it had last. */
  let newest: number | undefined;
  let asked: Promise<number> | undefined;
  const askNow = async (): Promise<number> => {
    // All callers of this tick of the event loop share one query, which starts after all of them.
    await new Promise(setImmediate);
    asked = undefined;
    const { stored } = history;
    const [row] = await read<{ value: number; is_behind: number }>(revisionSql, []);
    if (row === undefined) throw new Error("The database has no revision.");
    history.told(row.is_behind > 0, stored);
    return (newest = row.value);
  };
  const ask = (): Promise<number> => (asked ??= askNow());
  if (isShared) history.onServer(() => (newest = undefined));
  const askFor = async (basis: ReadBasis): Promise<number> => {
    const revision = await ask();
    basis.settle(revision);
    return revision;
  };
  return {
    ask: () => (isShared ? ask() : Promise.resolve(known)),
    current() {
      if (!isShared) return known;
      const basis = currentBasis();
      return basis === undefined ? ask() : askFor(basis);
    },
    get era() {
      return history.era;
    },
    assumed() {
      const basis = isShared ? currentBasis() : undefined;
      return basis?.isOpen === true ? basis.revision : undefined;
    },
    async attempt(act) {
      if (!isShared) return act();
      if (newest === undefined) return onBasis(undefined, act);
      const basis = new ReadBasis(newest);
      const [end] = await Promise.allSettled([onBasis(basis, act)]);
      // Also a call that was refused: unless its refusal was written, nothing has compared the revision yet.
      if (basis.isOpen) await askFor(basis).catch(() => basis.abandon());
      if (basis.isOutdated) return onBasis(undefined, act);
      if (end.status === "rejected") throw end.reason;
      return end.value;
    },
    async write(change) {
      try {
        const { begun, result } = await db.transaction().execute(async (transaction) => {
          const row = await transaction
            .updateTable("revision")
            .set((old) => ({ value: old("value", "+", 1) }))
            .returning("value")
            .executeTakeFirstOrThrow();
          return { begun: row.value, result: await change(transaction) };
        });
        newest = begun;
        return result;
      } finally {
        known += 1;
      }
    },
  };
}

/**
 * Orders a transaction before or after each one that begins a revision, without beginning one. On SQLite all transactions that
 * write run one after the other.
 */
export async function lockRevision(transaction: Transaction<Schema>, kind: Database["kind"]): Promise<void> {
  if (kind === "postgres") await transaction.selectFrom("revision").select("value").forShare().execute();
}
