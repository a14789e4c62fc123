import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { PrincipalRef, TurnEvent } from "turnpike/contracts";
import type { JournalEntry } from "turnpike/runtime";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import { assistant, context, neverAborted } from "../../../test/records.ts";
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
import { recordStatements } from "../../../test/watched-database.ts";
import type { TurnJournalStore } from "./journal-store.ts";
import { createTurnReader } from "./read-turns.ts";

const bob: PrincipalRef = { kind: "human", userId: "bob" };

const idsOf = async (page: ReturnType<TurnJournalStore["listAll"]>): Promise<string[]> =>
  (await page).turns.map(({ state }) => state.executionId);

async function collect(events: AsyncIterable<TurnEvent>): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of events) sequences.push(sequence);
  return sequences;
}

describe.each(databaseKinds)("what is read of turns on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a turn that began after the clock was set back is found by its time", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    for (const [id, startedAt] of [
      ["ahead", "2026-01-01T13:00:00.000Z"],
      ["behind", "2026-01-01T12:00:00.000Z"],
    ] as const) {
      vi.setSystemTime(startedAt);
      await beginTurn(journal, turnToBegin(tenant, id, { startedAt }));
    }
    const until = "2026-01-01T12:30:00.000Z";
    expect(await idsOf(journal.listAll({ namespaceId: tenant, until, limit: 9 }))).toEqual(["behind"]);
    expect(await idsOf(journal.listAll({ namespaceId: tenant, from: until, limit: 9 }))).toEqual(["ahead"]);
  });

  test("turns that began in one millisecond are listed in the order in which they began", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-01-01T12:00:00.000Z") });
    onTestFinished(() => void vi.useRealTimers());
    const names = Array.from({ length: 12 }, (_, place) => `turn-${place}`);
    for (const name of names) await beginTurn(journal, turnToBegin(tenant, name));
    expect(await idsOf(journal.listAll({ namespaceId: tenant, limit: 12 }))).toEqual(names.toReversed());
  });

  test("events that share rows with others are found behind any of them, once and in their order", async () => {
    const database = await open();
    const journal = openJournal(database);
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    const [entry] = eventEntries();
    const many = Array.from({ length: 40 }, (_, sequence): JournalEntry[] => {
      const event = { ...(entry as { event: TurnEvent }).event, sequence };
      return [
        { kind: "step", name: `step-${sequence}`, value: sequence },
        { kind: "event", event },
      ];
    }).flat();
    await writer.write(many.slice(0, 2), progress);
    await writer.write(many.slice(2, 75), progress);
    await writer.write([...many.slice(75), endedEntry("turn")], progress);
    const rows = database.db.selectFrom("turn_entries").select("position").where("turn", "=", writer.id);
    expect((await rows.orderBy("position").execute()).map(({ position }) => position)).toEqual([
      1, 17, 33, 49, 65, 74, 80,
    ]);
    const all = Array.from({ length: 40 }, (_, sequence) => sequence);
    for (const after of [-1, ...all]) {
      expect((await journal.events(key, after)).map(({ sequence }) => sequence)).toEqual(all.slice(after + 1));
      expect(await collect(journal.follow(key, after, neverAborted))).toEqual(all.slice(after + 1));
    }
    expect((await journal.find(key))?.result?.events.map(({ sequence }) => sequence)).toEqual(all);
    const [listed] = (await journal.listAll({ namespaceId: key.namespaceId, limit: 1 })).turns;
    expect(listed?.state.result?.events.map(({ sequence }) => sequence)).toEqual(all);
  });

  test("what is long and no event is in no row that is read for events", async () => {
    const database = await open();
    const journal = openJournal(database);
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    const stepOf = (name: string, length: number): JournalEntry => ({ kind: "step", name, value: "x".repeat(length) });
    const [first, second] = eventEntries(0, 2) as [JournalEntry, JournalEntry];
    const entries = [stepOf("short", 9), first, stepOf("long", 2_000), stepOf("next", 9), second];
    await writer.write(entries, progress);
    const rows = database.db.selectFrom("turn_entries").select(["position", "sequence"]).where("turn", "=", writer.id);
    expect(await rows.orderBy("position").execute()).toEqual([
      { position: 1, sequence: 0 },
      { position: 2, sequence: null },
      { position: 4, sequence: 1 },
    ]);
    await journal.leave(writer);
    expect((await openJournal(database).take(writer.id))?.stored).toEqual(entries);
  });

  test("who follows a turn with more rows than are read at once misses no event of it", async () => {
    const journal = openJournal(await open());
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    const [entry] = eventEntries() as [JournalEntry & { kind: "event" }];
    const eventOf = (sequence: number): JournalEntry => ({ kind: "event", event: { ...entry.event, sequence } });
    for (let write = 0; write < 120; write += 1)
      await writer.write([eventOf(2 * write), eventOf(2 * write + 1)], progress);
    await writer.write([endedEntry("turn")], progress);
    const all = Array.from({ length: 240 }, (_, sequence) => sequence);
    expect(await collect(journal.follow(key, -1, neverAborted))).toEqual(all);
    expect(await collect(journal.follow(key, 30, neverAborted))).toEqual(all.slice(31));
  });

  test("rows from before they were shared are read as they were written", async () => {
    const database = await open();
    const [journal, later] = [openJournal(database), openJournal(database)];
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    const [first, second, third] = eventEntries(0, 3).map((entry) => (entry as { event: TurnEvent }).event);
    const step = { kind: "step", name: "decision-0", value: "{}" } as const;
    const rows = [
      { kind: "event", sequence: 0, content: first },
      { kind: "step", sequence: null, content: step },
      { kind: "event", sequence: 1, content: second },
    ].map((row, position) => ({ ...row, turn: writer.id, position, content: JSON.stringify(row.content) }));
    await database.db.insertInto("turn_entries").values(rows).execute();
    await database.db.updateTable("turns").set({ entries: 3, events: 2 }).where("id", "=", writer.id).execute();
    expect(await journal.events(key, -1)).toEqual([first, second]);
    expect(await journal.events(key, 0)).toEqual([second]);
    await journal.leave(writer);
    const taken = await later.take(writer.id);
    expect(taken?.stored).toEqual([{ kind: "event", event: first }, step, { kind: "event", event: second }]);
    await taken?.write([...eventEntries(2, 3), endedEntry("turn")], progress);
    expect((await later.find(key))?.result?.events).toEqual([first, second, third]);
  });

  test("turns of a tenant that run and that wait are counted, and no others", async () => {
    const journal = openJournal(await open());
    const [tenant, other] = [newTenant(), newTenant()];
    for (const name of ["one", "two"]) await beginTurn(journal, turnToBegin(tenant, name));
    await beginTurn(journal, turnToBegin(other, "elsewhere"));
    const waiting = await beginTurn(journal, turnToBegin(tenant, "waits"));
    await waiting.write([waitingEntry("escalation-1", "2026-01-02T00:00:00.000Z")], progress);
    const ended = await beginTurn(journal, turnToBegin(tenant, "ended"));
    await ended.write([endedEntry("ended")], progress);
    expect(await journal.countOf(tenant)).toEqual({ running: 2, waiting: 1 });
  });

  test("operators see turns of one tenant, of some or of all, by their states, page by page", async () => {
    const journal = openJournal(await openFresh(kind));
    for (const [tenant, id] of [
      ["a", "one"],
      ["b", "two"],
      ["c", "three"],
      ["a", "four"],
    ] as const) {
      const writer = await beginTurn(journal, turnToBegin(tenant, id));
      if (id === "two") await writer.write([endedEntry(id)], progress);
      if (id === "four") await writer.write([waitingEntry("q", "2999-01-01T00:00:00.000Z")], progress);
    }
    expect(await idsOf(journal.listAll({ limit: 9 }))).toEqual(["four", "three", "two", "one"]);
    expect(await idsOf(journal.listAll({ namespaceId: "a", limit: 9 }))).toEqual(["four", "one"]);
    expect(await idsOf(journal.listAll({ namespaces: ["a", "b"], limit: 9 }))).toEqual(["four", "two", "one"]);
    expect(await idsOf(journal.listAll({ namespaces: [], limit: 9 }))).toEqual([]);
    expect(await idsOf(journal.listAll({ statuses: ["waiting", "succeeded"], limit: 9 }))).toEqual(["four", "two"]);
    expect(await idsOf(journal.listAll({ statuses: [], limit: 9 }))).toEqual([]);
    const filter = { namespaces: ["a", "c"], statuses: ["running", "waiting"], limit: 2 } as const;
    const first = await journal.listAll(filter);
    expect(first.turns.map(({ namespaceId }) => namespaceId)).toEqual(["a", "c"]);
    const second = await journal.listAll({ ...filter, before: first.next });
    expect([second.turns.length, second.turns[0]?.state.executionId, second.next]).toEqual([1, "one", undefined]);
  });

  test("a state that is named often is read once, and its turns are listed once", async () => {
    const { database, statements } = recordStatements(await open());
    const journal = openJournal(database);
    const tenant = newTenant();
    await beginTurn(journal, turnToBegin(tenant, "turn"));
    const { actor } = turnKey(tenant, "turn");
    statements.length = 0;
    const page = await journal.list({ namespaceId: tenant, actor }, { statuses: ["running", "running"], limit: 9 });
    expect(page.turns).toHaveLength(1);
    expect(statements).toHaveLength(1);
  });

  test("behind a cursor that no event will ever reach there is nothing", async () => {
    const journal = openJournal(await open());
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    await writer.write([...eventEntries(), endedEntry("turn")], progress);
    expect(await journal.events(key, 999_999_999_999_999)).toEqual([]);
    expect(await collect(journal.follow(key, 999_999_999_999_999, neverAborted))).toEqual([]);
  });

  test("operators see who began a turn, which host runs it, and the newest of those with one id", async () => {
    const database = await open();
    const journal = openJournal(database);
    const tenant = newTenant();
    await beginTurn(journal, turnToBegin(tenant, "turn", { isAsync: false }));
    const later = { context: context({ namespaceId: tenant, executionId: "turn", actor: bob }) };
    await (
      await beginTurn(journal, turnToBegin(tenant, "turn", later))
    ).write([...eventEntries(), endedEntry("turn")], progress);
    expect(await journal.findBy(tenant, "turn")).toMatchObject({
      actor: bob,
      isAsync: true,
      namespaceId: tenant,
      state: { status: "succeeded", result: { events: [{ sequence: 0 }] } },
    });
    expect((await journal.findBy(tenant, "turn"))?.hostId).toBeUndefined();
    expect(await journal.findBy(tenant, "turn", assistant)).toMatchObject({
      actor: assistant,
      isAsync: false,
      hostId: database.hostId,
      state: { status: "running" },
    });
    expect(await journal.findBy(tenant, "another")).toBeUndefined();
    expect(await journal.findBy(newTenant(), "turn")).toBeUndefined();
  });

  test("a page ends before it has read more than 20,000 events, and never before its first turn", async () => {
    const database = await open();
    const journal = openJournal(database);
    const tenant = newTenant();
    const ids: string[] = [];
    for (const id of ["one", "two", "three", "four"]) {
      const writer = await beginTurn(journal, turnToBegin(tenant, id));
      await writer.write([...eventEntries(), ...(id === "three" ? [] : [endedEntry(id)])], progress);
      ids.unshift(writer.id);
    }
    const setEvents = (id: string | undefined, events: number) =>
      database.db
        .updateTable("turns")
        .set({ events })
        .where("id", "=", id ?? "")
        .execute();
    const [four, three, two, one] = ids;
    await setEvents(four, 30_000);
    await setEvents(three, 90_000);
    await setEvents(two, 20_000);
    await setEvents(one, 1);
    const own = { namespaceId: tenant, actor: assistant };
    const pages: string[][] = [];
    let before: string | undefined;
    do {
      const page = await journal.list(own, { limit: 9, before });
      pages.push(page.turns.map(({ executionId }) => executionId));
      before = page.next;
    } while (before !== undefined);
    // The one that runs shows no events, so they do not count.
    expect(pages).toEqual([["four"], ["three", "two"], ["one"]]);
  });

  test("ids and names that no column can hold are stored, and found again", async () => {
    const journal = openJournal(await open());
    const tenant = `${newTenant()}\0`;
    const id = "nul\0 \ud800";
    const actor: PrincipalRef = { kind: "human", userId: "\ud801" };
    const request = { ...turnToBegin(tenant, id).request, metadata: { text: "\0 \ud800" } };
    const begins = turnToBegin(tenant, id, {
      request,
      context: context({ namespaceId: tenant, executionId: id, actor }),
    });
    const writer = await beginTurn(journal, begins);
    const key = { namespaceId: tenant, actor, executionId: id };
    await writer.write([{ kind: "step", name: "s", value: "\0 \ud800" }], progress);
    expect(await journal.find(key)).toMatchObject({ executionId: id });
    expect(await journal.findBy(tenant, id)).toMatchObject({ actor, state: { executionId: id } });
    await journal.leave(writer);
    const next = await journal.take(writer.id);
    expect(next?.turn).toEqual(begins);
    expect(next?.stored).toEqual([{ kind: "step", name: "s", value: "\0 \ud800" }]);
  });

  test("a poll of turns sees each event and the end of each of them, and nothing of those that are gone", async () => {
    const database = await open();
    const { progressOf } = createTurnReader(database);
    const journal = openJournal(database);
    const tenant = newTenant();
    const [one, other] = [
      await beginTurn(journal, turnToBegin(tenant, "one")),
      await beginTurn(journal, turnToBegin(tenant, "other")),
    ];
    const seen: (string | undefined)[] = [];
    for (const entries of [[], eventEntries(0, 1), eventEntries(1, 2), [endedEntry("one")]]) {
      await one.write(entries, progress);
      const found = await progressOf([one.id, other.id, "gone"]);
      expect([...found.keys()].toSorted()).toEqual([one.id, other.id].toSorted());
      expect(found.get(other.id)).toBe((await progressOf([other.id])).get(other.id));
      seen.push(found.get(one.id));
    }
    expect(new Set(seen).size).toBe(4);
  });

  test("a follower of a turn that runs elsewhere sees its events, and nothing is polled while no one follows", async () => {
    const { database, statements } = recordStatements(await open());
    const [here, there] = [openJournal(database), openJournal(await open())];
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(there, turnToBegin(key.namespaceId, "turn"));
    await writer.write(eventEntries(0, 2), progress);
    const followed = here.follow(key, 0, neverAborted)[Symbol.asyncIterator]();
    expect((await followed.next()).value).toMatchObject({ sequence: 1 });
    const next = followed.next();
    await writer.write([...eventEntries(2, 3), endedEntry("turn")], progress);
    expect((await next).value).toMatchObject({ sequence: 2 });
    expect((await followed.next()).done).toBe(true);
    const polls = statements.length;
    await new Promise(setImmediate);
    expect(statements).toHaveLength(polls);
  });

  test("a follower of a turn that runs here is told at once, without a poll in between", async () => {
    const { database, statements } = recordStatements(await open());
    const journal = openJournal(database);
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(journal, turnToBegin(key.namespaceId, "turn"));
    const followed = collect(journal.follow(key, -1, neverAborted));
    for (const place of [0, 1]) await writer.write(eventEntries(place, place + 1), progress);
    await writer.write([...eventEntries(2, 3), endedEntry("turn")], progress);
    expect(await followed).toEqual([0, 1, 2]);
    // A poll is two reads; there are as many as there were writes, the one at the start, and one that may be late.
    expect(statements.filter((text) => text.includes("from turn_entries")).length).toBeLessThanOrEqual(5);
  });
});

test("who follows on one host sees what another one stores, across runs and without a gap", async () => {
  const [here, there] = await openPair();
  const [journal, other] = [openJournal(here), openJournal(there)];
  const key = turnKey("tenant-1", "turn");
  const first = await beginTurn(other, turnToBegin("tenant-1", "turn"));
  const followed = collect(journal.follow(key, -1, neverAborted));
  await first.write(eventEntries(0, 1), progress);
  await other.leave(first);
  const second = await journal.take(first.id);
  await second?.write(eventEntries(1, 2), progress);
  if (second !== undefined) await journal.leave(second);
  const third = await other.take(first.id);
  await third?.write([...eventEntries(2, 3), endedEntry("turn")], progress);
  expect(await followed).toEqual([0, 1, 2]);
});
