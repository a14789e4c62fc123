import { sql, type Transaction } from "kysely";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { ownerColumns, type FileOwner, type OwnerColumns } from "./file-owner.ts";
import { fullTextOf } from "./full-text-of.ts";
import type { FullText } from "./full-text.ts";

/** The files of one owner while nobody else can change them. */
export interface HeldFiles {
  transaction: Transaction<Schema>;
  mine: OwnerColumns;
  fullText: FullText;
}

/** INVARIANT: an owner's files only change in here, one change after the other, so what a change has read stays true. */
export function holdFiles<T>(
  { db, kind }: Database,
  of: FileOwner,
  change: (held: HeldFiles) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    const mine = ownerColumns(of);
    await sql`insert into owners (namespace_id, owner) values (${mine.namespace_id}, ${mine.owner})
      on conflict (namespace_id, owner) do update set owner = excluded.owner`.execute(transaction);
    return change({ transaction, mine, fullText: fullTextOf(kind) });
  });
}
