import { canonicalJson } from "turnpike/contracts";
import { sql, type Kysely, type Transaction } from "kysely";
import { z } from "zod";
import { columnText } from "../shared/index.ts";
import type { StrandHead } from "../ledger/index.ts";
import { HashSchema } from "../admin-contract/index.ts";
import { advisoryLocks, type Database, type Schema } from "../storage/index.ts";
import type { Break } from "./audit-verify.ts";
import { signatureProblem, signRecord } from "./signed-record.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";

const AnchorSchema = z.strictObject({
  kind: z.literal("turnpike.audit.anchor"),
  version: z.literal(1),
  /** As the tenant's column holds it. */
  namespaceId: z.string(),
  strand: z.int().min(0),
  /** The last row that was removed, and its hash, which covers all before it. */
  sequence: z.int().min(1),
  hash: HashSchema,
  /** When that row's event was. */
  until: z.string(),
  key: z.string(),
  signature: z.string(),
});

/**
 * Where the rows of a strand begin, because those before were exported and removed. INVARIANT: a host signs one for the
 * rows that it removes itself and for nothing else, so rows that something else removed have none.
 */
export type Anchor = z.infer<typeof AnchorSchema>;

/** The anchors of a tenant, and the first that does not count. */
export interface Anchors {
  anchors: Anchor[];
  broken?: Break;
}

/** Reads the anchors of a tenant that were signed with the key. */
export async function readAnchors(db: Kysely<Schema>, namespaceId: string, key: VerifyingKey): Promise<Anchors> {
  const tenant = columnText(namespaceId);
  const rows = await db
    .selectFrom("audit_anchors")
    .select(["strand", "content"])
    .where("namespace_id", "=", tenant)
    .orderBy("strand")
    .execute();
  const found: Anchors = { anchors: [] };
  for (const { strand, content } of rows) {
    const anchor = parse(content);
    const isHere = anchor?.namespaceId === tenant && anchor.strand === strand;
    const problem = isHere ? signatureProblem(anchor, key) : "was changed: it is not this strand's";
    if (anchor !== undefined && problem === undefined) found.anchors.push(anchor);
    else found.broken ??= { strand, why: `the anchor of strand ${strand} ${problem}` };
  }
  return found;
}

/** A row up to which a strand can go, and when its event was. */
export interface ExportedHead extends StrandHead {
  at: string;
}

/**
 * Removes the rows of a strand up to one that was exported, and leaves its anchor, in one transaction. Returns how many
 * went; undefined when the rows are not those that were exported.
 */
export async function removeExported(
  { db, kind }: Pick<Database, "db" | "kind">,
  namespaceId: string,
  { at: until, ...head }: ExportedHead,
  key: SigningKey,
): Promise<number | undefined> {
  const tenant = columnText(namespaceId);
  const unsigned = { kind: "turnpike.audit.anchor", version: 1, namespaceId: tenant, ...head, until } as const;
  const content = canonicalJson(await signRecord(unsigned, key));
  return db.transaction().execute(async (transaction) => {
    if (kind === "postgres") await lockAnchors(transaction);
    const rows = transaction.selectFrom("audit").where("namespace_id", "=", tenant).where("strand", "=", head.strand);
    const last = await rows.select("hash").where("sequence", "=", head.sequence).executeTakeFirst();
    if (last?.hash !== head.hash) return undefined;
    const removed = await transaction
      .deleteFrom("audit")
      .where("namespace_id", "=", tenant)
      .where("strand", "=", head.strand)
      .where("sequence", "<=", head.sequence)
      .executeTakeFirst();
    await transaction
      .insertInto("audit_anchors")
      .values({ namespace_id: tenant, strand: head.strand, content })
      .onConflict((conflict) => conflict.columns(["namespace_id", "strand"]).doUpdateSet({ content }))
      .execute();
    return Number(removed.numDeletedRows);
  });
}

/** Signs the anchors of all tenants that one of these keys signed, with another: a key that retired proves nothing any more. */
export async function signAnchorsAnew(
  db: Database["db"],
  trusted: readonly VerifyingKey[],
  key: SigningKey,
): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    let count = 0;
    for (const row of await transaction.selectFrom("audit_anchors").selectAll().execute()) {
      const anchor = parse(row.content);
      if (anchor === undefined || trusted.every((one) => signatureProblem(anchor, one) !== undefined)) continue;
      const { key: _key, signature: _signature, ...unsigned } = anchor;
      const content = canonicalJson(await signRecord(unsigned, key));
      const same = transaction.updateTable("audit_anchors").set({ content }).where("content", "=", row.content);
      await same.where("namespace_id", "=", row.namespace_id).where("strand", "=", row.strand).execute();
      count += 1;
    }
    return count;
  });
}

/** Hosts move anchors one after the other: one that moved back would look like removed rows. */
async function lockAnchors(transaction: Transaction<Schema>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLocks.anchors}, 0)`.execute(transaction);
}

function parse(content: string): Anchor | undefined {
  try {
    return AnchorSchema.safeParse(JSON.parse(content)).data;
  } catch {
    return undefined;
  }
}
