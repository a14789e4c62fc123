import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { ToolResultSchema } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh, openPair } from "../../../test/databases.ts";
import { patience } from "../../../test/host-calls.ts";
import { askIn, escalation, officeTime, oona } from "../../../test/office.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  progress,
  turnKey,
  turnToBegin,
  waitingEntry,
} from "../../../test/turn-journals.ts";
import { openStores, type Stores } from "../../compose/stores.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";
import { TurnPause } from "turnpike/runtime";

const tomorrow = "2026-01-02T12:00:00.000Z";

/** Turns that wait for an escalation. */
async function waitFor({ turns }: Stores, { namespaceId, id, expiresAt }: EscalationRecord, names: readonly string[]) {
  const ids: string[] = [];
  for (const name of names) {
    const writer = await beginTurn(turns, turnToBegin(namespaceId, name));
    await writer.write([waitingEntry(id, expiresAt)], progress);
    ids.push(writer.id);
  }
  return ids;
}

function answerTo({ namespaceId, id, ask }: EscalationRecord) {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at: officeTime };
}

/** The terms of an approval, and the id of the grant that it issues. */
function approval({ id }: EscalationRecord) {
  return { expiresAt: tomorrow, id: `approved-${id}` };
}

/** What a turn that was woken finds as its answer. */
async function answerOf({ turns }: Stores, id: string) {
  const writer = await turns.take(id);
  const last = writer?.stored.at(-1);
  await writer?.write(eventEntries(), progress);
  if (last?.kind !== "answered") return last?.kind;
  expect(ToolResultSchema.parse(last.result)).toEqual(last.result);
  expect([last.callId, last.result.callId, last.result.tool]).toEqual(["call-1", "call-1", "service.escalate"]);
  return "output" in last.result ? last.result.output : last.result.error.code;
}

describe.each(databaseKinds)("a turn that waits for an escalation on %s", (kind) => {
  const open = async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const namespaceId = newTenant();
    return { database, stores, namespaceId, record: await askIn(stores, namespaceId) };
  };

  test("resumes with the approval of it, as do all that wait for the same one, and no others", async () => {
    const { stores, record } = await open();
    const ids = await waitFor(stores, record, ["one", "two"]);
    const other = await waitFor(stores, { ...record, id: "another" }, ["other"]);
    const elsewhere = await waitFor(stores, { ...record, namespaceId: "elsewhere" }, ["namesake"]);
    expect(await stores.turns.unattended(9)).toEqual([]);
    await stores.escalations.approve(answerTo(record), approval(record));
    expect(await stores.turns.unattended(9)).toEqual(ids);
    for (const id of [...other, ...elsewhere]) expect(await stores.turns.take(id)).toBeUndefined();
    const output = { answer: "approved", grantId: approval(record).id, expiresAt: tomorrow };
    for (const id of ids) expect(await answerOf(stores, id)).toEqual(output);
    // Once answered, a turn waits for nothing, and resumes behind its answer.
    expect(await stores.turns.wakeMissed(9)).toEqual([]);
    expect(await stores.turns.wakeExpired(record.expiresAt, 9)).toEqual([...other, ...elsewhere]);
    const state = await stores.turns.find(turnKey(record.namespaceId, "one"));
    expect(state).toMatchObject({ status: "running" });
    expect(state?.escalation).toBeUndefined();
  });

  test("resumes with the denial of it", async () => {
    const { stores, record } = await open();
    const [id = ""] = await waitFor(stores, record, ["one"]);
    await stores.escalations.deny(answerTo(record), "No.");
    expect(await answerOf(stores, id)).toBe("escalation_denied");
  });

  test("still waits when the answer is undone", async () => {
    const { database, stores, record } = await open();
    await waitFor(stores, record, ["one"]);
    const undone = database.db.transaction().execute(async (transaction) => {
      const { namespaceId, id } = record;
      const woken = await stores.turns.wakeAnswered(transaction, {
        namespaceId,
        id,
        status: "denied",
        now: officeTime,
      });
      expect(woken).toHaveLength(1);
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await stores.turns.find(turnKey(record.namespaceId, "one"))).toMatchObject({ status: "waiting" });
    expect(await stores.turns.unattended(9)).toEqual([]);
  });

  test("that is gone when its answer comes is not missed", async () => {
    const { database, stores, record } = await open();
    const [id = ""] = await waitFor(stores, record, ["one"]);
    const { namespaceId } = record;
    const said = { namespaceId, id: record.id, status: "denied", now: officeTime } as const;
    const woken = database.db.transaction().execute(async (transaction) => {
      // As it is when the turn is deleted between the reading of its escalation and the lock.
      await transaction.deleteFrom("turns").where("id", "=", id).execute();
      return stores.turns.wakeAnswered(transaction, said);
    });
    expect(await woken).toEqual([]);
  });

  test("resumes when no answer came in time, and not an instant before", async () => {
    const { stores, record } = await open();
    const [id = ""] = await waitFor(stores, record, ["one"]);
    const instant = new Date(Date.parse(record.expiresAt) - 1).toISOString();
    expect(await stores.turns.wakeExpired(instant, 9)).toEqual([]);
    expect(await stores.turns.wakeExpired(record.expiresAt, 9)).toEqual([id]);
    expect(await stores.turns.wakeExpired(record.expiresAt, 9)).toEqual([]);
    expect(await answerOf(stores, id)).toBe("escalation_expired");
  });

  for (const row of [
    {
      name: "approval",
      answer: ({ escalations }: Stores, record: EscalationRecord) =>
        escalations.approve(answerTo(record), approval(record)),
      output: { answer: "approved", grantId: expect.stringContaining("approved-") as string, expiresAt: tomorrow },
    },
    {
      name: "denial",
      answer: ({ escalations }: Stores, record: EscalationRecord) => escalations.deny(answerTo(record), "No."),
      output: "escalation_denied",
    },
  ]) {
    for (const how of ["wakeMissed", "wakeExpired"] as const) {
      test(`resumes with the ${row.name} that came before it waited, by ${how}`, async () => {
        const { stores, record } = await open();
        await row.answer(stores, record);
        const [id = ""] = await waitFor(stores, record, ["one"]);
        const another = await askIn(
          stores,
          record.namespaceId,
          escalation({ reason: "And this?", requestedAt: tomorrow }),
        );
        const [pending = ""] = await waitFor(stores, another, ["pending"]);
        const { turns } = stores;
        const woken = how === "wakeMissed" ? turns.wakeMissed(9) : turns.wakeExpired(record.expiresAt, 9);
        expect(await woken).toEqual([id]);
        expect(await turns.take(pending)).toBeUndefined();
        expect(await answerOf(stores, id)).toEqual(row.output);
      });
    }
  }

  test("resumes to be ended when it is cancelled", async () => {
    const { stores, record } = await open();
    const [id = ""] = await waitFor(stores, record, ["one"]);
    const state = await stores.turns.cancel(turnKey(record.namespaceId, "one"));
    expect(state).toMatchObject({ status: "running" });
    expect(state?.escalation).toBeUndefined();
    expect(await stores.turns.unattended(9)).toEqual([id]);
    const writer = await stores.turns.take(id);
    expect([writer?.stop.aborted, writer?.stop.reason instanceof TurnPause]).toEqual([true, false]);
    // The answer comes too late for it.
    await stores.escalations.approve(answerTo(record), approval(record));
    await writer?.write([endedEntry("one", { status: "cancelled", output: undefined })], progress);
    expect(await stores.turns.find(turnKey(record.namespaceId, "one"))).toMatchObject({ status: "cancelled" });
  });

  test("does not begin to wait when it was cancelled meanwhile: it resumes to be ended", async () => {
    const { database, stores, record } = await open();
    const writer = await beginTurn(stores.turns, turnToBegin(record.namespaceId, "one"));
    await openStores(database).turns.cancel(turnKey(record.namespaceId, "one"));
    await writer.write([waitingEntry(record.id, record.expiresAt)], progress);
    expect(await stores.turns.find(turnKey(record.namespaceId, "one"))).toMatchObject({ status: "running" });
    expect(await stores.turns.unattended(9)).toEqual([writer.id]);
    expect((await stores.turns.take(writer.id))?.stop.aborted).toBe(true);
  });

  test("writes nothing between its waiting and its waking", async () => {
    const { stores, record } = await open();
    const writer = await beginTurn(stores.turns, turnToBegin(record.namespaceId, "one"));
    await writer.write([waitingEntry(record.id, record.expiresAt)], progress);
    await expect(writer.write([endedEntry("one")], progress)).rejects.toBeInstanceOf(TurnPause);
  });
});

test("an answer on one host wakes a turn that another one began", async () => {
  const [here, there] = await openPair();
  const [stores, others] = [openStores(here), openStores(there)];
  const record = await askIn(stores, "tenant-1");
  const [id = ""] = await waitFor(stores, record, ["one"]);
  await others.escalations.approve(answerTo(record), approval(record));
  expect(await others.turns.unattended(9)).toEqual([id]);
  expect(await answerOf(others, id)).toMatchObject({ answer: "approved" });
});

test("a turn that an answer on one host is waking is not woken once more by another host", async () => {
  const [here, there] = await openPair();
  const [stores, others] = [openStores(here), openStores(there)];
  const record = await askIn(stores, "tenant-1");
  const [id = ""] = await waitFor(stores, record, ["one"]);
  const said = { namespaceId: record.namespaceId, id: record.id, status: "denied", now: officeTime } as const;
  const isHeldUp = async (): Promise<boolean> => {
    const held = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await held.execute(here.db)).rows.length > 0;
  };
  const expiring = await here.db.transaction().execute(async (transaction) => {
    expect(await stores.turns.wakeAnswered(transaction, said)).toEqual([id]);
    const woken = others.turns.wakeExpired(record.expiresAt, 9);
    await vi.waitUntil(isHeldUp, patience);
    return { woken };
  });
  expect(await expiring.woken).toEqual([]);
  expect(await answerOf(others, id)).toBe("escalation_denied");
});
