import type { Transaction } from "kysely";
import { principalKey, type AuditEvent, type PrincipalRef } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { chainRows, origin, sharedStrand, type Head, type TenantHead } from "./chain.ts";
import { findBreak, isKnownTenant, verifyTrail, type Break, type SignedHead, type TrailState } from "./audit-verify.ts";
import { columnText } from "../base/index.ts";
import type { Database, Schema } from "../storage/index.ts";

/** The audit trail: rows of a tenant form a chain in which each hash covers all before it. */
export interface AuditStore extends AuditSink {
  /** Follows the chain of a tenant: how far it is whole, and which row is the first that was changed or removed. */
  verify(namespaceId: string): Promise<TrailState>;
  /** What became of the first of these heads that is not on the trail; undefined when all of them are. */
  findBreak(namespaceId: string, heads: readonly SignedHead[]): Promise<Break | undefined>;
  /** Whether the database has anything of a tenant: a trail, a grant or a credential. */
  isKnown(namespaceId: string): Promise<boolean>;
  /** The heads of tenants behind another, in a fixed order. */
  listHeads(behind: string | undefined, limit: number): Promise<TenantHead[]>;
  /**
   * The heads that this process committed since they were last taken: what it wrote, whatever the database has now. A
   * chain that went back in between has the head from before and the one from after.
   */
  takeHeads(): TenantHead[];
  /** How many heads there are to take. */
  readonly untaken: number;
  /** Events of a tenant, newest first; those before the row `before`. */
  list(namespaceId: string, filter: AuditFilter): Promise<AuditRow[]>;
  /** How many events wait to be written. */
  readonly waiting: number;
  /** Resolves when everything recorded so far is kept or refused. */
  flush(): Promise<void>;
}

/** One event and its place in the chain. */
interface AuditRow {
  sequence: number;
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
  before?: number | undefined;
  limit: number;
}

interface Waiting {
  event: AuditEvent;
  resolve(): void;
  reject(error: unknown): void;
}

/** The head that a batch went on from, and the one that it left. */
interface Appended {
  base: Head;
  head: TenantHead;
}

const maxBatch = 500;

/** Events that arrive while a commit runs share the next one. */
export function createAuditStore({ db, kind }: Database): AuditStore {
  const waiting: Waiting[] = [];
  const newest = new Map<string, TenantHead>();
  const replaced: TenantHead[] = [];
  let writing: Promise<void> | undefined;

  /** Another host may have gone on from what this one wrote; whatever else it was continued from is not this chain. */
  const keepHead = ({ base, head }: Appended): void => {
    const before = newest.get(head.namespaceId);
    const isContinued = base.hash === before?.hash || base.sequence > (before?.sequence ?? -1);
    if (before !== undefined && !isContinued) replaced.push(before);
    newest.set(head.namespaceId, head);
  };

  const writeAll = async (): Promise<void> => {
    // Whatever is recorded in this tick shares the first commit.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxBatch);
      try {
        const appended = await db.transaction().execute((transaction) =>
          append(
            transaction,
            batch.map(({ event }) => event),
          ),
        );
        appended.forEach(keepHead);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  };

  const append = async (transaction: Transaction<Schema>, events: readonly AuditEvent[]): Promise<Appended[]> => {
    const appended: Appended[] = [];
    // Sorted, so that two hosts that write for the same tenants lock them in the same order.
    const tenants = [...new Set(events.map(({ namespaceId }) => columnText(namespaceId)))].toSorted();
    for (const tenant of tenants) {
      const base = await lockHead(transaction, tenant, kind);
      const rows = chainRows(
        base,
        events.filter(({ namespaceId }) => columnText(namespaceId) === tenant),
      );
      await transaction.insertInto("audit").values(rows).execute();
      const last = rows.at(-1);
      if (last === undefined) continue;
      const { sequence, hash } = last;
      await transaction.updateTable("audit_heads").set({ sequence, hash }).where("namespace_id", "=", tenant).execute();
      appended.push({ base, head: { namespaceId: tenant, strand: sharedStrand, sequence, hash } });
    }
    return appended;
  };

  return {
    record(event) {
      return new Promise((resolve, reject) => {
        waiting.push({ event, resolve, reject });
        writing ??= writeAll();
      });
    },
    get waiting() {
      return waiting.length;
    },
    async list(namespaceId, { from, until, actor, type, outcome, traceId, before, limit }) {
      let rows = db
        .selectFrom("audit")
        .select(["sequence", "content"])
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("sequence", "desc")
        .limit(limit);
      if (from !== undefined) rows = rows.where("at", ">=", from);
      if (until !== undefined) rows = rows.where("at", "<", until);
      if (actor !== undefined) rows = rows.where("actor", "=", columnText(principalKey(actor)));
      if (type !== undefined) rows = rows.where("type", "=", type);
      if (outcome !== undefined) rows = rows.where("outcome", "=", outcome);
      if (traceId !== undefined) rows = rows.where("trace_id", "=", columnText(traceId));
      if (before !== undefined) rows = rows.where("sequence", "<", before);
      const found = await rows.execute();
      return found.map(({ sequence, content }) => ({ sequence, event: JSON.parse(content) as AuditEvent }));
    },
    async flush() {
      await writing;
    },
    verify: (namespaceId) => verifyTrail(db, namespaceId),
    findBreak: (namespaceId, heads) => findBreak(db, namespaceId, heads),
    isKnown: (namespaceId) => isKnownTenant(db, namespaceId),
    async listHeads(behind, limit) {
      let heads = db.selectFrom("audit_heads").select(["namespace_id", "sequence", "hash"]).orderBy("namespace_id");
      if (behind !== undefined) heads = heads.where("namespace_id", ">", behind);
      const found = await heads.limit(limit).execute();
      return found.map(({ namespace_id: namespaceId, sequence, hash }) => ({
        namespaceId,
        strand: sharedStrand,
        sequence,
        hash,
      }));
    },
    takeHeads() {
      const heads = [...replaced, ...newest.values()];
      replaced.length = 0;
      newest.clear();
      return heads;
    },
    get untaken() {
      return replaced.length + newest.size;
    },
  };
}

async function lockHead(transaction: Transaction<Schema>, tenant: string, kind: Database["kind"]): Promise<Head> {
  await transaction
    .insertInto("audit_heads")
    .values({ namespace_id: tenant, sequence: 0, hash: origin })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const head = transaction.selectFrom("audit_heads").select(["sequence", "hash"]).where("namespace_id", "=", tenant);
  return (kind === "postgres" ? head.forUpdate() : head).executeTakeFirstOrThrow();
}
