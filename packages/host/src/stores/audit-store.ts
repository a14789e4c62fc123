import { createHash } from "node:crypto";
import type { Kysely, Transaction } from "kysely";
import { canonicalJson, principalKey, type AuditEvent, type PrincipalRef } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";

/** The audit trail: rows of a tenant form a chain in which each hash covers all before it. */
export interface AuditStore extends AuditSink {
  /** The number of the first row that was changed or removed; undefined when the chain is whole. */
  verify(namespaceId: string): Promise<number | undefined>;
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

const maxBatch = 500;
const origin = "0".repeat(64);

/** Events that arrive while a commit runs share the next one. */
export function createAuditStore({ db, kind }: Database): AuditStore {
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    // Whatever is recorded in this tick shares the first commit.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxBatch);
      try {
        await db.transaction().execute((transaction) =>
          append(
            transaction,
            batch.map(({ event }) => event),
          ),
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  };

  const append = async (transaction: Transaction<Schema>, events: readonly AuditEvent[]): Promise<void> => {
    // Sorted, so that two hosts that write for the same tenants lock them in the same order.
    const tenants = [...new Set(events.map(({ namespaceId }) => columnText(namespaceId)))].toSorted();
    for (const tenant of tenants) {
      const head = await lockHead(transaction, tenant, kind);
      const rows = chain(
        head,
        events.filter(({ namespaceId }) => columnText(namespaceId) === tenant),
      );
      await transaction.insertInto("audit").values(rows).execute();
      const last = rows.at(-1);
      if (last === undefined) continue;
      const { sequence, hash } = last;
      await transaction.updateTable("audit_heads").set({ sequence, hash }).where("namespace_id", "=", tenant).execute();
    }
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
    async verify(namespaceId) {
      const head = await readHead(db, namespaceId);
      const last = await walk(db, namespaceId, head.sequence);
      if (last.sequence < head.sequence || last.hash !== head.hash) return last.sequence + 1;
      // A row behind the head came with a newer head, or did not come from here.
      const isEnd = !(await hasRowBehind(db, namespaceId, head.sequence));
      if (isEnd || (await readHead(db, namespaceId)).sequence > head.sequence) return undefined;
      return (await walk(db, namespaceId, Number.MAX_SAFE_INTEGER)).sequence + 1;
    },
  };
}

/** Follows the chain, no further than to a row, for as long as each is what it has to be. */
async function walk(db: Kysely<Schema>, namespaceId: string, until: number): Promise<Head> {
  let last: Head = { sequence: 0, hash: origin };
  for (;;) {
    const rows = await db
      .selectFrom("audit")
      .selectAll()
      .where("namespace_id", "=", columnText(namespaceId))
      .where("sequence", ">", last.sequence)
      .where("sequence", "<=", until)
      .orderBy("sequence")
      .limit(1000)
      .execute();
    for (const row of rows) {
      const expected = expectedRow(last, row.content);
      if (expected === undefined || canonicalJson(row) !== canonicalJson(expected)) return last;
      last = expected;
    }
    if (rows.length < 1000) return last;
  }
}

async function hasRowBehind(db: Kysely<Schema>, namespaceId: string, sequence: number): Promise<boolean> {
  const row = await db
    .selectFrom("audit")
    .select("sequence")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("sequence", ">", sequence)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

async function readHead(db: Kysely<Schema>, namespaceId: string): Promise<Head> {
  const head = await db
    .selectFrom("audit_heads")
    .select(["sequence", "hash"])
    .where("namespace_id", "=", columnText(namespaceId))
    .executeTakeFirst();
  return head ?? { sequence: 0, hash: origin };
}

interface Head {
  sequence: number;
  hash: string;
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

function chain(head: Head, events: readonly AuditEvent[]): Schema["audit"][] {
  const rows: Schema["audit"][] = [];
  for (const event of events) rows.push(rowOf(rows.at(-1) ?? head, event));
  return rows;
}

/** The row of an event behind another; every column follows from the event and what was before. */
function rowOf(previous: Head, event: AuditEvent): Schema["audit"] {
  const content = canonicalJson(event);
  const sequence = previous.sequence + 1;
  const { id, type, outcome, at } = event;
  return {
    namespace_id: columnText(event.namespaceId),
    sequence,
    id,
    type,
    outcome,
    at,
    actor: columnText(principalKey(event.actor)),
    trace_id: columnText(event.traceId),
    content,
    hash: hashOf(previous.hash, sequence, content),
  };
}

/** The row that belongs behind another with this content; undefined when that is no event. */
function expectedRow(previous: Head, content: string): Schema["audit"] | undefined {
  try {
    return rowOf(previous, JSON.parse(content) as AuditEvent);
  } catch {
    return undefined;
  }
}

function hashOf(previous: string, sequence: number, content: string): string {
  return createHash("sha256").update(`${previous}\n${sequence}\n${content}`).digest("hex");
}
