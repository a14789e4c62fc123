import { describe, expect, test, vi } from "vitest";
import {
  databaseKinds,
  newLocation,
  newTenant,
  openFresh,
  openHost,
  openPair,
  sharedDatabase,
  tenAtOnce,
} from "../../test/databases.ts";
import { answeringLate, failingAt, recordStatements } from "../../test/watched-database.ts";
import { replayStoreOf } from "../../test/single-stores.ts";
import { patience } from "../../test/host-calls.ts";
import type { Database } from "../storage/index.ts";
import { auditEvent } from "../../test/records.ts";
import { entryOf } from "./chain.ts";
import type { ReplayKey } from "./replay-store.ts";

function key(changes: Partial<ReplayKey> = {}): ReplayKey {
  return {
    namespaceId: newTenant(),
    actor: "agent:assistant",
    kind: "tool",
    scope: "trace-1",
    id: "call-1",
    ...changes,
  };
}

const result = { status: "succeeded", output: { text: "ä\u0000\ud800 \n", numbers: [0, 1.5, 1e21, null], nested: {} } };

describe.each(databaseKinds)("replay on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const row of [
    {
      name: "finished, asked again alike, is finished with its result",
      fingerprint: "one",
      finished: true,
      state: { kind: "finished", result },
    },
    {
      name: "finished, asked again otherwise, is a conflict",
      fingerprint: "two",
      finished: true,
      state: { kind: "conflict" },
    },
    { name: "running, asked again alike, is running", fingerprint: "one", finished: false, state: { kind: "running" } },
    {
      name: "running, asked again otherwise, is a conflict",
      fingerprint: "two",
      finished: false,
      state: { kind: "conflict" },
    },
  ]) {
    test(`an effect that is ${row.name}`, async () => {
      const replay = replayStoreOf(await open());
      const same = key();
      expect(await replay.begin(same, "one")).toEqual({ kind: "new" });
      if (row.finished) await replay.finish(same, result);
      expect(await replay.begin(same, row.fingerprint)).toEqual(row.state);
      expect(await replay.begin(same, row.fingerprint)).toEqual(row.state);
    });
  }

  for (const row of [
    { name: "tenant", other: { namespaceId: "elsewhere" } },
    { name: "actor", other: { actor: "agent:other" } },
    { name: "kind", other: { kind: "resource" } },
    { name: "scope", other: { scope: "trace-2" } },
    { name: "id", other: { id: "call-2" } },
  ] satisfies { name: string; other: Partial<ReplayKey> }[]) {
    test(`the same key but for the ${row.name} is another effect`, async () => {
      const replay = replayStoreOf(await open());
      const same = key();
      const other = { ...same, ...row.other };
      expect(await replay.begin(same, "one")).toEqual({ kind: "new" });
      expect(await replay.begin(other, "two")).toEqual({ kind: "new" });
      await replay.finish(other, "of the other");
      expect(await replay.begin(same, "one")).toEqual({ kind: "running" });
      await replay.release(same);
      expect(await replay.begin(other, "two")).toEqual({ kind: "finished", result: "of the other" });
    });
  }

  for (const row of [
    {
      name: "finished, asked again alike, is finished",
      fingerprint: "one",
      result: "1",
      state: { kind: "finished", result: 1 },
    },
    { name: "finished, asked otherwise, is a conflict", fingerprint: "two", result: "1", state: { kind: "conflict" } },
    { name: "cut off is interrupted", fingerprint: "one", result: null, state: { kind: "interrupted" } },
  ]) {
    test(`an effect from before actors were stored that is ${row.name}, for every caller`, async () => {
      const database = await open();
      const same = key();
      const finished_at = row.result === null ? null : "2026-01-01T00:00:00.000Z";
      await database.db
        .insertInto("replay")
        .values({
          namespace_id: same.namespaceId,
          actor: "",
          kind: same.kind,
          scope: same.scope,
          id: same.id,
          fingerprint: "one",
          host_id: 0,
          result: row.result,
          finished_at,
        })
        .execute();
      const replay = replayStoreOf(database);
      for (const actor of ["agent:assistant", "agent:other"]) {
        expect(await replay.begin({ ...same, actor }, row.fingerprint)).toEqual(row.state);
      }
    });
  }

  test("ids that differ in one unpaired surrogate are two ids, or refused", async () => {
    const replay = replayStoreOf(await open());
    const one = key({ id: "\ud800" });
    const begun = await Promise.allSettled([replay.begin(one, "one"), replay.begin({ ...one, id: "\ud801" }, "two")]);
    expect(begun).not.toContainEqual({ status: "fulfilled", value: { kind: "conflict" } });
  });

  test("a key that was given back is free for whatever is asked next", async () => {
    const replay = replayStoreOf(await open());
    const same = key();
    await replay.begin(same, "one");
    await replay.release(same);
    expect(await replay.begin(same, "two")).toEqual({ kind: "new" });
  });

  test("a key that was interrupted stays taken for good, though its host lives", async () => {
    const replay = replayStoreOf(await open());
    const same = key();
    await replay.begin(same, "one");
    await replay.interrupt(same);
    expect(await replay.begin(same, "one")).toEqual({ kind: "interrupted" });
    await replay.release(same);
    expect(await replay.begin(same, "one")).toEqual({ kind: "interrupted" });
  });

  test("a result of more than 256 KiB is not stored, and its key stays taken", async () => {
    const replay = replayStoreOf(await open());
    const [largest, larger] = [key(), key()];
    // Two quotes are part of the result.
    for (const [same, length] of [
      [largest, 262_142],
      [larger, 262_143],
    ] as const) {
      await replay.begin(same, "one");
      await replay.finish(same, "x".repeat(length));
    }
    expect(await replay.begin(largest, "one")).toMatchObject({ kind: "finished" });
    expect(await replay.begin(larger, "one")).toEqual({ kind: "interrupted" });
  });

  test("of a hundred that begin, ten at once, exactly one is new", async () => {
    const replay = replayStoreOf(await open());
    const same = key();
    const states = await tenAtOnce(100, () => replay.begin(same, "one"));
    expect(states.filter(({ kind: state }) => state === "new")).toHaveLength(1);
    expect(states.filter(({ kind: state }) => state === "running")).toHaveLength(99);
  });

  for (const row of [
    {
      name: "finished before is forgotten, and its key stays taken",
      before: "2999-01-01T00:00:00.000Z",
      state: { kind: "interrupted" },
    },
    { name: "finished after is retained", before: "2000-01-01T00:00:00.000Z", state: { kind: "finished", result } },
  ]) {
    test(`a result that ${row.name}`, async () => {
      const replay = replayStoreOf(await open());
      const [old, running] = [key(), key()];
      await replay.begin(old, "one");
      await replay.finish(old, result);
      await replay.begin(running, "one");
      await replay.forgetResults("writes", row.before, 200);
      expect(await replay.begin(old, "one")).toEqual(row.state);
      expect(await replay.begin(old, "two")).toEqual({ kind: "conflict" });
      expect(await replay.begin(running, "one")).toEqual({ kind: "running" });
    });
  }

  test("results that are forgotten are not written again each time", async () => {
    const { database, statements } = recordStatements(await open());
    const replay = replayStoreOf(database);
    const old = key();
    await replay.begin(old, "one");
    await replay.finish(old, result);
    const forget = () => replay.forgetResults("writes", "2999-01-01T00:00:00.000Z", 200);
    expect(await forget()).toBeGreaterThan(0);
    statements.length = 0;
    expect(await forget()).toBe(0);
    const { numUpdatedRows } = await database.db
      .updateTable("replay")
      .set({ result: null })
      .where("finished_at", "<", "2999-01-01T00:00:00.000Z")
      .where("result", "is not", null)
      .executeTakeFirst();
    expect(numUpdatedRows).toBe(0n);
    expect(statements[0]).toContain("result is not null");
  });

  test("what a host left running when it ended is interrupted for the next one", async () => {
    const location = await newLocation(kind);
    const first = await openHost(location);
    const [left, finished] = [key(), key()];
    const before = replayStoreOf(first);
    await before.begin(left, "one");
    await before.begin(finished, "one");
    await before.finish(finished, result);
    await first.close();
    const after = replayStoreOf(await openHost(location));
    expect(await after.begin(left, "one")).toEqual({ kind: "interrupted" });
    expect(await after.begin(left, "two")).toEqual({ kind: "conflict" });
    expect(await after.begin(finished, "one")).toEqual({ kind: "finished", result });
    await after.release(left);
    expect(await after.begin(left, "one")).toEqual({ kind: "interrupted" });
  });
});

// A host has one batch in flight: what asks for the key meanwhile is decided when the answer came, or is known to be lost.
describe.each(databaseKinds)(
  "a key on %s that was given back, and claimed again before the answer to that came,",
  (kind) => {
    const open = sharedDatabase(kind);

    /** A store that gave a key back; the answer of its commit is under way, and the next claim waits. */
    async function claimedAgain(fail: (database: Database) => Database = (database) => database) {
      const { database, tookEffect, answer, lose } = answeringLate(fail(await open()), 4);
      const replay = replayStoreOf(database);
      const same = key();
      await replay.begin(same, "one");
      const released = replay.release(same);
      await tookEffect;
      return { replay, same, released, again: replay.begin(same, "two"), answer, lose };
    }

    /** A database that refuses the fourth thing it is asked: the n-th statement of a kind on SQLite, a batch on PostgreSQL. */
    const failingFourth = (of: string, n: number) => (database: Database) =>
      kind === "sqlite" ? failingAt(database, n, "before", { of }) : failingAt(database, 4, "before", { of: "with" });

    test("is not freed by giving it back once more: nothing runs twice", async () => {
      const { replay, same, released, again, lose } = await claimedAgain();
      lose();
      await expect(released).rejects.toThrow("the answer is lost");
      expect(await again).toEqual({ kind: "new" });
      await replay.close();
      expect(await replay.begin(same, "two")).toEqual({ kind: "running" });
      await replay.finish(same, result);
      expect(await replay.begin(same, "two")).toEqual({ kind: "finished", result });
    });

    test("is running when the answer comes", async () => {
      const { replay, same, released, again, answer } = await claimedAgain();
      answer();
      await released;
      expect(await again).toEqual({ kind: "new" });
      expect(await replay.begin(same, "two")).toEqual({ kind: "running" });
      await replay.finish(same, result);
      expect(await replay.begin(same, "two")).toEqual({ kind: "finished", result });
    });

    test("is not freed by a caller whose claim fails", async () => {
      const failing = failingFourth("insert into replay", 3);
      const { replay, same, again, answer } = await claimedAgain(failing);
      answer();
      expect(await again).toEqual({ kind: "new" });
      await expect(replay.begin(same, "two")).rejects.toThrow("injected");
      await replay.close();
      expect(await replay.begin(same, "two")).toEqual({ kind: "running" });
    });

    test("repeats the later result from memory when that cannot be stored", async () => {
      const failing = failingFourth("update replay", 1);
      const { replay, same, again, answer } = await claimedAgain(failing);
      answer();
      expect(await again).toEqual({ kind: "new" });
      await expect(replay.finish(same, result)).rejects.toThrow("injected");
      expect(await replay.begin(same, "two")).toEqual({ kind: "finished", result });
    });

    test("stores the later result, also when the answer is lost and both endings wait", async () => {
      const failing = failingFourth("update replay", 1);
      const { replay, same, released, again, lose } = await claimedAgain(failing);
      lose();
      await expect(released).rejects.toThrow("the answer is lost");
      expect(await again).toEqual({ kind: "new" });
      await expect(replay.finish(same, result)).rejects.toThrow("injected");
      await replay.close();
      expect(await replay.begin(same, "two")).toEqual({ kind: "finished", result });
    });

    test("is free again when the answer to the second claim is lost", async () => {
      const failing = (database: Database) => failingAt(database, 3, "after", { of: "commit" });
      const { replay, same, again, answer } = await claimedAgain(failing);
      answer();
      await expect(again).rejects.toThrow("injected");
      const states: string[] = [];
      await vi.waitFor(async () => {
        states.push((await replay.begin(same, "two")).kind);
        expect(states.at(-1)).toBe("new");
      }, patience);
      expect(states).not.toContain("interrupted");
    });
  },
);

for (const row of [
  { name: "its answer came", settle: "answer", first: { status: "fulfilled", value: { kind: "new" } } },
  { name: "its answer is lost", settle: "lose", first: { status: "rejected" } },
] as const) {
  test.each(databaseKinds)(`a claim on %s is running for who asked before ${row.name}`, async (kind) => {
    const late = answeringLate(await openFresh(kind), 2);
    const replay = replayStoreOf(late.database);
    const same = key();
    const begun = replay.begin(same, "one");
    await late.tookEffect;
    const meanwhile = replay.begin(same, "one");
    late[row.settle]();
    const [first, second] = await Promise.allSettled([begun, meanwhile]);
    expect(first).toMatchObject(row.first);
    expect(second).toEqual({ status: "fulfilled", value: { kind: "running" } });
  });
}

test.each(databaseKinds)(
  "an ending on %s that waits is not replaced, and leaves memory once it is stored",
  async (kind) => {
    const replay = replayStoreOf(failingAt(await openFresh(kind), 2, "before", { of: "commit" }));
    const same = key();
    await replay.begin(same, "one");
    await expect(replay.finish(same, result)).rejects.toThrow("injected");
    await replay.release(same);
    expect(await replay.begin(same, "one")).toEqual({ kind: "finished", result });
    await replay.close();
    expect(await replay.begin(same, "one")).toEqual({ kind: "finished", result });
    await replay.forgetResults("writes", "2999-01-01T00:00:00.000Z", 200);
    expect(await replay.begin(same, "one")).toEqual({ kind: "interrupted" });
  },
);

test.each(databaseKinds)("a claim on %s is never ended by an ending of another", async (kind) => {
  const database = await openFresh(kind);
  const replay = replayStoreOf(database);
  const finish = (of: ReplayKey) =>
    expect(replay.finish(of, result)).rejects.toMatchObject({ name: "FencedResultError" });
  for (const end of [finish, replay.interrupt, replay.release]) {
    const same = key();
    await replay.begin(same, "one");
    // As if it had given way to another claim of the same host.
    const { numUpdatedRows } = await database.db
      .updateTable("replay")
      .set({ claim: "another" })
      .where("namespace_id", "=", same.namespaceId)
      .executeTakeFirst();
    expect(numUpdatedRows).toBe(1n);
    await end(same);
    const rows = await database.db
      .selectFrom("replay")
      .select(["claim", "finished_at"])
      .where("namespace_id", "=", same.namespaceId)
      .execute();
    expect(rows).toEqual([{ claim: "another", finished_at: null }]);
  }
});

describe.each(databaseKinds)(
  "a claim on %s that another host ended, because it held the first one for dead",
  (kind) => {
    /** The stores of a host that claims, and of another one that does not see it alive. */
    const openStores = async (database: Database, mine = database) => {
      const other = { ...database, strand: database.strand, hostId: database.hostId + 1000 };
      const [owner, others] = [replayStoreOf(mine), replayStoreOf({ ...other, isAlive: () => Promise.resolve(false) })];
      return { owner, others };
    };
    const interrupted = { kind: "interrupted" };

    test("stays interrupted: the first one's result is not stored, and its events are", async () => {
      const database = await openFresh(kind);
      const { owner, others } = await openStores(database);
      const same = key();
      await owner.begin(same, "one");
      expect(await others.begin(same, "two")).toEqual({ kind: "conflict" });
      expect(await others.begin(same, "one")).toEqual(interrupted);
      const outcome = entryOf(auditEvent("outcome", { namespaceId: same.namespaceId }));
      await expect(owner.finish(same, result, "write", [outcome])).rejects.toMatchObject({ name: "FencedResultError" });
      expect(await Promise.all([owner, others].map((store) => store.begin(same, "one")))).toEqual([
        interrupted,
        interrupted,
      ]);
      expect(await database.db.selectFrom("audit").select("id").execute()).toEqual([{ id: "outcome" }]);
    });

    test("does not become free when the first one says that nothing happened", async () => {
      const { owner, others } = await openStores(await openFresh(kind));
      const same = key();
      await owner.begin(same, "one");
      expect(await others.begin(same, "one")).toEqual(interrupted);
      await owner.release(same);
      expect(await others.begin(same, "one")).toEqual(interrupted);
    });

    test("keeps the results of other calls in the same commit", async () => {
      const { owner, others } = await openStores(await openFresh(kind));
      const [taken, own] = [key(), key()];
      await Promise.all([owner.begin(taken, "one"), owner.begin(own, "one")]);
      expect(await others.begin(taken, "one")).toEqual(interrupted);
      const ended = await Promise.allSettled([owner.finish(taken, result), owner.finish(own, result)]);
      expect(ended.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
      expect(await others.begin(own, "one")).toEqual({ kind: "finished", result });
    });

    test("is found out when the result is stored by a later attempt, with its events once", async () => {
      const database = await openFresh(kind);
      let isEnded = false;
      // No attempt of the owner succeeds before another host has ended the claim.
      const failing = failingAt(database, 2, "before", { of: "commit", isOver: () => isEnded });
      const { owner, others } = await openStores(database, failing);
      const same = key();
      await owner.begin(same, "one");
      const outcome = entryOf(auditEvent("outcome", { namespaceId: same.namespaceId }));
      await expect(owner.finish(same, result, "write", [outcome])).rejects.toThrow("injected");
      expect(await others.begin(same, "one")).toEqual(interrupted);
      isEnded = true;
      // Where the file is one host's alone, no other one could have ended it.
      const [told] = await Promise.allSettled([owner.mayTell(same)]);
      const fenced = { status: "rejected", reason: { name: "FencedResultError" } };
      expect(told).toMatchObject(kind === "postgres" ? fenced : { status: "fulfilled" });
      await owner.close();
      expect(await owner.begin(same, "one")).toEqual(interrupted);
      expect(await database.db.selectFrom("audit").select("id").execute()).toEqual([{ id: "outcome" }]);
    });
  },
);

describe("replay on a PostgreSQL that two hosts share", () => {
  test("of many that begin on both at once exactly one is new", async () => {
    const stores = (await openPair()).map((database) => replayStoreOf(database));
    for (let round = 0; round < 10; round += 1) {
      const same = key();
      const begun = Array.from({ length: 20 }, () => stores.map((replay) => replay.begin(same, "one")));
      const states = await Promise.all(begun.flat());
      expect(states.filter(({ kind }) => kind === "new")).toHaveLength(1);
      expect(states.filter(({ kind }) => kind === "running")).toHaveLength(39);
    }
  });

  test("what runs on one is running for the other, and then finished", async () => {
    const [here, there] = (await openPair()).map((database) => replayStoreOf(database));
    const same = key();
    expect(await here?.begin(same, "one")).toEqual({ kind: "new" });
    expect(await there?.begin(same, "one")).toEqual({ kind: "running" });
    await there?.release(same);
    expect(await there?.begin(same, "one")).toEqual({ kind: "running" });
    await here?.finish(same, result);
    expect(await there?.begin(same, "one")).toEqual({ kind: "finished", result });
  });

  test("giving a key back again never takes it from a host that claimed it since", async () => {
    const [here, there] = await openPair();
    const mine = replayStoreOf(failingAt(here, 2, "after", { of: "commit" }));
    const theirs = replayStoreOf(there);
    const same = key();
    await mine.begin(same, "one");
    await expect(mine.release(same)).rejects.toThrow("injected");
    expect(await theirs.begin(same, "two")).toEqual({ kind: "new" });
    await mine.close();
    expect(await there.db.selectFrom("replay").select("fingerprint").execute()).toEqual([{ fingerprint: "two" }]);
    expect(await mine.begin(same, "two")).toEqual({ kind: "running" });
  });

  test("a claim is running for the other before its own answer came", async () => {
    const [here, there] = await openPair();
    const { database, tookEffect, answer } = answeringLate(here, 2);
    const same = key();
    const begun = replayStoreOf(database).begin(same, "one");
    await tookEffect;
    expect(await replayStoreOf(there).begin(same, "one")).toEqual({ kind: "running" });
    answer();
    expect(await begun).toEqual({ kind: "new" });
  });

  for (const row of [
    { name: "finished", end: "finish", next: { kind: "finished", result }, state: { kind: "finished", result } },
    { name: "gave way to another", end: "release", next: { kind: "new" }, state: { kind: "running" } },
  ] as const) {
    test(`a claim that ${row.name} while it was read, and whose host then ended, is not interrupted`, async () => {
      const location = await newLocation("postgres");
      const [first, second, third] = [await openHost(location), await openHost(location), await openHost(location)];
      const [ending, other] = [replayStoreOf(first), replayStoreOf(third)];
      // The claim is tried, who has the key is read, and that is committed.
      const { database, tookEffect, answer } = answeringLate(second, 3);
      const same = key();
      await ending.begin(same, "one");
      const asked = replayStoreOf(database).begin(same, "one");
      await tookEffect;
      await (row.end === "finish" ? ending.finish(same, result) : ending[row.end](same));
      expect(await other.begin(same, "one")).toEqual(row.next);
      await first.close();
      await vi.waitFor(() => expect(third.isAlive(first.hostId)).resolves.toBe(false), patience);
      answer();
      expect(await asked).toEqual(row.state);
    });
  }
});
