import { sql } from "kysely";
import { principalKey, type ToolResult } from "turnpike/contracts";
import type { JournalEntry, TurnKey, TurnProgress, TurnToBegin } from "turnpike/runtime";
import { openLedger, type Ledger } from "../src/ledger/index.ts";
import type { Database } from "../src/storage/index.ts";
import { createTurnJournal, type TurnJournalStore } from "../src/turns/journal/journal-store.ts";
import type { JournalPen } from "../src/turns/journal/pen.ts";
import { events, turn } from "./counting-api.ts";
import { assistant, context, now } from "./records.ts";

/** The journal of a process of its own on a database, with a clock that can be set. */
export function openJournal(database: Database): TurnJournalStore & { ledger: Ledger; clock: { ms: number } } {
  const ledger = openLedger(database);
  const clock = { ms: 0 };
  const journal = createTurnJournal(database, ledger, {
    now: () => clock.ms,
    credentialOf: ({ host }) => host as { id: string } | undefined,
  });
  return { ...journal, ledger, clock };
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

export function waitingEntry(questionId: string, expiresAt: string): JournalEntry {
  const escalation = { status: "pending", reason: "May I?", requestedAt: now, reviewer: assistant } as const;
  return { kind: "waiting", callId: "call-1", escalation, question: { id: questionId, expiresAt } };
}

export function endedEntry(executionId: string, changes: object = {}): JournalEntry {
  const times = { startedAt: now, completedAt: "2026-01-01T12:00:09.000Z" };
  const ids = { version: 1, executionId, traceId: "trace-1" } as const;
  return { kind: "ended", result: { status: "succeeded", ...ids, ...times, output: "done", ...changes } as never };
}

/** A turn that this journal begins. */
export async function beginTurn(journal: TurnJournalStore, begins: TurnToBegin, host?: unknown): Promise<JournalPen> {
  const begun = await journal.begin(begins, { host });
  if (begun.kind !== "begun") throw new Error("The id is taken.");
  return begun.pen as JournalPen;
}

/** Makes a turn that waits go on, with an answer if there is one. */
export async function wake({ db }: Database, key: TurnKey, callId: string, result?: ToolResult): Promise<void> {
  const isIt = sql<boolean>`namespace_id = ${key.namespaceId} and execution_id = ${key.executionId}
    and actor = ${principalKey(key.actor)} and status = 'waiting'`;
  const row = await db.selectFrom("turns").select(["id", "entries"]).where(isIt).executeTakeFirst();
  if (row === undefined) return;
  if (result !== undefined) {
    const content = JSON.stringify({ kind: "answered", callId, result });
    const entry = { turn: row.id, position: row.entries, kind: "answered", sequence: null, content };
    await db.insertInto("turn_entries").values(entry).execute();
  }
  const woken = {
    status: "running",
    waiting: null,
    question_id: null,
    question_expires_at: null,
    entries: row.entries + 1,
  };
  await db.updateTable("turns").set(woken).where("id", "=", row.id).execute();
}

/** Takes a turn as another process does that finds nobody running it. */
export async function takeElsewhere(database: Database, key: TurnKey): Promise<JournalPen> {
  await wake(database, key, "");
  const other = openJournal(database);
  const { db } = database;
  const isIt = sql<boolean>`namespace_id = ${key.namespaceId} and execution_id = ${key.executionId}`;
  const { id } = await db.selectFrom("turns").select("id").where(isIt).executeTakeFirstOrThrow();
  const pen = await other.take(id);
  if (pen === undefined) throw new Error("The turn was not taken.");
  return pen;
}
