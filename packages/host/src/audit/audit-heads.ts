import type { Kysely } from "kysely";
import { columnText } from "../shared/index.ts";
import type { StrandHead } from "../ledger/index.ts";
import type { Schema } from "../storage/index.ts";

/** Where the chains of a tenant end. A head without rows was made before its first row, and nothing may come of it. */
export function readHeads(db: Kysely<Schema>, namespaceId: string): Promise<StrandHead[]> {
  const heads = db.selectFrom("audit_heads").select(["strand", "sequence", "hash"]).where("sequence", ">", 0);
  return heads.where("namespace_id", "=", columnText(namespaceId)).orderBy("strand").execute();
}
