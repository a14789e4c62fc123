import type { Kysely } from "kysely";
import { columnText } from "../shared/index.ts";
import type { StrandHead } from "../ledger/index.ts";
import type { Schema } from "../storage/index.ts";

/** A row as it is stored: `content` is the event as JSON. */
export type TailRow = Pick<Schema["audit"], "strand" | "sequence" | "at" | "content">;

/**
 * The rows of a strand behind one of them, oldest first. INVARIANT: a strand is written by one transaction after the other,
 * so that no row comes later whose number is lower.
 */
export function listRowsBehind(
  db: Kysely<Schema>,
  namespaceId: string,
  { strand, sequence }: Pick<StrandHead, "strand" | "sequence">,
  limit: number,
): Promise<TailRow[]> {
  return db
    .selectFrom("audit")
    .select(["strand", "sequence", "at", "content"])
    .where("namespace_id", "=", columnText(namespaceId))
    .where("strand", "=", strand)
    .where("sequence", ">", sequence)
    .orderBy("sequence")
    .limit(limit)
    .execute();
}
