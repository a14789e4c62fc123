import { sql, type RawBuilder, type Selectable, type Transaction } from "kysely";
import { columnText } from "../../shared/index.ts";
import type { ClosedReason } from "../../admin-contract/index.ts";
import type { Database, Schema } from "../../storage/index.ts";
import { entriesOfAnswer, type EscalationAnswer } from "./escalation-answer.ts";
import { entryRows, type WaitContent, type TurnId, type TurnRow } from "./turn-rows.ts";

type WaitingRow = Pick<TurnRow, "id" | "entries">;
type WaitRow = Selectable<Schema["turn_questions"]>;
/** An escalation that a turn waits for, and its answer. */
type Settled = readonly [WaitRow, EscalationAnswer];
interface Woken {
  row: WaitingRow;
  settled: readonly Settled[];
}

/** How many rows one statement is about. */
const atOnce = 1_000;

/** Wakes turns that wait for escalations. */
export function createTurnWaking({ db, reporting, kind }: Database, onWoken: (id: TurnId) => void) {
  /**
   * INVARIANT: a transaction locks the row of a turn before it changes what the turn waits for, and locks several rows in the
   * order of their ids. Only a waiting turn has such rows, so what is read under the lock is what it waits for.
   */
  const lock = async (transaction: Transaction<Schema>, ids: readonly TurnId[]): Promise<WaitingRow[]> => {
    if (ids.length === 0) return [];
    const rows = transaction.selectFrom("turns").select(["id", "entries"]).where("id", "in", ids);
    return (kind === "postgres" ? rows.orderBy("id").forUpdate() : rows).execute();
  };
  const waitsOf = (transaction: Transaction<Schema>, ids: readonly TurnId[]): Promise<WaitRow[]> =>
    transaction.selectFrom("turn_questions").selectAll().where("turn", "in", ids).orderBy("place").execute();

  /**
   * Wakes turns with answers to some of their escalations. The others are requested again when the turns are resumed. Each
   * statement is for many turns, because all other writers wait meanwhile.
   */
  const wake = async (transaction: Transaction<Schema>, woken: readonly Woken[], now: string): Promise<void> => {
    const answers = woken.map(({ row, settled }) => ({
      row,
      entries: settled.flatMap(([{ content }, answer]) => entriesOfAnswer(JSON.parse(content) as WaitContent, answer)),
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

  /** Wakes a turn if any of its escalations is answered or expired by now. */
  const settle = async (id: TurnId, now: string): Promise<boolean> => {
    const isWoken = await db.transaction().execute(async (transaction) => {
      const [row] = await lock(transaction, [id]);
      if (row === undefined) return false;
      const settled: Settled[] = [];
      for (const wait of await waitsOf(transaction, [id])) {
        const answer = await answerOf(transaction, wait, now);
        if (answer !== undefined) settled.push([wait, answer]);
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
    /** Wakes every turn that waits for an escalation, in the transaction of its answer. */
    async wakeAnswered(transaction: Transaction<Schema>, answer: EscalationAnswer): Promise<TurnId[]> {
      const isIt = columnText(answer.id);
      const waiting = transaction
        .selectFrom("turn_questions")
        .select("turn")
        .where("namespace_id", "=", columnText(answer.namespaceId))
        .where("question_id", "=", isIt);
      const ids = [...new Set((await waiting.execute()).map(({ turn }) => turn))].toSorted();
      const woken: TurnId[] = [];
      // In parts, because a statement can have only so many parameters, and very many turns may wait for one answer.
      for (let from = 0; from < ids.length; from += atOnce) {
        const rows = await lock(transaction, ids.slice(from, from + atOnce));
        // Their tenant may have been deleted since.
        if (rows.length === 0) continue;
        const asked = await waitsOf(
          transaction,
          rows.map(({ id }) => id),
        );
        const byTurn = groupBy(
          asked.filter(({ question_id }) => question_id === isIt),
          ({ turn }) => turn,
        );
        const waking = rows.flatMap((row): Woken[] => {
          const waits = byTurn.get(row.id);
          return waits === undefined ? [] : [{ row, settled: waits.map((wait) => [wait, answer]) }];
        });
        if (waking.length > 0) await wake(transaction, waking, answer.now);
        woken.push(...waking.map(({ row }) => row.id));
      }
      return woken;
    },
    /** Wakes turns that wait for an escalation that was not answered in time. */
    async wakeExpired(now: string, limit: number): Promise<TurnId[]> {
      const expired = reporting.selectFrom("turn_questions").select("turn").where("expires_at", "<=", now);
      return settleAll(await expired.limit(limit).execute(), now);
    },
    /** Wakes turns that wait for an escalation that was answered or closed before they began to wait. */
    async wakeMissed(limit: number, now = new Date().toISOString()): Promise<TurnId[]> {
      const missed = reporting
        .selectFrom("turn_questions")
        .select("turn")
        // As a value and not as `exists`, which a database turns into a join that begins with all escalations there ever were.
        .where(
          ({ selectFrom }) =>
            selectFrom("escalations")
              .select(statusAt(now).as("state"))
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

/** The status of an escalation. One that ended with its turn counts as closed before it is marked. */
function statusAt(now: string): RawBuilder<string> {
  return sql`case when escalations.closed is not null and escalations.expires_at <= ${now} then 'closed'
    else escalations.status end`;
}

/** The answer to an escalation; undefined when it is still open. */
async function answerOf(
  transaction: Transaction<Schema>,
  { namespace_id, question_id, expires_at }: WaitRow,
  now: string,
): Promise<EscalationAnswer | undefined> {
  const base = { namespaceId: namespace_id, id: question_id, now };
  const asked = await transaction
    .selectFrom("escalations")
    .select(["status", "expires_at", "closed", "content"])
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", question_id)
    .executeTakeFirst();
  if (asked?.status === "denied" || asked?.status === "withdrawn") return { ...base, status: asked.status };
  if (asked?.status !== "approved") {
    const { reason } = JSON.parse(asked?.closed ?? "{}") as { reason?: ClosedReason };
    const isOver = asked?.status === "expired" || expires_at <= now;
    if (reason !== undefined && (isOver || (asked?.expires_at ?? "") <= now))
      return { ...base, status: "closed", reason };
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
