import type { Selectable, Transaction } from "kysely";
import { columnText } from "../../base/index.ts";
import type { Database, Schema } from "../../storage/index.ts";
import { entriesOfAnswer, type QuestionAnswer } from "./question-answer.ts";
import { entryRows, type QuestionContent, type TurnId, type TurnRow } from "./turn-rows.ts";

type WaitingRow = Pick<TurnRow, "id" | "entries">;
type QuestionRow = Selectable<Schema["turn_questions"]>;
/** A question of a turn that has its answer. */
type Settled = readonly [QuestionRow, QuestionAnswer];
interface Woken {
  row: WaitingRow;
  settled: readonly Settled[];
}

/** How many rows one statement is about. */
const atOnce = 1_000;

/** Wakes turns that wait for questions. */
export function createTurnWaking({ db, reports, kind }: Database, onWoken: (id: TurnId) => void) {
  /**
   * INVARIANT: whoever changes the questions of a turn has its row first, and has several rows in the order of their ids.
   * Only a turn that waits has questions: what is read behind the lock is what it waits for.
   */
  const lock = async (transaction: Transaction<Schema>, ids: readonly TurnId[]): Promise<WaitingRow[]> => {
    if (ids.length === 0) return [];
    const rows = transaction.selectFrom("turns").select(["id", "entries"]).where("id", "in", ids);
    return (kind === "postgres" ? rows.orderBy("id").forUpdate() : rows).execute();
  };
  const questionsOf = (transaction: Transaction<Schema>, ids: readonly TurnId[]): Promise<QuestionRow[]> =>
    transaction.selectFrom("turn_questions").selectAll().where("turn", "in", ids).orderBy("place").execute();

  /**
   * Wakes turns with answers to some of their questions; the others are asked again when they go on. A statement is for many
   * turns: whoever writes waits for as long as it takes.
   */
  const wake = async (transaction: Transaction<Schema>, woken: readonly Woken[], now: string): Promise<void> => {
    const answers = woken.map(({ row, settled }) => ({
      row,
      entries: settled.flatMap(([{ content }, answer]) =>
        entriesOfAnswer(JSON.parse(content) as QuestionContent, answer),
      ),
    }));
    const rows = answers.flatMap(({ row, entries }) => entryRows(row.id, row.entries, entries));
    for (const [count, same] of groupBy(answers, ({ entries }) => entries.length))
      await transaction
        .updateTable("turns")
        .set(({ eb }) => ({
          status: "running",
          host_id: null,
          waiting: null,
          entries: eb("entries", "+", count),
          updated_at: now,
        }))
        .where(
          "id",
          "in",
          same.map(({ row }) => row.id),
        )
        .execute();
    const ids = woken.map(({ row }) => row.id);
    await transaction.deleteFrom("turn_questions").where("turn", "in", ids).execute();
    for (let from = 0; from < rows.length; from += atOnce)
      await transaction
        .insertInto("turn_entries")
        .values(rows.slice(from, from + atOnce))
        .execute();
  };

  /** Wakes a turn if any of its questions is answered or expired by now. */
  const settle = async (id: TurnId, now: string): Promise<boolean> => {
    const isWoken = await db.transaction().execute(async (transaction) => {
      const [row] = await lock(transaction, [id]);
      if (row === undefined) return false;
      const settled: Settled[] = [];
      for (const question of await questionsOf(transaction, [id])) {
        const answer = await answerOf(transaction, question, now);
        if (answer !== undefined) settled.push([question, answer]);
      }
      if (settled.length === 0) return false;
      await wake(transaction, [{ row, settled }], now);
      return true;
    });
    if (isWoken) onWoken(id);
    return isWoken;
  };
  const settleAll = async (rows: readonly { turn: TurnId }[], now: string): Promise<TurnId[]> => {
    const woken: TurnId[] = [];
    for (const id of new Set(rows.map(({ turn }) => turn))) if (await settle(id, now)) woken.push(id);
    return woken;
  };

  return {
    /** In the transaction of an operator's answer: every turn that waits for the question goes on. */
    async wakeAnswered(transaction: Transaction<Schema>, answer: QuestionAnswer): Promise<TurnId[]> {
      const isIt = columnText(answer.id);
      const waiting = transaction
        .selectFrom("turn_questions")
        .select("turn")
        .where("namespace_id", "=", columnText(answer.namespaceId))
        .where("question_id", "=", isIt);
      const ids = [...new Set((await waiting.execute()).map(({ turn }) => turn))].toSorted();
      const woken: TurnId[] = [];
      // In parts: a statement has so many parameters, and very many turns may wait for one answer.
      for (let from = 0; from < ids.length; from += atOnce) {
        const rows = await lock(transaction, ids.slice(from, from + atOnce));
        // Their tenant may have been deleted since.
        if (rows.length === 0) continue;
        const asked = await questionsOf(
          transaction,
          rows.map(({ id }) => id),
        );
        const byTurn = groupBy(
          asked.filter(({ question_id }) => question_id === isIt),
          ({ turn }) => turn,
        );
        const waking = rows.flatMap((row): Woken[] => {
          const questions = byTurn.get(row.id);
          return questions === undefined ? [] : [{ row, settled: questions.map((question) => [question, answer]) }];
        });
        if (waking.length > 0) await wake(transaction, waking, answer.now);
        woken.push(...waking.map(({ row }) => row.id));
      }
      return woken;
    },
    /** Wakes turns that wait for a question that nobody answered in time. */
    async wakeExpired(now: string, limit: number): Promise<TurnId[]> {
      const expired = reports.selectFrom("turn_questions").select("turn").where("expires_at", "<=", now);
      return settleAll(await expired.limit(limit).execute(), now);
    },
    /** Wakes turns that wait for a question that was answered after it was asked and before they waited. */
    async wakeMissed(limit: number, now = new Date().toISOString()): Promise<TurnId[]> {
      const missed = reports
        .selectFrom("turn_questions")
        .select("turn")
        // As a value, not as `exists`, of which a database makes a join that begins with all escalations there ever were.
        .where(
          ({ selectFrom }) =>
            selectFrom("escalations")
              .select("escalations.status")
              .whereRef("escalations.namespace_id", "=", "turn_questions.namespace_id")
              .whereRef("escalations.id", "=", "turn_questions.question_id"),
          "!=",
          "pending",
        );
      return settleAll(await missed.limit(limit).execute(), now);
    },
  };
}

function groupBy<Key, One>(all: readonly One[], keyOf: (one: One) => Key): Map<Key, One[]> {
  const groups = new Map<Key, One[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}

/** What the queue knows of a question; undefined when it is still open. */
async function answerOf(
  transaction: Transaction<Schema>,
  { namespace_id, question_id, expires_at }: QuestionRow,
  now: string,
): Promise<QuestionAnswer | undefined> {
  const base = { namespaceId: namespace_id, id: question_id, now };
  const asked = await transaction
    .selectFrom("escalations")
    .select(["status", "content"])
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", question_id)
    .executeTakeFirst();
  if (asked?.status === "denied" || asked?.status === "withdrawn") return { ...base, status: asked.status };
  if (asked?.status !== "approved") {
    const isOver = asked?.status === "expired" || expires_at <= now;
    return isOver ? { ...base, status: "expired" } : undefined;
  }
  const { grantId } = JSON.parse(asked.content) as { grantId?: string };
  if (grantId === undefined) return { ...base, status: "approved" };
  const issued = await transaction
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", columnText(grantId))
    .executeTakeFirst();
  const { constraints } = JSON.parse(issued?.content ?? "{}") as { constraints?: { expiresAt?: string } };
  return { ...base, status: "approved", grantId, grantExpiresAt: constraints?.expiresAt };
}
