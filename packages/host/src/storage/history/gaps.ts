import type { Kysely, Transaction } from "kysely";
import { lapsePermits } from "../lapse-permits.ts";
import type { Schema } from "../schema.ts";
import type { LostChain } from "./lost-chains.ts";

/** Rows that a host knows to have been durable and that its database lost. */
export interface Gap {
  id: string;
  /** When it was noticed. */
  at: string;
  chains: readonly LostChain[];
}

/** Added to the revision with each loss. The revision cannot have grown by as much, so nothing that a host has cached seems current. */
const revisionsLost = 1_000_000;

/**
 * Records that rows are missing, and in the same transaction what follows from that. What happened in the lost time is not known, and
 * must not happen again: turns end as interrupted, by the host that next looks at them, and approvals of single acts lapse.
 */
export async function storeGap(db: Kysely<Schema>, { id, at, chains }: Gap, hostId: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // Before everything else, as in every transaction that begins a revision.
    await transaction
      .updateTable("revision")
      .set((row) => ({ value: row("value", "+", revisionsLost) }))
      .execute();
    const row = { id, host_id: hostId, noticed_at: at, content: JSON.stringify(chains), accepted_at: null };
    await transaction
      .insertInto("database_gaps")
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await interruptTurns(transaction, at);
    await lapsePermits(transaction, at);
  });
}

/** INVARIANT: each turn gets another run number, so a run that goes on, on any host, can write nothing more. */
async function interruptTurns(transaction: Transaction<Schema>, at: string): Promise<void> {
  await transaction
    .updateTable("turns")
    .set((row) => ({
      is_interrupted: 1,
      run: row("run", "+", 1),
      status: "running",
      waiting: null,
      host_id: null,
      updated_at: at,
    }))
    .where("completed_at", "is", null)
    .execute();
  await transaction.deleteFrom("turn_questions").execute();
}

/** The losses that no operator has accepted. */
export async function readOpenGaps(db: Kysely<Schema>): Promise<Gap[]> {
  const rows = await db.selectFrom("database_gaps").selectAll().where("accepted_at", "is", null).execute();
  return rows.map(({ id, noticed_at, content }) => ({
    id,
    at: noticed_at,
    chains: JSON.parse(content) as LostChain[],
  }));
}

/** Which of these losses an operator has accepted, and which of them the database does not know. */
export async function readGapStates(
  db: Kysely<Schema>,
  ids: readonly string[],
): Promise<Map<string, "open" | "accepted">> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("database_gaps").select(["id", "accepted_at"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, accepted_at }) => [id, accepted_at === null ? "open" : "accepted"]));
}

/** Accepts every loss. What was lost stays lost: calls and turns go on from what there is. */
export async function acceptGaps(transaction: Transaction<Schema>, at: string): Promise<void> {
  await transaction.updateTable("database_gaps").set({ accepted_at: at }).where("accepted_at", "is", null).execute();
}

/** How many rows are known to be lost: of each chain, the last row that was known less the last one now. */
export function countLost(chains: readonly Pick<LostChain, "sequence" | "now">[]): number {
  return chains.reduce((sum, { sequence, now }) => sum + Math.max(1, sequence - now), 0);
}
