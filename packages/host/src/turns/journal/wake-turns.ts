import type { Transaction } from "kysely";
import { columnText } from "../../base/index.ts";
import type { Database, Schema } from "../../storage/index.ts";
import { resultOf, type QuestionAnswer } from "./question-answer.ts";
import { entryRow, type TurnId, type TurnRow, type Waiting } from "./turn-rows.ts";

type WaitingRow = Pick<TurnRow, "id" | "namespace_id" | "entries" | "waiting" | "question_id" | "question_expires_at">;
const columns = ["id", "namespace_id", "entries", "waiting", "question_id", "question_expires_at"] as const;

/** Wakes turns that wait for a question. */
export function createTurnWaking({ db, reports, kind }: Database, onWoken: (id: TurnId) => void) {
  // INVARIANT: only a turn that waits has a question. Rows are locked in an order that is the same for all.
  const lockedRows = (transaction: Transaction<Schema>) => {
    const rows = transaction.selectFrom("turns").select(columns);
    return kind === "postgres" ? rows.orderBy("id").forUpdate() : rows;
  };

  /** Wakes one turn with its answer, if it still waits for the question. */
  const wake = async (transaction: Transaction<Schema>, row: WaitingRow, answer: QuestionAnswer): Promise<void> => {
    const { callId } = JSON.parse(row.waiting ?? "{}") as Waiting;
    const result = resultOf(callId, answer);
    await transaction
      .updateTable("turns")
      .set({
        status: "running",
        host_id: null,
        question_id: null,
        question_expires_at: null,
        waiting: null,
        entries: row.entries + 1,
        updated_at: answer.now,
      })
      .where("id", "=", row.id)
      .execute();
    const entry = entryRow(row.id, row.entries, { kind: "answered", callId, result });
    await transaction.insertInto("turn_entries").values(entry).execute();
  };

  /** Wakes a turn whose question is answered or expired by now. */
  const settle = async (id: TurnId, now: string): Promise<boolean> => {
    const isWoken = await db.transaction().execute(async (transaction) => {
      const row = await lockedRows(transaction).where("id", "=", id).executeTakeFirst();
      const answer = row && (await answerOf(transaction, row, now));
      if (row === undefined || answer === undefined) return false;
      await wake(transaction, row, answer);
      return true;
    });
    if (isWoken) onWoken(id);
    return isWoken;
  };
  const settleAll = async (rows: readonly { id: TurnId }[], now: string): Promise<TurnId[]> => {
    const woken: TurnId[] = [];
    for (const { id } of rows) if (await settle(id, now)) woken.push(id);
    return woken;
  };

  return {
    /** In the transaction of an operator's answer: every turn that waits for the question goes on. */
    async wakeAnswered(transaction: Transaction<Schema>, answer: QuestionAnswer): Promise<TurnId[]> {
      const rows = await lockedRows(transaction)
        .where("question_id", "=", columnText(answer.id))
        .where("namespace_id", "=", columnText(answer.namespaceId))
        .execute();
      for (const row of rows) await wake(transaction, row, answer);
      return rows.map(({ id }) => id);
    },
    /** Wakes turns whose question nobody answered in time. */
    async wakeExpired(now: string, limit: number): Promise<TurnId[]> {
      const expired = reports.selectFrom("turns").select("id").where("question_expires_at", "<=", now);
      return settleAll(await expired.limit(limit).execute(), now);
    },
    /** Wakes turns whose question was answered after it was asked and before they waited. */
    async wakeMissed(limit: number, now = new Date().toISOString()): Promise<TurnId[]> {
      const missed = reports
        .selectFrom("turns")
        .select("id")
        .where("question_id", "is not", null)
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom("escalations")
              .select("escalations.id")
              .whereRef("escalations.namespace_id", "=", "turns.namespace_id")
              .whereRef("escalations.id", "=", "turns.question_id")
              .where("escalations.status", "!=", "pending"),
          ),
        );
      return settleAll(await missed.limit(limit).execute(), now);
    },
  };
}

/** What the queue knows of the question that a turn waits for; undefined when it is still open. */
async function answerOf(
  transaction: Transaction<Schema>,
  { namespace_id, question_id, question_expires_at }: WaitingRow,
  now: string,
): Promise<QuestionAnswer | undefined> {
  if (question_id === null) return undefined;
  const base = { namespaceId: namespace_id, id: question_id, now };
  const asked = await transaction
    .selectFrom("escalations")
    .select(["status", "content"])
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", question_id)
    .executeTakeFirst();
  if (asked?.status === "denied") return { ...base, status: "denied" };
  if (asked?.status !== "approved") {
    const isOver = question_expires_at !== null && question_expires_at <= now;
    return isOver ? { ...base, status: "expired" } : undefined;
  }
  const { grantId } = JSON.parse(asked.content) as { grantId?: string };
  const issued = await transaction
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", columnText(grantId ?? ""))
    .executeTakeFirst();
  const { constraints } = JSON.parse(issued?.content ?? "{}") as { constraints?: { expiresAt?: string } };
  return { ...base, status: "approved", grantId, grantExpiresAt: constraints?.expiresAt };
}
