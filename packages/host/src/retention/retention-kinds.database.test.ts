import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { envelope } from "../../test/counting-api.ts";
import { databaseKinds, openFresh, openPair } from "../../test/databases.ts";
import { signedIn } from "../../test/admin-rows.ts";
import { askPerson, connectedTokens } from "../../test/connections.ts";
import { askAct, askIn, escalation } from "../../test/office.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { alice, auditEvent, now as signedInAt } from "../../test/records.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  progress,
  turnKey,
  turnToBegin,
  waitingEntry,
} from "../../test/turn-journals.ts";
import { replayStoreOf } from "../../test/single-stores.ts";
import { openStores } from "../compose/stores.ts";
import type { Database } from "../storage/index.ts";
import { createRetention, removeOld, retentionLocks } from "./retention.ts";
import { retentionKinds, RetentionSettingsSchema } from "./retention-kinds.ts";

const future = "2999-01-01T00:00:00.000Z";

function kindsOf(database: Database, settings: object = {}, refusalMinutes = 60) {
  const config = {
    escalations: { refusalMinutes, expireHours: 24 },
    replay: { keepResultsDays: 7, keepReadsHours: 1 },
    retention: RetentionSettingsSchema.parse(settings),
  };
  return retentionKinds(config, database, openStores(database).replay);
}

/** Removes everything of a kind from before an instant. */
async function remove(database: Database, name: string, before = future): Promise<number> {
  const found = kindsOf(database).find((kind) => kind.name === name);
  if (found === undefined) throw new Error(`There is no kind ${name}.`);
  return found.removeSome(before, 200);
}

/** The ids of hosts that have a row, without the one that asks. */
async function hostsIn({ db, hostId }: Database): Promise<number[]> {
  const rows = await db.selectFrom("hosts").select("id").where("id", "!=", hostId).orderBy("id").execute();
  return rows.map(({ id }) => id);
}

describe.each(databaseKinds)("on %s", (kind) => {
  test("journals of turns are retained for thirty days unless a setting says otherwise", async () => {
    const database = await openFresh(kind);
    const daysOf = (settings: object) =>
      Object.fromEntries(kindsOf(database, settings).map(({ name, retainMs }) => [name, retainMs / 86_400_000]));
    expect(daysOf({})).toMatchObject({ "journals of turns": 30, results: 7, "results of reads": 1 / 24 });
    expect(daysOf({ turnsDays: 2 })).toMatchObject({ "journals of turns": 2, results: 7 });
  });

  test("a message that no host sends any more goes after a week", async () => {
    const database = await openFresh(kind);
    const at = (created_at: string) => ({ created_at, due_at: created_at });
    const message = { webhook: "w", message: "m", namespace_id: "acme", type: "escalation.opened", content: "{}" };
    for (const created of ["2026-01-01T00:00:00.000Z", "2026-01-05T00:00:00.000Z"])
      await database.db
        .insertInto("outbox")
        .values({ ...message, ...at(created) })
        .execute();
    const name = "messages to webhooks";
    expect(kindsOf(database).find((each) => each.name === name)?.retainMs).toBe(7 * 86_400_000);
    expect(await remove(database, name, "2026-01-04T00:00:00.000Z")).toBe(1);
    const left = await database.db.selectFrom("outbox").select("created_at").execute();
    expect(left).toEqual([{ created_at: "2026-01-05T00:00:00.000Z" }]);
  });

  test("what a webhook was told goes after a week", async () => {
    const database = await openFresh(kind);
    const about = { webhook: "w", message: "m", namespace_id: "acme", type: "escalation.opened", content: "{}" };
    for (const at of ["2026-01-01T00:00:00.000Z", "2026-01-05T00:00:00.000Z"])
      await database.db
        .insertInto("webhook_history")
        .values({ ...about, state: "delivered", attempts: 1, created_at: at, finished_at: at })
        .execute();
    const name = "what webhooks were told";
    expect(kindsOf(database).find((each) => each.name === name)?.retainMs).toBe(7 * 86_400_000);
    expect(await remove(database, name, "2026-01-04T00:00:00.000Z")).toBe(1);
    const left = await database.db.selectFrom("webhook_history").select("finished_at").execute();
    expect(left).toEqual([{ finished_at: "2026-01-05T00:00:00.000Z" }]);
  });

  test("sessions and one-time codes go when they are over", async () => {
    const database = await openFresh(kind);
    const { sessions } = openStores(database);
    const presented = { id: "credential", secretHash: "hash" };
    for (const begun of ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]) {
      await sessions.begin(`session-${begun}`, { presented }, new Date(begun));
      await sessions.createCode(`code-${begun}`, presented, new Date(begun));
    }
    const kinds = kindsOf(database).filter(({ name }) => ["sessions", "one-time codes"].includes(name));
    expect(kinds.map(({ retainMs }) => retainMs)).toEqual([0, 0]);
    for (const { name, before, after } of [
      { name: "sessions", before: "2026-01-01T12:00:00.000Z", after: "2026-01-01T12:00:00.001Z" },
      { name: "one-time codes", before: "2026-01-01T00:10:00.000Z", after: "2026-01-01T00:10:00.001Z" },
    ]) {
      expect(await remove(database, name, before)).toBe(0);
      expect(await remove(database, name, after)).toBe(1);
    }
    expect(await database.db.selectFrom("sessions").select("id").execute()).toEqual([
      { id: "session-2026-01-02T00:00:00.000Z" },
    ]);
    expect(await database.db.selectFrom("one_time_codes").select("id").execute()).toEqual([
      { id: "code-2026-01-02T00:00:00.000Z" },
    ]);
  });

  test("what clients asked for goes when it is over, what ended a day later, and so do clients that no one let in", async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const person = await signedIn(stores, "tenant-1");
    const at = new Date(signedInAt).toISOString();
    const redirectUris = ["http://127.0.0.1/callback"];
    await stores.clients.register({ name: "Unused", redirectUris }, at);
    const { id = "" } = (await stores.clients.register({ name: "Used", redirectUris }, at)) ?? {};
    await connectedTokens(stores, person, id);
    await askPerson(stores, person, id);
    const dayMs = 86_400_000;
    for (const { name, retained, over } of [
      { name: "what clients ask people for", retained: 0, over: 20 * 60_000 },
      { name: "codes of clients", retained: dayMs, over: 60_000 },
      { name: "refresh tokens", retained: dayMs, over: 30 * dayMs },
      { name: "clients that no one uses", retained: dayMs, over: 0 },
    ]) {
      expect(kindsOf(database).find((each) => each.name === name)?.retainMs).toBe(retained);
      const end = (ms: number) => new Date(Date.parse(signedInAt) + over + ms).toISOString();
      expect([name, await remove(database, name, end(0)), await remove(database, name, end(1))]).toEqual([name, 0, 1]);
    }
    expect(await stores.clients.find(id)).toMatchObject({ name: "Used" });
  });

  test("the journal of a turn is removed after it ended, and its state stays; those that still run have theirs", async () => {
    const database = await openFresh(kind);
    const { turns } = openStores(database);
    const endedAt = (completedAt: string) => endedEntry("turn", { completedAt });
    for (const [id, ...end] of [
      ["old", endedAt("2026-01-01T00:00:00.000Z")],
      ["new", endedAt("2026-01-05T00:00:00.000Z")],
      ["running"],
      ["waiting", waitingEntry("escalation", "2026-01-01T00:00:00.000Z")],
    ] as const)
      await (await beginTurn(turns, turnToBegin("acme", id))).write([...eventEntries(0, 2), ...end], progress);
    const statesBefore = await turns.listAll({ limit: 9 });
    expect(await remove(database, "journals of turns", "2026-01-04T00:00:00.000Z")).toBe(1);
    const left = await database.db.selectFrom("turn_entries").select("turn").distinct().execute();
    expect(left).toHaveLength(3);
    const old = await turns.find(turnKey("acme", "old"));
    expect(old).toMatchObject({ status: "succeeded", steps: 1, result: { output: "done", events: [] } });
    expect(await turns.events(turnKey("acme", "old"), -1)).toEqual([]);
    expect(await turns.begin(turnToBegin("acme", "old"), {})).toMatchObject({ kind: "known", isSame: true });
    // What was asked is not part of the state.
    const contents = database.db.selectFrom("turns").select("execution_id").where("content", "is", null);
    expect(await contents.execute()).toEqual([{ execution_id: "old" }]);
    const others = (of: typeof statesBefore) => of.turns.filter(({ state }) => state.executionId !== "old");
    expect(others(await turns.listAll({ limit: 9 }))).toEqual(others(statesBefore));
    expect(await remove(database, "journals of turns", "2026-01-04T00:00:00.000Z")).toBe(0);
  });

  test("journals go a few entries and a few turns at a time, until none is left", async () => {
    const database = await openFresh(kind);
    const { turns } = openStores(database);
    const many = Array.from({ length: 45 }, (_, place) => `turn-${place}`);
    for (const id of many) {
      const writer = await beginTurn(turns, turnToBegin("acme", id));
      for (const place of [0, 1]) await writer.write(eventEntries(place, place + 1), progress);
      await writer.write([endedEntry(id)], progress);
    }
    const counts: number[] = [];
    const journals = kindsOf(database).find(({ name }) => name === "journals of turns");
    do counts.push((await journals?.removeSome(future, 50)) ?? 0);
    while (counts.at(-1) === 50);
    expect(counts.length).toBeGreaterThan(2);
    expect(await database.db.selectFrom("turn_entries").selectAll().execute()).toEqual([]);
    expect((await turns.listAll({ limit: 99 })).turns).toHaveLength(45);
  });

  test("a message goes after it was acknowledged, and one that waits stays", async () => {
    const database = await openFresh(kind);
    const { messages } = openStores(database);
    const inbox = { namespaceId: "acme", receiver: alice };
    for (const id of ["old", "new", "waiting"])
      await messages.deliver({ ...envelope, id }, "acme", "2026-01-01T00:00:00.000Z");
    await messages.acknowledge(inbox, ["old"], "2026-01-02T00:00:00.000Z");
    await messages.acknowledge(inbox, ["new"], "2026-01-05T00:00:00.000Z");
    expect(await remove(database, "messages", "2026-01-04T00:00:00.000Z")).toBe(1);
    const left = await messages.inbox(inbox, { limit: 10, includeAcknowledged: true });
    expect(left.map((message) => message.envelope.id)).toEqual(["new", "waiting"]);
    // Sequence numbers continue, and the inbox still counts what waits.
    await messages.deliver({ ...envelope, id: "later" }, "acme", "2026-01-06T00:00:00.000Z");
    const waiting = await messages.inbox(inbox, { limit: 10 });
    expect(waiting.map(({ sequence }) => sequence)).toEqual([3, 4]);
    expect(await messages.countUnacknowledged()).toBe(2);
  });

  test("an escalation goes after it expired, answered or not", async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const asked = (requestedAt: string) => askIn(stores, "acme", escalation({ requestedAt }));
    await asked("2026-01-01T00:00:00.000Z");
    const denied = await asked("2026-01-03T00:00:00.000Z");
    const answer = {
      namespaceId: "acme",
      id: denied.id,
      ask: denied.ask,
      by: "oona",
      person: alice,
      at: "2026-01-03T01:00:00.000Z",
    };
    await stores.escalations.deny(answer, "no");
    const open = await asked("2026-01-05T00:00:00.000Z");
    expect(await remove(database, "escalations", "2026-01-05T12:00:00.000Z")).toBe(2);
    const left = await stores.escalations.list("acme", { limit: 10, now: "2026-01-05T13:00:00.000Z" });
    expect(left.map(({ id, status }) => [id, status])).toEqual([[open.id, "pending"]]);
  });

  test("what waited is retained as long as a person may be asked about it", async () => {
    const database = await openFresh(kind);
    const row = { namespace_id: "acme", actor: "agent:a", scope: "t", ask: "h" };
    for (const [id, asked_at] of [
      ["old", "2026-01-01T00:00:00.000Z"],
      ["new", "2026-01-05T00:00:00.000Z"],
    ] as const)
      await database.db
        .insertInto("waiting_acts")
        .values({ ...row, id, asked_at })
        .execute();
    expect(kindsOf(database).find(({ name }) => name === "acts that waited")?.retainMs).toBe(86_400_000);
    expect(await remove(database, "acts that waited", "2026-01-03T00:00:00.000Z")).toBe(1);
    const left = await database.db.selectFrom("waiting_acts").select("id").execute();
    expect(left).toEqual([{ id: "new" }]);
  });

  test("an escalation is retained as long as a denial counts, whatever else is said", async () => {
    const database = await openFresh(kind);
    const retainedDays = (refusalMinutes: number) =>
      (kindsOf(database, { escalationsDays: 1 }, refusalMinutes).find(({ name }) => name === "escalations")?.retainMs ??
        0) / 86_400_000;
    expect([retainedDays(60), retainedDays(3 * 24 * 60)]).toEqual([1, 3]);
  });

  test("what was counted of a permit goes with its escalation and not before, in its tenant alone", async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const useIn = async (namespaceId: string, now: string) => {
      const { id, ask } = await askAct(stores, namespaceId, {}, { now });
      await stores.escalations.approve({ namespaceId, id, ask, by: "oona", person: alice, at: now });
      expect(await stores.permits.use(namespaceId, id)).toBe(true);
      return `permit\n${id}`;
    };
    await useIn("acme", "2026-01-01T00:00:00.000Z");
    await useIn("globex", "2026-01-01T00:00:00.000Z");
    const retained = await useIn("acme", "2026-01-05T00:00:00.000Z");
    await stores.usage.consume("acme", "grant-1", 9);
    expect(await remove(database, "escalations", "2026-01-01T12:00:00.000Z")).toBe(0);
    expect(await database.db.selectFrom("uses").selectAll().execute()).toHaveLength(4);
    expect(await remove(database, "escalations", "2026-01-05T12:00:00.000Z")).toBe(2);
    const uses = database.db.selectFrom("uses").select(["namespace_id", "grant_id"]).orderBy("grant_id");
    expect(await uses.execute()).toEqual([
      { namespace_id: "acme", grant_id: "grant-1" },
      { namespace_id: "acme", grant_id: retained },
    ]);
  });

  test("a call that comes while old rows go waits for a step or two, not for all of them", async () => {
    const database = await openFresh(kind);
    const { audit } = openStores(database);
    const acknowledged_at = "2026-01-01T00:00:00.000Z";
    const message = {
      namespace_id: "acme",
      receiver: "alice",
      sender: "bob",
      content: "{}",
      received_at: acknowledged_at,
    };
    for (let from = 0; from < 4000; from += 500) {
      const rows = Array.from({ length: 500 }, (_, place) => from + place);
      const values = rows.map((sequence) => ({ ...message, sequence, id: `${sequence}`, acknowledged_at }));
      await database.db.insertInto("messages").values(values).execute();
    }
    let steps = 0;
    const messages = kindsOf(database).filter(({ name }) => name === "messages");
    const tasks = messages.map((found) =>
      removeOld({
        ...found,
        async removeSome(before, most) {
          const removed = await found.removeSome(before, most);
          steps += 1;
          return removed;
        },
      }),
    );
    const now = () => Promise.resolve(new Date(future));
    const running = createRetention({ database, tasks, log: recordingLog(), now, lock: retentionLocks.age }).run();
    const waited: number[] = [];
    // oxlint-disable-next-line no-unmodified-loop-condition -- the steps modify it
    while (steps < 20) {
      const before = steps;
      await audit.record(auditEvent("beside", { namespaceId: "acme" }));
      waited.push(steps - before);
    }
    await running;
    expect(steps).toBe(21);
    // On PostgreSQL calls wait for no step at all, so some may pass while one commits.
    const [most, least] = kind === "sqlite" ? [2, 10] : [20, 1];
    expect(Math.max(...waited)).toBeLessThanOrEqual(most);
    expect(waited.length).toBeGreaterThanOrEqual(least);
  });

  test("the row of a host that ended goes once nothing refers to it", async () => {
    const database = await openFresh(kind);
    const { db, hostId } = database;
    // Before this one: a host on SQLite that sees a later one stops to write.
    const overriding = kind === "postgres" ? sql`overriding system value` : sql``;
    for (const id of [-4, -3, -2, -1])
      await sql`insert into hosts (id, started_at, ended_at) ${overriding} values (${id}, '2026-01-01T00:00:00.000Z', 1)`.execute(
        db,
      );
    const [claiming = 0, running = 0, unneeded = 0, interrupted = 0] = await hostsIn(database);
    const { turns } = openStores(database);
    await beginTurn(turns, turnToBegin("acme", "turn"));
    await db.updateTable("turns").set({ host_id: interrupted }).execute();
    const claim = { namespace_id: "acme", actor: "", kind: "tool", scope: "", fingerprint: "one" };
    await db
      .insertInto("replay")
      .values([
        { ...claim, id: "open", host_id: claiming },
        { ...claim, id: "ended", host_id: unneeded, finished_at: "2026-01-01T00:00:00.000Z" },
      ])
      .execute();
    await db
      .insertInto("running_turns")
      .values({ id: "turn", host_id: running, namespace_id: "acme", credential_id: "one" })
      .execute();
    expect(await remove(database, "hosts")).toBe(1);
    expect(await hostsIn(database)).toEqual([claiming, running, interrupted]);
    // Its claim is known to be interrupted for as long as it is retained.
    const key = { namespaceId: "acme", actor: "", kind: "tool", scope: "", id: "open" } as const;
    expect(await replayStoreOf(database).begin(key, "one")).toEqual({ kind: "interrupted" });
    await db.deleteFrom("replay").execute();
    await db.deleteFrom("running_turns").execute();
    await db.deleteFrom("turns").execute();
    await remove(database, "hosts");
    expect(await hostsIn(database)).toEqual([]);
    expect(await db.selectFrom("hosts").select("id").execute()).toEqual([{ id: hostId }]);
  });
});

test("the row of a host that runs on the same PostgreSQL stays", async () => {
  const [one, other] = await openPair();
  expect(await remove(one, "hosts")).toBe(0);
  expect(await hostsIn(one)).toEqual([other.hostId]);
  await other.close();
  await expect.poll(() => remove(one, "hosts")).toBe(1);
});
