import type { KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh } from "../../../test/databases.ts";
import { askIn, escalation, officeTime } from "../../../test/office.ts";
import { approvalEntry, beginTurn, progress, turnKey, turnToBegin, waitingEntry } from "../../../test/turn-journals.ts";
import { openStores, type Stores } from "../../compose/stores.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";
import type { Database } from "../../storage/index.ts";

type Answer = "approved" | "denied";

/** Answers an escalation as the store of escalations does: its row first, then those who wait. */
async function answer(
  { db }: Database,
  { turns }: Stores,
  record: EscalationRecord,
  status: Answer,
): Promise<string[]> {
  return db.transaction().execute(async (transaction) => {
    await transaction.updateTable("escalations").set({ status }).where("id", "=", record.id).execute();
    return turns.wakeAnswered(transaction, { namespaceId: record.namespaceId, id: record.id, status, now: officeTime });
  });
}

/** What a turn that was woken finds behind its escalations. */
async function wokenWith({ turns }: Stores, id: string) {
  const writer = await turns.take(id);
  const stored = writer?.stored ?? [];
  const behind = stored.slice(stored.findLastIndex(({ kind }) => kind === "waiting") + 1);
  return behind.map((entry) =>
    "result" in entry && "callId" in entry
      ? [entry.kind, entry.callId, entry.result.tool, "error" in entry.result && entry.result.error.code]
      : entry.kind,
  );
}

const escalationsIn = async ({ db }: Database) =>
  (await db.selectFrom("turn_questions").select(["turn", "question_id"]).execute()).length;

describe.each(databaseKinds)("a turn that waits for a person's approval on %s", (kind) => {
  const open = async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const namespaceId = newTenant();
    const records: EscalationRecord[] = [];
    for (const second of [1, 2]) {
      const asked = escalation({ requestedAt: `2026-01-01T12:00:0${second}.000Z` });
      records.push(await askIn(stores, namespaceId, asked, { purpose: `purpose-${second}` }));
    }
    const [one, two] = records as [EscalationRecord, EscalationRecord];
    const wait = async (name: string, entries = [approvalEntry("call-1", one), approvalEntry("call-2", two)]) => {
      const writer = await beginTurn(stores.turns, turnToBegin(namespaceId, name));
      await writer.write(entries, progress);
      return writer.id;
    };
    return { database, stores, namespaceId, one, two, wait };
  };

  for (const row of [
    { said: "approved", entries: [] },
    { said: "denied", entries: [["result", "call-1", "files.write", "approval_denied"]] },
  ] as const) {
    test(`resumes when one of its calls is ${row.said}, and waits for none of the others until it asks again`, async () => {
      const { database, stores, namespaceId, one, two, wait } = await open();
      const id = await wait("turn");
      expect(await stores.turns.find(turnKey(namespaceId, "turn"))).toMatchObject({
        status: "waiting",
        escalation: { reason: "call-1 needs a person's approval." },
      });
      expect(await answer(database, stores, one, row.said)).toEqual([id]);
      expect(await stores.turns.find(turnKey(namespaceId, "turn"))).toMatchObject({ status: "running" });
      expect(await escalationsIn(database)).toBe(0);
      expect(await answer(database, stores, two, "denied")).toEqual([]);
      expect(await wokenWith(stores, id)).toEqual(row.entries);
    });

    for (const how of ["wakeMissed", "wakeExpired"] as const)
      test(`resumes when a call was ${row.said} before it waited, by ${how}`, async () => {
        const { database, stores, one, two, wait } = await open();
        await answer(database, stores, one, row.said);
        const id = await wait("turn", [approvalEntry("call-1", one)]);
        const other = await wait("other", [approvalEntry("call-2", { ...two, expiresAt: "2999-01-01T00:00:00.000Z" })]);
        const { turns } = stores;
        const woken = how === "wakeMissed" ? turns.wakeMissed(9) : turns.wakeExpired(one.expiresAt, 9);
        expect(await woken).toEqual([id]);
        expect(await turns.take(other)).toBeUndefined();
        expect(await wokenWith(stores, id)).toEqual(row.entries);
      });
  }

  test("resumes with every answer that is there by then, and with what expired", async () => {
    const { database, stores, one, two, wait } = await open();
    await database.db.updateTable("escalations").set({ status: "denied" }).where("id", "=", one.id).execute();
    const id = await wait("turn", [
      approvalEntry("call-1", one),
      approvalEntry("call-2", two),
      { ...waitingEntry(two.id, two.expiresAt), callId: "ask" },
    ]);
    expect(await stores.turns.wakeExpired(two.expiresAt, 9)).toEqual([id]);
    expect(await wokenWith(stores, id)).toEqual([
      ["result", "call-1", "files.write", "approval_denied"],
      ["result", "call-2", "files.write", "approval_expired"],
      ["answered", "ask", "service.escalate", "escalation_expired"],
    ]);
  });

  test("is woken by an escalation that was closed as expired, whatever its own clock says", async () => {
    const { database, stores, one, wait } = await open();
    await database.db.updateTable("escalations").set({ status: "expired" }).where("id", "=", one.id).execute();
    const id = await wait("turn", [approvalEntry("call-1", { ...one, expiresAt: "2999-01-01T00:00:00.000Z" })]);
    expect(await stores.turns.wakeMissed(9)).toEqual([id]);
    expect(await wokenWith(stores, id)).toEqual([["result", "call-1", "files.write", "approval_expired"]]);
  });

  test("gets one denial for all calls that wait for the same escalation", async () => {
    const { database, stores, one, wait } = await open();
    const id = await wait("turn", [approvalEntry("call-1", one), approvalEntry("call-2", one)]);
    await answer(database, stores, one, "denied");
    expect(await wokenWith(stores, id)).toEqual([
      ["result", "call-1", "files.write", "approval_denied"],
      ["result", "call-2", "files.write", "approval_denied"],
    ]);
  });

  test("resumes with all others that wait for the same answer, by few statements, each with what is said to it", async () => {
    const { database, stores, one, two, wait } = await open();
    const ids: string[] = [];
    for (let place = 0; place < 10; place += 1) ids.push(await wait(`turn-${place}`));
    ids.push(await wait("both", [approvalEntry("call-1", one), approvalEntry("call-2", one)]));
    const other = await wait("other", [approvalEntry("call-2", two)]);
    let statements = 0;
    const counted: KyselyPlugin = {
      transformQuery: ({ node }) => ((statements += 1), node),
      transformResult: ({ result }) => Promise.resolve(result),
    };
    const { namespaceId, id } = one;
    const said = { namespaceId, id, status: "denied", now: officeTime } as const;
    const woken = await database.db
      .transaction()
      .execute((transaction) => stores.turns.wakeAnswered(transaction.withPlugin(counted), said));
    expect(woken).toEqual(ids.toSorted());
    expect(statements).toBeLessThan(10);
    const no = (callId: string) => ["result", callId, "files.write", "approval_denied"];
    const found = await Promise.all(woken.map((each) => wokenWith(stores, each)));
    expect(found).toEqual([...Array.from({ length: 10 }, () => [no("call-1")]), [no("call-1"), no("call-2")]]);
    expect(await stores.turns.take(other)).toBeUndefined();
  });

  test("has no escalation left when it is cancelled, before it waits or while it does", async () => {
    const { database, stores, namespaceId, one, wait } = await open();
    await wait("while");
    await stores.turns.cancel(turnKey(namespaceId, "while"));
    const writer = await beginTurn(stores.turns, turnToBegin(namespaceId, "before"));
    await openStores(database).turns.cancel(turnKey(namespaceId, "before"));
    await writer.write([approvalEntry("call-1", one)], progress);
    expect(await escalationsIn(database)).toBe(0);
    expect(await answer(database, stores, one, "denied")).toEqual([]);
  });

  test("is woken once, however many answers, expiries and cancels come at once", async () => {
    const { database, stores, namespaceId, one, two, wait } = await open();
    const names = Array.from({ length: 8 }, (_, place) => `turn-${place}`);
    const ids: string[] = [];
    for (const name of names) ids.push(await wait(name));
    const woken = await Promise.all([
      answer(database, stores, one, "denied"),
      stores.turns.wakeExpired(two.expiresAt, 99),
      answer(database, stores, two, "denied"),
      stores.turns.wakeMissed(99),
      ...names.slice(0, 2).map(async (name) => (await stores.turns.cancel(turnKey(namespaceId, name)), [])),
    ]);
    const once = woken.flat();
    expect(new Set(once).size).toBe(once.length);
    expect(once).toEqual(expect.arrayContaining(ids.slice(2)));
    expect(await escalationsIn(database)).toBe(0);
    expect((await stores.turns.unattended(99)).toSorted()).toEqual(ids.toSorted());
  });
});
