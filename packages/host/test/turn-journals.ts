import { sql } from "kysely";
import { principalKey, type ToolResult } from "turnpike/contracts";
import type { JournalEntry, TurnKey, TurnProgress, TurnToBegin } from "turnpike/runtime";
import { openLedger, type Ledger, type OpenTurnLimits } from "../src/ledger/index.ts";
import type { Database } from "../src/storage/index.ts";
import { createTurnJournal, type TurnJournalStore } from "../src/turns/journal/journal-store.ts";
import type { LedgerRunWriter } from "../src/turns/journal/run-writer.ts";
import { events, turn } from "./counting-api.ts";
import { assistant, context, now } from "./records.ts";

/** The journal of a process of its own on a database. */
export function openJournal(database: Database, most?: OpenTurnLimits): TurnJournalStore & { ledger: Ledger } {
  const ledger = openLedger(database);
  const journal = createTurnJournal(database, ledger, {
    credentialOf: ({ host }) => host as { id: string } | undefined,
    ...(most && { most }),
  });
  return { ...journal, ledger };
}

export function turnToBegin(namespaceId: string, executionId: string, changes: Partial<TurnToBegin> = {}): TurnToBegin {
  return {
    request: { ...turn, executionId },
    context: context({ namespaceId, executionId }),
    isAsync: true,
    runtime: { id: "test", version: "1" },
    limits: { maxSteps: 3, maxToolCalls: 3, timeoutMs: 1000 },
    startedAt: now,
    ...changes,
  };
}

export function turnKey(namespaceId: string, executionId: string): TurnKey {
  return { namespaceId, actor: assistant, executionId };
}

export const progress: TurnProgress = { at: "2026-01-01T12:00:01.000Z", steps: 1, toolCalls: 1, ranMs: 10.4 };

/** The entry of the first events of a turn, or of the last. */
export function eventEntries(from = 0, to = 1): JournalEntry[] {
  return events.slice(from, to).map((event) => ({ kind: "event", event }));
}

export function waitingEntry(id: string, expiresAt: string): JournalEntry & { kind: "waiting" } {
  const escalation = { status: "pending", reason: "May I?", requestedAt: now, reviewer: assistant } as const;
  return { kind: "waiting", callId: "call-1", escalation, question: { id, expiresAt } };
}

/** The entry of a call that waits for an approval. */
export function approvalEntry(callId: string, { id, expiresAt }: { id: string; expiresAt: string }): JournalEntry {
  const entry = waitingEntry(id, expiresAt);
  const escalation = { ...entry.escalation, reason: `${callId} needs a person's approval.` };
  return { ...entry, callId, escalation, approval: { tool: "files.write" } };
}

export function endedEntry(executionId: string, changes: object = {}): JournalEntry {
  const times = { startedAt: now, completedAt: "2026-01-01T12:00:09.000Z" };
  const ids = { version: 1, executionId, traceId: "trace-1" } as const;
  return { kind: "ended", result: { status: "succeeded", ...ids, ...times, output: "done", ...changes } as never };
}

/** A turn that this journal begins. */
export async function beginTurn(
  journal: TurnJournalStore,
  begins: TurnToBegin,
  host?: unknown,
): Promise<LedgerRunWriter> {
  const begun = await journal.begin(begins, { host });
  if (begun.kind !== "begun") throw new Error("The id is taken.");
  return begun.writer as LedgerRunWriter;
}

/** Makes a turn that waits resume, with an answer if there is one. */
async function wake({ db }: Database, key: TurnKey, callId: string, result?: ToolResult): Promise<void> {
  const isIt = sql<boolean>`namespace_id = ${key.namespaceId} and execution_id = ${key.executionId}
    and actor = ${principalKey(key.actor)} and status = 'waiting'`;
  const row = await db.selectFrom("turns").select(["id", "entries"]).where(isIt).executeTakeFirst();
  if (row === undefined) return;
  if (result !== undefined) {
    const content = JSON.stringify({ kind: "answered", callId, result });
    const entry = { turn: row.id, position: row.entries, kind: "answered", sequence: null, content };
    await db.insertInto("turn_entries").values(entry).execute();
  }
  const woken = { status: "running", waiting: null, entries: row.entries + 1 };
  await db.updateTable("turns").set(woken).where("id", "=", row.id).execute();
  await db.deleteFrom("turn_questions").where("turn", "=", row.id).execute();
}

/** Answers the escalation `escalation-n` about the call `call-n`, whether a turn waits for it yet or not. */
export async function answerCall(database: Database, key: TurnKey, callId: string, result?: ToolResult): Promise<void> {
  if (result?.tool === "service.escalate") return wake(database, key, callId, result);
  const { db } = database;
  await db.deleteFrom("escalations").where("namespace_id", "=", key.namespaceId).execute();
  const status = result === undefined ? "approved" : "denied";
  const asked = { namespace_id: key.namespaceId, id: callId.replace("call", "escalation"), ask: callId, requester: "" };
  const expires_at = "2999-01-01T00:00:00.000Z";
  await db
    .insertInto("escalations")
    .values({ ...asked, status, expires_at, content: "{}" })
    .execute();
  await createTurnJournal(database, openLedger(database)).wakeMissed(
    9,
    result?.completedAt ?? "2026-01-01T12:02:00.000Z",
  );
}

/** Takes a turn as another process does that finds that no host runs it. */
export async function takeElsewhere(database: Database, key: TurnKey): Promise<LedgerRunWriter> {
  const other = openJournal(database);
  // An answer that came too early is found; any other turn that waits resumes without one.
  await other.wakeMissed(9, "2026-01-01T12:02:00.000Z");
  await wake(database, key, "");
  const { db } = database;
  const isIt = sql<boolean>`namespace_id = ${key.namespaceId} and execution_id = ${key.executionId}`;
  const { id } = await db.selectFrom("turns").select("id").where(isIt).executeTakeFirstOrThrow();
  const writer = await other.take(id);
  if (writer === undefined) throw new Error("The turn was not taken.");
  return writer;
}
