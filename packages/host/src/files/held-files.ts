import { sql, type Transaction } from "kysely";
import type { Database, Schema } from "../storage/index.ts";
import { ownerColumns, shelfOf, type FileOwner, type OwnerColumns } from "./file-owner.ts";
import { fullTextOf } from "./full-text-of.ts";
import type { FullText } from "./full-text.ts";
import { createTurnstile, createTurnstiles } from "./semaphore.ts";

/** The files of one owner while nobody else can change them. */
export interface HeldFiles {
  transaction: Transaction<Schema>;
  mine: OwnerColumns;
  fullText: FullText;
}

/** Changes the files of an owner; who goes away while others change has changed nothing. */
export type HoldFiles = <T>(
  of: FileOwner,
  change: (held: HeldFiles) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

/** How many owners' files change at a time: some connections are always left to everybody else. */
const changesAtOnce = 4;

/** Changes of an owner, and those of all owners, wait for each other before they take a connection. */
export function createHold(database: Database): HoldFiles {
  const owners = createTurnstiles(1);
  const everyone = createTurnstile(changesAtOnce);
  return (of, change, signal) => {
    const mine = ownerColumns(of);
    const hold = () => holdFiles(database, mine, change);
    return owners.pass(shelfOf(mine), () => everyone.pass(hold, signal), signal);
  };
}

/** INVARIANT: an owner's files only change in here, one change after the other, so what a change has read stays true. */
function holdFiles<T>({ db, kind }: Database, mine: OwnerColumns, change: (held: HeldFiles) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    await sql`insert into owners (namespace_id, owner) values (${mine.namespace_id}, ${mine.owner})
      on conflict (namespace_id, owner) do update set owner = excluded.owner`.execute(transaction);
    return change({ transaction, mine, fullText: fullTextOf(kind) });
  });
}
