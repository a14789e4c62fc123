import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../../test/databases.ts";
import { alice, assistant, context } from "../../../test/records.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  openJournal,
  progress,
  turnKey,
  turnToBegin,
  waitingEntry,
} from "../../../test/turn-journals.ts";
import type { TurnJournalStore } from "./journal-store.ts";

const later = "2026-01-02T12:00:00.000Z";
const manyBytes = 1_000_000;

/** Begins a turn, and says what became of it. */
async function begin(journal: TurnJournalStore, tenant: string, id: string, filling = ""): Promise<string> {
  const turn = turnToBegin(tenant, id);
  const request = { ...turn.request, message: { ...turn.request.message, payload: filling } };
  const answer = journal.begin({ ...turn, request }, {});
  return answer.then(
    ({ kind }) => kind,
    (error: { status: number; code: string; headers: { "retry-after": string } }) =>
      `${error.status} ${error.code} ${error.headers["retry-after"]}`,
  );
}

const refused = "429 rate_limited 10";

describe.each(databaseKinds)("turns that have not ended, on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("are as many as may be, running and waiting, and the id of one more stays free", async () => {
    const journal = openJournal(await open(), { turns: 2, bytes: manyBytes });
    const tenant = newTenant();
    const first = await beginTurn(journal, turnToBegin(tenant, "first"));
    await first.write([waitingEntry("escalation", later)], progress);
    const second = await beginTurn(journal, turnToBegin(tenant, "second"));
    expect(await begin(journal, tenant, "third")).toBe(refused);
    expect(await journal.find(turnKey(tenant, "third"))).toBeUndefined();
    expect(await begin(journal, tenant, "second")).toBe("known");
    await second.write([...eventEntries(), endedEntry("second")], progress);
    expect(await begin(journal, tenant, "third")).toBe("begun");
    expect(await begin(journal, tenant, "fourth")).toBe(refused);
  });

  test("are counted for each actor of each tenant", async () => {
    const journal = openJournal(await open(), { turns: 1, bytes: manyBytes });
    const tenant = newTenant();
    expect(await begin(journal, tenant, "first")).toBe("begun");
    expect(await begin(journal, tenant, "second")).toBe(refused);
    expect(await begin(journal, newTenant(), "second")).toBe("begun");
    const ofAlice = turnToBegin(tenant, "second", {
      context: context({ namespaceId: tenant, actor: alice, executionId: "second" }),
    });
    expect((await journal.begin(ofAlice, {})).kind).toBe("begun");
  });

  test("hold as much as they may, with what was stored of them when they waited", async () => {
    const journal = openJournal(await open(), { turns: 100, bytes: 20_000 });
    const tenant = newTenant();
    expect(await begin(journal, tenant, "large", "x".repeat(20_000))).toBe(refused);
    // Each of these characters is three bytes.
    expect(await begin(journal, tenant, "wide", "\u2603".repeat(7_000))).toBe(refused);
    const first = await beginTurn(journal, turnToBegin(tenant, "first"));
    expect(await begin(journal, tenant, "second", "x".repeat(10_000))).toBe("begun");
    const [event] = eventEntries();
    if (event?.kind !== "event") throw new Error("There is no event.");
    const large = { ...event, event: { ...event.event, data: { text: "x".repeat(9_000) } } };
    await first.write([large, waitingEntry("escalation", later)], progress);
    expect(await begin(journal, tenant, "third")).toBe(refused);
    await journal.cancel(turnKey(tenant, "first"));
    const writer = await journal.take(first.id);
    await writer?.write([endedEntry("first", { status: "cancelled" })], progress);
    expect(await begin(journal, tenant, "third")).toBe("begun");
  });

  test("count everything that is stored when a turn waits again behind a restart", async () => {
    const database = await open();
    const tenant = newTenant();
    const first = await beginTurn(openJournal(database), turnToBegin(tenant, "first"));
    const [event] = eventEntries();
    if (event?.kind !== "event") throw new Error("There is no event.");
    await first.write([{ ...event, event: { ...event.event, data: { text: "x".repeat(9_000) } } }], progress);
    const again = openJournal(database);
    await database.db.updateTable("turns").set({ host_id: null }).where("id", "=", first.id).execute();
    const second = await again.take(first.id);
    await second?.write([waitingEntry("escalation", later)], progress);
    const row = database.db.selectFrom("turns").select("bytes").where("id", "=", first.id);
    expect((await row.executeTakeFirstOrThrow()).bytes).toBeGreaterThan(9_000);
    expect(await begin(openJournal(database, { turns: 9, bytes: 9_000 }), tenant, "second")).toBe(refused);
  });

  test("are never more than may be when thirty begin at once", async () => {
    const journal = openJournal(await open(), { turns: 7, bytes: manyBytes });
    const tenant = newTenant();
    const answers = await Promise.all(Array.from({ length: 30 }, (_, place) => begin(journal, tenant, `t-${place}`)));
    expect(answers.filter((answer) => answer === "begun")).toHaveLength(7);
    expect(answers.filter((answer) => answer === refused)).toHaveLength(23);
  });

  test("never hold more than they may when thirty begin at once", async () => {
    const database = await open();
    const journal = openJournal(database, { turns: 100, bytes: 20_000 });
    const tenant = newTenant();
    const starts = Array.from({ length: 30 }, (_, place) => begin(journal, tenant, `t-${place}`, "x".repeat(3_000)));
    const answers = await Promise.all(starts);
    const begun = answers.filter((answer) => answer === "begun");
    expect(answers.filter((answer) => answer === refused)).toHaveLength(30 - begun.length);
    const rows = await database.db.selectFrom("turns").select("bytes").where("namespace_id", "=", tenant).execute();
    const [{ bytes: each } = { bytes: 0 }] = rows;
    expect(rows).toHaveLength(begun.length);
    expect(begun).toHaveLength(Math.floor(20_000 / each));
  });
});

test("two hosts of one PostgreSQL at once begin no more turns of an actor than there may be", async () => {
  const hosts = (await openPair()).map((database) => openJournal(database, { turns: 25, bytes: manyBytes }));
  for (const round of [1, 2, 3]) {
    const tenant = newTenant();
    const starts = Array.from({ length: 60 }, (_, place) => {
      const journal = hosts[place % 2];
      return journal === undefined ? "" : begin(journal, tenant, `turn-${round}-${place}`);
    });
    const answers = await Promise.all(starts);
    expect(answers.filter((answer) => answer === "begun")).toHaveLength(25);
    expect(answers.filter((answer) => answer === refused)).toHaveLength(35);
  }
});

test("two hosts that begin turns of two actors in other orders do not wait for each other in a circle", async () => {
  const hosts = (await openPair()).map((database) => openJournal(database));
  const tenant = newTenant();
  const actors = [assistant, alice];
  const starts = Array.from({ length: 80 }, async (_, place) => {
    const actor = actors[(place + (place >> 1)) % 2] ?? assistant;
    const executionId = `turn-${place % 2 === 0 ? 1000 + place : 2000 - place}`;
    const turn = turnToBegin(tenant, executionId, { context: context({ namespaceId: tenant, actor, executionId }) });
    return (await hosts[place % 2]?.begin(turn, {}))?.kind;
  });
  expect(new Set(await Promise.all(starts))).toEqual(new Set(["begun"]));
});
