import { sql } from "kysely";
import { principalKey, type AuditEvent, type PrincipalRef } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { entryOf, openLedger, type Ledger, type StrandHead, type TenantHead } from "../ledger/index.ts";
import type { ExportPlace } from "../management/index.ts";
import { readAnchors, type Anchors } from "./anchors.ts";
import { beginExport, continueExport, type ExportPage, type ExportRange } from "./audit-export.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";
import { findBreak, isKnownTenant, verifyTrail, type Break, type SignedHead, type TrailState } from "./audit-verify.ts";
import { columnText } from "../base/index.ts";
import type { Database } from "../storage/index.ts";

/** The audit trail: rows of a tenant form a chain in which each hash covers all before it. */
export interface AuditStore extends AuditSink {
  /** Where the chains of a tenant begin, by what was signed with the key. */
  readAnchors(namespaceId: string, key: VerifyingKey): Promise<Anchors>;
  /** Follows the chain of a tenant: how far it is whole, and which row is the first that was changed or removed. */
  verify(namespaceId: string, anchors?: readonly StrandHead[]): Promise<TrailState>;
  /** What became of the first of these heads that is not on the trail; undefined when all of them are. */
  findBreak(
    namespaceId: string,
    heads: readonly SignedHead[],
    anchors?: readonly StrandHead[],
  ): Promise<Break | undefined>;
  /** The first page of an export. Throws `AuditExportError` when the trail is not whole. */
  beginExport(namespaceId: string, key: SigningKey, range: ExportRange): Promise<ExportPage>;
  /** The page of an export behind another. */
  continueExport(namespaceId: string, key: SigningKey, place: ExportPlace): Promise<ExportPage>;
  /** Whether the database has anything of a tenant: a trail, a grant or a credential. */
  isKnown(namespaceId: string): Promise<boolean>;
  /** The heads of tenants behind another, in a fixed order. */
  listHeads(behind: Pick<TenantHead, "namespaceId" | "strand"> | undefined, limit: number): Promise<TenantHead[]>;
  /**
   * The heads that this process committed since they were last taken: what it wrote, whatever the database has now. A
   * chain that went back in between has the head from before and the one from after.
   */
  takeHeads(): TenantHead[];
  /** How many heads there are to take. */
  readonly untaken: number;
  /** Events of a tenant, newest first; those that stand before `before`. */
  list(namespaceId: string, filter: AuditFilter): Promise<AuditRow[]>;
  /** How many events wait to be written. */
  readonly waiting: number;
  /** Resolves when everything recorded so far is kept or refused. */
  flush(): Promise<void>;
}

/** Where an event stands in the trail: when it was, and its place in one of the tenant's chains. */
export interface AuditPlace {
  at: string;
  strand: number;
  sequence: number;
}

/** One event and where it stands. */
interface AuditRow extends AuditPlace {
  event: AuditEvent;
}

/** Which events to list; instants are UTC, as the host writes them. */
interface AuditFilter {
  from?: string | undefined;
  until?: string | undefined;
  actor?: PrincipalRef | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  traceId?: string | undefined;
  before?: AuditPlace | undefined;
  limit: number;
}

/** What is written goes through the ledger; alone, the store has one of its own. */
export function createAuditStore(database: Database, ledger: Ledger = openLedger(database)): AuditStore {
  const { reports } = database;
  return {
    async record(event) {
      await ledger.submit({ alternatives: [{ entries: [entryOf(event)] }] });
    },
    get waiting() {
      return ledger.waiting;
    },
    async list(namespaceId, { from, until, actor, type, outcome, traceId, before, limit }) {
      let rows = reports
        .selectFrom("audit")
        .select(["at", "strand", "sequence", "content"])
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("at", "desc")
        .orderBy("strand", "desc")
        .orderBy("sequence", "desc")
        .limit(limit);
      if (from !== undefined) rows = rows.where("at", ">=", from);
      if (until !== undefined) rows = rows.where("at", "<", until);
      if (actor !== undefined) rows = rows.where("actor", "=", columnText(principalKey(actor)));
      if (type !== undefined) rows = rows.where("type", "=", type);
      if (outcome !== undefined) rows = rows.where("outcome", "=", outcome);
      if (traceId !== undefined) rows = rows.where("trace_id", "=", columnText(traceId));
      if (before !== undefined)
        rows = rows.where(
          sql<boolean>`(at, strand, sequence) < (${before.at}, cast(${before.strand} as integer), cast(${before.sequence} as bigint))`,
        );
      const found = await rows.execute();
      return found.map(({ content, ...place }) => ({ ...place, event: JSON.parse(content) as AuditEvent }));
    },
    flush: () => ledger.flush(),
    readAnchors: (namespaceId, key) => readAnchors(reports, namespaceId, key),
    verify: (namespaceId, anchors) => verifyTrail(reports, namespaceId, anchors),
    findBreak: (namespaceId, heads, anchors) => findBreak(reports, namespaceId, heads, anchors),
    beginExport: (namespaceId, key, range) => beginExport({ db: reports, namespaceId, key }, range),
    continueExport: (namespaceId, key, place) => continueExport({ db: reports, namespaceId, key }, place),
    isKnown: (namespaceId) => isKnownTenant(reports, namespaceId),
    async listHeads(behind, limit) {
      let heads = reports
        .selectFrom("audit_heads")
        .select(["namespace_id as namespaceId", "strand", "sequence", "hash"]);
      if (behind !== undefined)
        heads = heads.where(
          sql<boolean>`(namespace_id, strand) > (${behind.namespaceId}, cast(${behind.strand} as integer))`,
        );
      return heads.orderBy("namespace_id").orderBy("strand").limit(limit).execute();
    },
    takeHeads: () => ledger.heads.take(),
    get untaken() {
      return ledger.heads.size;
    },
  };
}
