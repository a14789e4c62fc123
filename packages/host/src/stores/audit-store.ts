import { createHash } from "node:crypto";
import type { Transaction } from "kysely";
import { canonicalJson, principalKey, type AuditEvent } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";

/** The audit trail: rows of a tenant form a chain in which each hash covers all before it. */
export interface AuditStore extends AuditSink {
  /** The number of the first row that was changed or removed; undefined when the chain is whole. */
  verify(namespaceId: string): Promise<number | undefined>;
  /** Resolves when everything recorded so far is kept or refused. */
  flush(): Promise<void>;
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
    async flush() {
      await writing;
    },
    async verify(namespaceId) {
      let head: Head = { sequence: 0, hash: origin };
      for (;;) {
        const rows = await db
          .selectFrom("audit")
          .selectAll()
          .where("namespace_id", "=", columnText(namespaceId))
          .where("sequence", ">", head.sequence)
          .orderBy("sequence")
          .limit(1000)
          .execute();
        for (const row of rows) {
          const expected = expectedRow(head, row.content);
          if (expected === undefined || canonicalJson(row) !== canonicalJson(expected)) return head.sequence + 1;
          head = expected;
        }
        if (rows.length < 1000) break;
      }
      const kept = await db
        .selectFrom("audit_heads")
        .selectAll()
        .where("namespace_id", "=", columnText(namespaceId))
        .executeTakeFirst();
      const isWhole =
        kept === undefined ? head.sequence === 0 : kept.hash === head.hash && kept.sequence === head.sequence;
      return isWhole ? undefined : head.sequence + 1;
    },
  };
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
