import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { beginTurn, progress, turnKey, turnToBegin, waitingEntry } from "../../../test/turn-journals.ts";
import { openStores } from "../../compose/stores.ts";
import type { Database } from "../database.ts";

const expiresAt = "2026-01-02T00:00:00.000Z";

/** Takes the migration back, with the turn as the version before stored it. */
async function undo({ db }: Database): Promise<void> {
  for (const statement of [
    sql`update turns set question_id = 'escalation-1', question_expires_at = ${expiresAt},
      waiting = '{"callId":"call-1","escalation":{"reason":"May I?"}}' where status = 'waiting'`,
    sql`drop table turn_questions`,
    sql`create index turns_waiting on turns (namespace_id, question_id) where question_id is not null`,
    sql`create index turns_by_expiry on turns (question_expires_at) where question_expires_at is not null`,
    sql`delete from kysely_migration where name = '0014-turn-questions'`,
  ])
    await statement.execute(db);
}

describe.each(databaseKinds)("on %s", (kind) => {
  test("a turn that waits for one escalation since before it could wait for several is woken by it", async () => {
    const location = await newLocation(kind);
    const before = await openHost(location);
    const { turns } = openStores(before);
    for (const name of ["waits", "cancelled"]) {
      const writer = await beginTurn(turns, turnToBegin("tenant-1", name));
      await writer.write([waitingEntry("escalation-1", expiresAt)], progress);
    }
    await turns.cancel(turnKey("tenant-1", "cancelled"));
    await undo(before);
    await before.close();

    const database = await openHost(location);
    const stores = openStores(database);
    const state = await stores.turns.find(turnKey("tenant-1", "waits"));
    expect(state).toMatchObject({ status: "waiting", escalation: { reason: "May I?" } });
    const woken = await stores.turns.wakeExpired(expiresAt, 9);
    expect(woken).toHaveLength(1);
    const writer = await stores.turns.take(woken[0] ?? "");
    expect(writer?.stored.at(-1)).toMatchObject({
      kind: "answered",
      callId: "call-1",
      result: { error: { code: "escalation_expired" } },
    });
    const old = sql<{ count: number }>`select count(*) as count from turns where question_id is not null`;
    expect(Number((await old.execute(database.db)).rows[0]?.count)).toBe(0);
  });
});
