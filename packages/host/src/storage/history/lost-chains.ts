import { sql, type Kysely } from "kysely";
import type { Schema } from "../schema.ts";

/** The newest row of a chain of the audit log that a host knows to be durable. */
export interface KnownHead {
  namespaceId: string;
  strand: number;
  sequence: number;
  hash: string;
}

/** A chain without a row that a host knows to have been durable. */
export interface LostChain extends KnownHead {
  /** The number of its last row now; 0 when it has none. */
  now: number;
}

const headsAtOnce = 500;

/** The names of a chain are unique among all chains. */
export function nameOfChain({ namespaceId, strand }: Pick<KnownHead, "namespaceId" | "strand">): string {
  return `${strand} ${namespaceId}`;
}

/**
 * Which of these heads are in the database no more. A head is there when its row is, also when others continued its chain, and when it
 * is among the rows that were exported and removed.
 */
export async function findLostChains(db: Kysely<Schema>, known: readonly KnownHead[]): Promise<LostChain[]> {
  const lost: LostChain[] = [];
  for (let place = 0; place < known.length; place += headsAtOnce) {
    const page = known.slice(place, place + headsAtOnce);
    const ends = await readEnds(db, page);
    for (const head of page) {
      const end = ends.get(nameOfChain(head));
      if (end?.sequence === head.sequence && end.hash === head.hash) continue;
      const isThere = end !== undefined && end.sequence > head.sequence && (await hasRow(db, head));
      if (!isThere) lost.push({ ...head, now: end?.sequence ?? 0 });
    }
  }
  return lost;
}

async function readEnds(db: Kysely<Schema>, heads: readonly KnownHead[]): Promise<Map<string, KnownHead>> {
  const chains = heads.map(
    ({ namespaceId, strand }) => sql`(cast(${namespaceId} as text), cast(${strand} as integer))`,
  );
  const rows = await db
    .selectFrom("audit_heads")
    .select(["namespace_id as namespaceId", "strand", "sequence", "hash"])
    .where(sql<boolean>`(namespace_id, strand) in (values ${sql.join(chains)})`)
    .execute();
  // Not every connection reads 64-bit integers as numbers.
  return new Map(rows.map((row) => [nameOfChain(row), { ...row, sequence: Number(row.sequence) }]));
}

async function hasRow(db: Kysely<Schema>, { namespaceId, strand, sequence, hash }: KnownHead): Promise<boolean> {
  const row = await db
    .selectFrom("audit")
    .select("hash")
    .where("namespace_id", "=", namespaceId)
    .where("strand", "=", strand)
    .where("sequence", "=", sequence)
    .executeTakeFirst();
  if (row !== undefined) return row.hash === hash;
  const anchor = db.selectFrom("audit_anchors").select("content").where("namespace_id", "=", namespaceId);
  const found = await anchor.where("strand", "=", strand).executeTakeFirst();
  return found !== undefined && sequenceIn(found.content) >= sequence;
}

/** The last row that an anchor says was exported. Whether the anchor is genuine is for `audit verify`. */
function sequenceIn(anchor: string): number {
  try {
    return Number((JSON.parse(anchor) as { sequence?: unknown }).sequence ?? 0);
  } catch {
    return 0;
  }
}
