import { describe, expect, test } from "vitest";
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
import { answeringLate } from "../../../test/watched-database.ts";
import { openDatabase } from "../../storage/index.ts";
import type { JournalPen } from "./pen.ts";

const later = "2999-01-01T00:00:00.000Z";

describe.each(databaseKinds)("turns that nobody runs on %s", (kind) => {
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

  test("a turn that its process left in the middle is found and taken, with all that was kept, and no other", async () => {
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
    await next.unattended(10);
    // Elsewhere a host that is absent has some seconds to return; here there is one process at a time.
    next.clock.ms = kind === "postgres" ? 5001 : 0;
    const ids = await next.unattended(10);
    expect(ids).toHaveLength(2);
    const pens = await Promise.all(ids.map((id) => next.take(id)));
    expect(pens.map((pen) => [pen?.turn.request.executionId, pen?.turn.isAsync])).toEqual([
      ["async", true],
      ["plain", false],
    ]);
    expect(pens[0]).toMatchObject({
      run: 2,
      credential: { id: "credential-1" },
      turn: turnToBegin("tenant-1", "async"),
      kept: eventEntries(),
      progress: { ...progress, ranMs: 10 },
    });
    expect(pens[0]?.stop.aborted).toBe(false);
    expect(await next.unattended(10)).toEqual([]);
    await pens[0]?.write(eventEntries(1, 2), progress);
    expect(await next.events(turnKey("tenant-1", "async"), -1)).toHaveLength(2);
  });

  test("of many who take a turn in one process one gets it, and the run before writes nothing any more", async () => {
    const database = await open();
    const pen = await beginTurn(openJournal(database), turnToBegin(newTenant(), "turn"));
    const journal = openJournal(database);
    const taken = await Promise.all(Array.from({ length: 8 }, () => journal.take(pen.id)));
    const got = taken.flatMap((each) => each ?? []);
    expect(got.map(({ run }) => run)).toEqual([2]);
    await expect(pen.write(eventEntries(), progress)).rejects.toBeInstanceOf(TurnPause);
    // Without a cause its caller would be told that somebody had cancelled the turn.
    expect(pen.stop.reason).toMatchObject({ cause: expect.any(Error) as Error });
    await got[0]?.write(eventEntries(), progress);
  });

  test("a turn is not found or taken a second time while what was kept of it is still read", async () => {
    const database = await open();
    const pen = await beginTurn(openJournal(database), turnToBegin(newTenant(), "turn"));
    // The statements that take a turn: it is read, it is made this host's, and its entries are read.
    const late = answeringLate(database, 2);
    const journal = openJournal(late.database);
    const taking = journal.take(pen.id);
    await late.tookEffect;
    expect(await journal.take(pen.id)).toBeUndefined();
    expect(await journal.unattended(999)).not.toContain(pen.id);
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
    let taken: JournalPen | undefined;
    async function readSlowly<Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> {
      const rows = await database.read<Row>(text, parameters);
      taken ??= await fast.take(pen.id);
      return rows;
    }
    const pen = await beginTurn(fast, turnToBegin(newTenant(), "turn"));
    await fast.leave(pen);
    expect(await slow.take(pen.id)).toBeUndefined();
    await taken?.write(eventEntries(), progress);
    expect(taken?.run).toBe(2);
  });

  test("a turn is not taken while this process runs it, while it waits, after its end, or when there is none", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    const pen = await beginTurn(journal, turnToBegin(tenant, "running"));
    const waiting = await beginTurn(journal, turnToBegin(tenant, "waits"));
    await waiting.write([waitingEntry("q", later)], progress);
    const ended = await beginTurn(journal, turnToBegin(tenant, "ended"));
    await ended.write([endedEntry("ended")], progress);
    for (const id of [pen.id, waiting.id, ended.id, "nothing"]) expect(await journal.take(id)).toBeUndefined();
    await pen.write(eventEntries(), progress);
  });

  test("a turn that its run leaves is taken again at once, and the run that left writes nothing more", async () => {
    const journal = openJournal(await open());
    const pen = await beginTurn(journal, turnToBegin(newTenant(), "turn"));
    await journal.leave(pen);
    await expect(pen.write(eventEntries(), progress)).rejects.toBeInstanceOf(TurnPause);
    expect(await journal.unattended(999)).toContain(pen.id);
    const next = await journal.take(pen.id);
    // Leaving once more does not take it away from who has it by now.
    await journal.leave(pen);
    await next?.write(eventEntries(), progress);
  });

  test("at most so many are found, the oldest first", async () => {
    const journal = openJournal(await openFresh(kind));
    const ids: string[] = [];
    for (const id of ["one", "two", "three"]) {
      const pen = await beginTurn(journal, turnToBegin("tenant-1", id));
      await journal.leave(pen);
      ids.push(pen.id);
    }
    expect(await journal.unattended(3)).toEqual(ids);
    expect(await journal.unattended(2)).toHaveLength(2);
  });

  test("a turn that is cancelled stops at once here, and at the next look elsewhere", async () => {
    const database = await open();
    const [here, there] = [openJournal(database), openJournal(database)];
    const key = turnKey(newTenant(), "turn");
    const pen = await beginTurn(here, turnToBegin(key.namespaceId, "turn"));
    expect(await here.cancelled()).toEqual([]);
    await there.cancel(key);
    expect(pen.stop.aborted).toBe(false);
    expect(await here.cancelled()).toEqual([pen.id]);
    expect([pen.stop.aborted, pen.stop.reason instanceof TurnPause]).toEqual([true, false]);
    // It may still write how it ended.
    await pen.write([endedEntry("turn", { status: "cancelled", output: undefined })], progress);
    expect(await here.cancelled()).toEqual([]);
    expect(await here.find(key)).toMatchObject({ status: "cancelled" });
  });

  test("a turn that ends while somebody cancels it has ended", async () => {
    const database = await open();
    const running = openJournal(database);
    const key = turnKey(newTenant(), "turn");
    const pen = await beginTurn(running, turnToBegin(key.namespaceId, "turn"));
    let isEnded = false;
    async function readFirst<Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> {
      const rows = await database.read<Row>(text, parameters);
      if (!isEnded) await pen.write([endedEntry("turn")], progress);
      isEnded = true;
      return rows;
    }
    const journal = openJournal({ ...database, strand: database.strand, read: readFirst });
    expect(await journal.cancel(key)).toMatchObject({ status: "succeeded", updatedAt: progress.at });
  });

  test("stopping all runs of a process pauses them, and what one kept stays", async () => {
    const journal = openJournal(await open());
    const tenant = newTenant();
    const pens = [];
    for (const id of ["one", "two"]) pens.push(await beginTurn(journal, turnToBegin(tenant, id)));
    const over = await beginTurn(journal, turnToBegin(tenant, "over"));
    await over.write([endedEntry("over")], progress);
    const reason = new TurnPause("The host stops.");
    journal.pauseAll();
    pens.push(await beginTurn(journal, turnToBegin(tenant, "later")));
    expect(pens.map(({ pauses, stop }) => [pauses.reason instanceof TurnPause, stop.aborted])).toEqual(
      pens.map(() => [true, false]),
    );
    journal.stopAll(reason);
    expect(pens.map(({ stop }) => stop.reason as unknown)).toEqual([reason, reason, reason]);
    // What is over is none of its runs any more.
    expect(over.stop.aborted).toBe(false);
    await pens[0]?.write(eventEntries(), progress);
    expect(await journal.events(turnKey(tenant, "one"), -1)).toHaveLength(1);
  });

  test("a turn whose beginning was not answered is nobody's, and is found", async () => {
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
  test("are left alone while it lives, and taken when it has been absent for longer than it may", async () => {
    const [here, other] = await openPair();
    const dying = openJournal(other);
    const pen = await beginTurn(dying, turnToBegin("tenant-1", "turn"));
    const journal = openJournal(here);
    for (const ms of [0, 60_000]) {
      journal.clock.ms = ms;
      expect(await journal.unattended(10)).toEqual([]);
      expect(await journal.take(pen.id)).toBeUndefined();
    }
    await other.close();
    for (const ms of [70_000, 73_000]) {
      journal.clock.ms = ms;
      expect(await journal.unattended(10)).toEqual([]);
      expect(await journal.take(pen.id)).toBeUndefined();
    }
    journal.clock.ms = 75_001;
    expect(await journal.unattended(10)).toEqual([pen.id]);
    expect(await journal.take(pen.id)).toMatchObject({ id: pen.id, run: 2 });
  });

  test("are left alone by one that found it absent, when it has returned by the time that they are taken", async () => {
    const [here, other] = await openPair();
    const pen = await beginTurn(openJournal(other), turnToBegin("tenant-1", "turn"));
    let isThere = false;
    const journal = openJournal({ ...here, strand: here.strand, isAlive: () => Promise.resolve(isThere) });
    await journal.unattended(10);
    journal.clock.ms = 5001;
    expect(await journal.unattended(10)).toEqual([pen.id]);
    isThere = true;
    expect(await journal.take(pen.id)).toBeUndefined();
    await pen.write(eventEntries(), progress);
  });
});
