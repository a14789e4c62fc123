import { describe, expect, test, vi } from "vitest";
import type { Kernel } from "turnpike/kernel";
import { createTurnExecutor, TurnPause } from "turnpike/runtime";
import {
  databaseKinds,
  newLocation,
  newTenant,
  openFresh,
  openHost,
  openPair,
  sharedDatabase,
} from "../../../test/databases.ts";
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
import { patience } from "../../../test/host-calls.ts";
import { die, pauseBeats, settle } from "../../../test/host-signs.ts";
import { answeringLate } from "../../../test/watched-database.ts";
import { openDatabase } from "../../storage/index.ts";
import type { LedgerRunWriter } from "./run-writer.ts";

const later = "2999-01-01T00:00:00.000Z";

describe.each(databaseKinds)("turns that no host runs on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a turn whose first run pauses though it could write is found again by its own host", async () => {
    const database = await open();
    const journal = openJournal(database);
    const { request, context } = turnToBegin(newTenant(), "pauses");
    const executor = createTurnExecutor({
      kernel: {
        admitTurn: () => Promise.resolve({ kind: "refused", reason: "authority_unavailable" }),
      } as unknown as Kernel,
      runtime: { manifest: { id: "test", version: "1" }, run: () => Promise.reject(new Error("It ran.")) },
      journal,
    });
    const message = { ...request.message, receiver: request.agent };
    const running = executor.execute({ ...request, message, context }, { isAsync: true });
    await expect(running).rejects.toBeInstanceOf(TurnPause);
    const turns = database.db.selectFrom("turns").select("id").where("namespace_id", "=", context.namespaceId);
    const { id } = await turns.executeTakeFirstOrThrow();
    expect(await journal.unattended(1000)).toContain(id);
    expect((await journal.take(id))?.run).toBe(2);
  });

  test("a turn that its process left in the middle is found and taken, with all that was stored, and no other", async () => {
    const location = await newLocation(kind);
    const before = await openDatabase(location);
    const journal = openJournal(before);
    for (const id of ["async", "plain"]) {
      const turn = turnToBegin("tenant-1", id, { isAsync: id === "async" });
      await (await beginTurn(journal, turn, { id: "credential-1" })).write(eventEntries(), progress);
    }
    await (await beginTurn(journal, turnToBegin("tenant-1", "ended"))).write([endedEntry("ended")], progress);
    await (await beginTurn(journal, turnToBegin("tenant-1", "waits"))).write([waitingEntry("q", later)], progress);
    await before.close();

    const next = openJournal(await openHost(location));
    const ids = await next.unattended(10);
    expect(ids).toHaveLength(2);
    const writers = await Promise.all(ids.map((id) => next.take(id)));
    expect(writers.map((writer) => [writer?.turn.request.executionId, writer?.turn.isAsync])).toEqual([
      ["async", true],
      ["plain", false],
    ]);
    expect(writers[0]).toMatchObject({
      run: 2,
      credential: { id: "credential-1" },
      turn: turnToBegin("tenant-1", "async"),
      stored: eventEntries(),
      progress: { ...progress, ranMs: 10 },
    });
    expect(writers[0]?.stop.aborted).toBe(false);
    expect(await next.unattended(10)).toEqual([]);
    await writers[0]?.write(eventEntries(1, 2), progress);
    expect(await next.events(turnKey("tenant-1", "async"), -1)).toHaveLength(2);
  });

  test("of many who take a turn in one process one gets it, and the run before writes nothing any more", async () => {
    const database = await open();
    const writer = await beginTurn(openJournal(database), turnToBegin(newTenant(), "turn"));
    const journal = openJournal(database);
    const taken = await Promise.all(Array.from({ length: 8 }, () => journal.take(writer.id)));
    const got = taken.flatMap((each) => each ?? []);
    expect(got.map(({ run }) => run)).toEqual([2]);
    await expect(writer.write(eventEntries(), progress)).rejects.toBeInstanceOf(TurnPause);
    // Without a cause its caller would be told that a person had cancelled the turn.
    expect(writer.stop.reason).toMatchObject({ cause: expect.any(Error) as Error });
    await got[0]?.write(eventEntries(), progress);
  });

  test("a turn is not found or taken a second time while what was stored of it is still read", async () => {
    const database = await open();
    const writer = await beginTurn(openJournal(database), turnToBegin(newTenant(), "turn"));
    // The statements that take a turn: it is read, it is made this host's, and its entries are read.
    const late = answeringLate(database, 2);
    const journal = openJournal(late.database);
    const taking = journal.take(writer.id);
    await late.tookEffect;
    expect(await journal.take(writer.id)).toBeUndefined();
    expect(await journal.unattended(999)).not.toContain(writer.id);
    late.answer();
    expect((await taking)?.run).toBe(2);
  });

  test("a turn that begins is not found before its beginning is answered", async () => {
    const database = await open();
    const tenant = newTenant();
    const late = answeringLate(database, 2);
    const journal = openJournal(late.database);
    const begun = journal.begin(turnToBegin(tenant, "turn"), {});
    await late.tookEffect;
    const rows = database.db.selectFrom("turns").select("id").where("namespace_id", "=", tenant);
    const { id } = await rows.executeTakeFirstOrThrow();
    expect(await journal.unattended(999)).not.toContain(id);
    late.answer();
    expect((await begun).kind).toBe("begun");
  });

  test("of two processes that take a turn at once the slower one does not get it", async () => {
    const database = await open();
    const [fast, slow] = [
      openJournal(database),
      openJournal({ ...database, strand: database.strand, read: readSlowly }),
    ];
    let taken: LedgerRunWriter | undefined;
    async function readSlowly<Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> {
      const rows = await database.read<Row>(text, parameters);
      taken ??= await fast.take(writer.id);
      return rows;
    }
    const writer = await beginTurn(fast, turnToBegin(newTenant(), "turn"));
    await fast.leave(writer);
    expect(await slow.take(writer.id)).toBeUndefined();
    await taken?.write(eventEntries(), progress);
    expect(taken?.run).toBe(2);
  });

  test("a turn is not taken while this process runs it, while it waits, after its end, or when there is none", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    const writer = await beginTurn(journal, turnToBegin(tenant, "running"));
    const waiting = await beginTurn(journal, turnToBegin(tenant, "waits"));
    await waiting.write([waitingEntry("q", later)], progress);
    const ended = await beginTurn(journal, turnToBegin(tenant, "ended"));
    await ended.write([endedEntry("ended")], progress);
    for (const id of [writer.id, waiting.id, ended.id, "nothing"]) expect(await journal.take(id)).toBeUndefined();
    await writer.write(eventEntries(), progress);
  });

  test("a turn that its run leaves is taken again at once, and the run that left writes nothing more", async () => {
    const journal = openJournal(await open());
    const writer = await beginTurn(journal, turnToBegin(newTenant(), "turn"));
    await journal.leave(writer);
    await expect(writer.write(eventEntries(), progress)).rejects.toBeInstanceOf(TurnPause);
    expect(await journal.unattended(999)).toContain(writer.id);
    const next = await journal.take(writer.id);
    // Leaving once more does not take it away from who has it by now.
    await journal.leave(writer);
    await next?.write(eventEntries(), progress);
  });

  test("at most so many are found, the oldest first", async () => {
    const journal = openJournal(await openFresh(kind));
    const ids: string[] = [];
    for (const id of ["one", "two", "three"]) {
      const writer = await beginTurn(journal, turnToBegin("tenant-1", id));
      await journal.leave(writer);
      ids.push(writer.id);
    }
    expect(await journal.unattended(3)).toEqual(ids);
    expect(await journal.unattended(2)).toHaveLength(2);
  });

  test("a turn that is cancelled stops at once here, and at the next poll elsewhere", async () => {
    const database = await open();
    const [here, there] = [openJournal(database), openJournal(database)];
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(here, turnToBegin(key.namespaceId, "turn"));
    expect(await here.cancelled()).toEqual([]);
    await there.cancel(key);
    expect(writer.stop.aborted).toBe(false);
    expect(await here.cancelled()).toEqual([writer.id]);
    expect([writer.stop.aborted, writer.stop.reason instanceof TurnPause]).toEqual([true, false]);
    // It may still write how it ended.
    await writer.write([endedEntry("turn", { status: "cancelled", output: undefined })], progress);
    expect(await here.cancelled()).toEqual([]);
    expect(await here.find(key)).toMatchObject({ status: "cancelled" });
  });

  test("a turn that ends while it is being cancelled has ended", async () => {
    const database = await open();
    const running = openJournal(database);
    const key = turnKey(newTenant(), "turn");
    const writer = await beginTurn(running, turnToBegin(key.namespaceId, "turn"));
    let isEnded = false;
    async function readFirst<Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> {
      const rows = await database.read<Row>(text, parameters);
      if (!isEnded) await writer.write([endedEntry("turn")], progress);
      isEnded = true;
      return rows;
    }
    const journal = openJournal({ ...database, strand: database.strand, read: readFirst });
    expect(await journal.cancel(key)).toMatchObject({ status: "succeeded", updatedAt: progress.at });
  });

  test("stopping all runs of a process pauses them, and what one stored stays", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    const writers = [];
    for (const id of ["one", "two"]) writers.push(await beginTurn(journal, turnToBegin(tenant, id)));
    const over = await beginTurn(journal, turnToBegin(tenant, "over"));
    await over.write([endedEntry("over")], progress);
    const reason = new TurnPause("The host stops.");
    journal.pauseAll();
    writers.push(await beginTurn(journal, turnToBegin(tenant, "later")));
    expect(writers.map(({ pauses, stop }) => [pauses.reason instanceof TurnPause, stop.aborted])).toEqual(
      writers.map(() => [true, false]),
    );
    journal.stopAll(reason);
    expect(writers.map(({ stop }) => stop.reason as unknown)).toEqual([reason, reason, reason]);
    // What is over is none of its runs any more.
    expect(over.stop.aborted).toBe(false);
    await writers[0]?.write(eventEntries(), progress);
    expect(await journal.events(turnKey(tenant, "one"), -1)).toHaveLength(1);
  });

  test("a turn whose beginning was not answered belongs to no host, and is found", async () => {
    const database = await open();
    const failing = openJournal({ ...database, strand: database.strand });
    const tenant = newTenant();
    const { submit } = failing.ledger;
    failing.ledger.submit = async (submission) => {
      await submit(submission);
      throw new Error("not answered");
    };
    await expect(failing.begin(turnToBegin(tenant, "turn"), {})).rejects.toThrow("not answered");
    const [row] = (await failing.listAll({ namespaceId: tenant, limit: 9 })).turns;
    expect(row?.state.status).toBe("running");
    const ids = await failing.unattended(999);
    const rows = database.db.selectFrom("turns").select("id").where("namespace_id", "=", tenant);
    expect(ids).toContain((await rows.executeTakeFirstOrThrow()).id);
  });
});

describe("turns of a host on a PostgreSQL that others share", () => {
  test("are left alone while it lives, and taken when it is dead", async () => {
    const [here, other] = await openPair();
    const dying = openJournal(other);
    const writer = await beginTurn(dying, turnToBegin("tenant-1", "turn"));
    const journal = openJournal(here);
    await settle(here);
    expect(await journal.unattended(10)).toEqual([]);
    expect(await journal.take(writer.id)).toBeUndefined();
    await die(other, here);
    await vi.waitFor(async () => expect(await journal.unattended(10)).toEqual([writer.id]), patience);
    expect(await journal.take(writer.id)).toMatchObject({ id: writer.id, run: 2 });
  });

  test("are taken while it is paused: when it is back its run is halted at once, and writes nothing", async () => {
    const [here, other] = await openPair();
    const paused = openJournal(other);
    const [taken, left] = [
      await beginTurn(paused, turnToBegin("tenant-1", "taken")),
      await beginTurn(paused, turnToBegin("tenant-1", "left")),
    ];
    const journal = openJournal(here);
    const resume = await pauseBeats(other, here);
    await settle(here);
    await vi.waitFor(async () => expect(await journal.unattended(10)).toEqual([taken.id, left.id]), patience);
    expect(await journal.take(taken.id)).toMatchObject({ run: 2 });
    expect(taken.stop.aborted).toBe(false);
    await resume();
    await vi.waitFor(() => expect(taken.stop.reason).toBeInstanceOf(TurnPause), patience);
    expect(left.stop.aborted).toBe(false);
    await expect(taken.write(eventEntries(), progress)).rejects.toBeInstanceOf(TurnPause);
    await left.write(eventEntries(), progress);
  });

  test("are left alone by one that found it absent, when it has returned by the time that they are taken", async () => {
    const [here, other] = await openPair();
    const writer = await beginTurn(openJournal(other), turnToBegin("tenant-1", "turn"));
    let isThere = false;
    const journal = openJournal({ ...here, strand: here.strand, isAlive: () => Promise.resolve(isThere) });
    expect(await journal.unattended(10)).toEqual([writer.id]);
    isThere = true;
    expect(await journal.take(writer.id)).toBeUndefined();
    await writer.write(eventEntries(), progress);
  });
});
