import { sql } from "kysely";
import type { AuditSink } from "turnpike/kernel";
import { recordEvent, type Ledger, type StrandHead, type TenantHead } from "../ledger/index.ts";
import type { ExportPlace } from "../admin-contract/index.ts";
import { createActivity, type Activity } from "./activity.ts";
import { readAnchors, type Anchors } from "./anchors.ts";
import { beginExport, continueExport, type ExportPage, type ExportRange } from "./audit-export.ts";
import { readHeads } from "./audit-heads.ts";
import { listRowsBehind, type TailRow } from "./audit-tail.ts";
import { findScanEnd, listEvents, type AuditFilter, type AuditPlace, type AuditRow } from "./audit-list.ts";
import {
  findBreak,
  isKnownTenant,
  verifyAuditLog,
  type Break,
  type SignedHead,
  type AuditPart,
  type AuditVerdict,
} from "./audit-verify.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";
import type { Database } from "../storage/index.ts";

/** The audit log: rows of a tenant form a chain in which each hash covers all before it. */
export interface AuditStore extends AuditSink {
  /** Where the chains of a tenant begin, as signed with the key. */
  readAnchors(namespaceId: string, key: VerifyingKey): Promise<Anchors>;
  /** Follows the chains of a tenant: how far they are whole, and which row is the first that was changed or removed. */
  verify(namespaceId: string, part?: AuditPart): Promise<AuditVerdict>;
  /** What became of the first of these heads that is not in the audit log; undefined when all of them are. */
  findBreak(
    namespaceId: string,
    heads: readonly SignedHead[],
    anchors?: readonly StrandHead[],
  ): Promise<Break | undefined>;
  /** The first page of an export. Throws `AuditExportError` when the audit log is not whole. */
  beginExport(namespaceId: string, key: SigningKey, range: ExportRange): Promise<ExportPage>;
  /** The page of an export behind another. */
  continueExport(namespaceId: string, key: SigningKey, place: ExportPlace): Promise<ExportPage>;
  /** Whether the database has anything of a tenant: an audit log, a grant or a credential. */
  isKnown(namespaceId: string): Promise<boolean>;
  /** Counts what happened in a tenant in the last hour, minute by minute. */
  readActivity(namespaceId: string, now: Date): Promise<Activity>;
  /** Where the chains of a tenant end. */
  headsOf(namespaceId: string): Promise<StrandHead[]>;
  /** The heads of tenants behind another, in a fixed order. */
  listHeads(behind: Pick<TenantHead, "namespaceId" | "strand"> | undefined, limit: number): Promise<TenantHead[]>;
  /**
   * The heads that this process committed since they were last taken: what it wrote, whatever the database has now. A
   * chain that went back in between has the head from before and the one from after.
   */
  takeHeads(): TenantHead[];
  /** How many heads there are to take. */
  readonly untaken: number;
  /** Events of a tenant, newest first. */
  list(namespaceId: string, filter: AuditFilter & { limit: number }): Promise<AuditRow[]>;
  /**
   * The last event that one page of a list reads, so that a page takes milliseconds however few match: the next one
   * begins before it. Undefined when a page is filled or the audit log ends before that.
   */
  findScanEnd(namespaceId: string, filter: AuditFilter): Promise<AuditPlace | undefined>;
  /** The rows of a strand behind one of them, oldest first: whatever is committed later comes behind these. */
  listRowsBehind(
    namespaceId: string,
    place: Pick<StrandHead, "strand" | "sequence">,
    limit: number,
  ): Promise<TailRow[]>;
  /** How many events wait to be written. */
  readonly waiting: number;
  /** Resolves when everything recorded so far is stored or refused. */
  flush(): Promise<void>;
}

/** What is written goes through the ledger. */
export function createAuditStore(database: Database, ledger: Ledger): AuditStore {
  const { reporting } = database;
  return {
    record: (event, call) => recordEvent(ledger, event, call),
    get waiting() {
      return ledger.waiting;
    },
    list: (namespaceId, filter) => listEvents(database, namespaceId, filter),
    findScanEnd: (namespaceId, filter) => findScanEnd(database, namespaceId, filter),
    listRowsBehind: (namespaceId, place, limit) => listRowsBehind(reporting, namespaceId, place, limit),
    flush: () => ledger.flush(),
    readAnchors: (namespaceId, key) => readAnchors(reporting, namespaceId, key),
    verify: (namespaceId, part) => verifyAuditLog(reporting, namespaceId, part),
    findBreak: (namespaceId, heads, anchors) => findBreak(reporting, namespaceId, heads, anchors),
    beginExport: (namespaceId, key, range) => beginExport({ db: reporting, namespaceId, key }, range),
    continueExport: (namespaceId, key, place) => continueExport({ db: reporting, namespaceId, key }, place),
    isKnown: (namespaceId) => isKnownTenant(reporting, namespaceId),
    readActivity: createActivity(database),
    headsOf: (namespaceId) => readHeads(reporting, namespaceId),
    async listHeads(behind, limit) {
      let heads = reporting
        .selectFrom("audit_heads")
        .select(["namespace_id as namespaceId", "strand", "sequence", "hash"])
        // A head is made before its first row, and nothing may come of it.
        .where("sequence", ">", 0);
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
