import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { databaseKinds, newLocation, openFresh, openHost, openPair } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import { die, pauseBeats, settle } from "../../test/host-signs.ts";
import { otherProcess } from "../../test/other-process.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import type { Database } from "../storage/database.ts";
import { openDatabase } from "../storage/open-database.ts";
import { createAbsentHostRemoval } from "./absent-hosts.ts";
import { openTurnSlots } from "./turn-limit.ts";
import { turnLimitsOf, type Admission, type TurnLimits, type TurnSlots } from "./turn-slots.ts";
import { loadConfig } from "../compose/config.ts";

const limits: TurnLimits = { all: 4, tenant: 3, credential: 2 };
const ignore = (): void => {};

/** What became of turns, in the order in which they were asked for: `tenant/credential`. */
function admitAll(slots: TurnSlots, owners: readonly string[]): Promise<Admission[]> {
  return Promise.all(
    owners.map((owner) => {
      const [namespaceId = "", credentialId = ""] = owner.split("/");
      return slots.admit({ namespaceId, credentialId });
    }),
  );
}

const said = (admission: Admission): string => (admission.kind === "admitted" ? "runs" : admission.by);

const rows: { name: string; owners: string[]; said: string[] }[] = [
  {
    name: "one credential gets its share and no more",
    owners: ["a/1", "a/1", "a/1"],
    said: ["runs", "runs", "credential"],
  },
  {
    name: "one tenant gets its share, however many credentials it has",
    owners: ["a/1", "a/2", "a/3", "a/4", "b/1"],
    said: ["runs", "runs", "runs", "tenant", "runs"],
  },
  {
    name: "all callers together get as many as there are",
    owners: ["a/1", "b/1", "c/1", "d/1", "e/1"],
    said: ["runs", "runs", "runs", "runs", "all"],
  },
  {
    name: "a credential of the same name in another tenant is another one",
    owners: ["a/1", "a/1", "b/1", "b/1"],
    said: ["runs", "runs", "runs", "runs"],
  },
];

describe.each(databaseKinds)("places for turns on %s", (kind) => {
  for (const row of rows) {
    test(row.name, async () => {
      const slots = await openTurnSlots(await openFresh(kind), limits, ignore);
      expect((await admitAll(slots, row.owners)).map(said)).toEqual(row.said);
    });
  }

  test("a turn that ended makes room for one more, and only for one", async () => {
    const slots = await openTurnSlots(await openFresh(kind), limits, ignore);
    const [first] = await admitAll(slots, ["a/1", "a/1"]);
    if (first?.kind === "admitted") await first.release();
    expect((await admitAll(slots, ["a/1", "a/1"])).map(said)).toEqual(["runs", "credential"]);
  });
});

for (const [name, flags, expected] of [
  ["64 turns, three quarters for a tenant and half for a credential", {}, { all: 64, tenant: 48, credential: 32 }],
  ["shares of what is configured", { "limits.concurrentTurns": "10" }, { all: 10, tenant: 7, credential: 5 }],
  ["at least one for every caller", { "limits.concurrentTurns": "1" }, { all: 1, tenant: 1, credential: 1 }],
  [
    "what is configured for tenants and credentials",
    { "limits.tenantTurns": "60", "limits.credentialTurns": "3" },
    { all: 64, tenant: 60, credential: 3 },
  ],
] as const) {
  test(`the limits are ${name}`, () => {
    expect(turnLimitsOf(loadConfig({ file: undefined, env: {}, flags }).limits)).toEqual(expected);
  });
}

describe("hosts that share a PostgreSQL", () => {
  const rowsOf = ({ db }: Database) => db.selectFrom("running_turns").select("host_id").execute();

  test("never exceed a limit together, however many turns begin at once", async () => {
    const hosts = await openPair();
    const slots = await Promise.all(
      hosts.map((host) => openTurnSlots(host, { all: 9, tenant: 6, credential: 4 }, ignore)),
    );
    const alone = Array.from({ length: 10 }, () => "a/1");
    const mixed = Array.from({ length: 30 }, (_, place) => `${place % 3 === 0 ? "b" : "a"}/${place % 2}`);
    for (const [owners, most] of [alone, mixed, alone, mixed].map((each) => [each, each === alone ? 4 : 9] as const)) {
      const admissions = (await Promise.all(slots.map((one) => admitAll(one, owners)))).flat();
      const running = [...owners, ...owners].filter((_, place) => admissions[place]?.kind === "admitted");
      expect(running).toHaveLength(most);
      expect(running.filter((owner) => owner.startsWith("a/")).length).toBeLessThanOrEqual(6);
      for (const owner of new Set(running)) {
        expect(running.filter((one) => one === owner).length).toBeLessThanOrEqual(4);
      }
      await Promise.all(admissions.map((one) => one.kind === "admitted" && one.release()));
    }
    expect(await rowsOf(hosts[0])).toEqual([]);
  });

  /** Ends the connection by which a host shows that it lives; the server has databases of other tests, too. */
  const breakPresence = ({ hostId }: Database, { db }: Database) =>
    sql`select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and classid = 7443 and objid = ${hostId}
        and database = (select oid from pg_database where datname = current_database())`.execute(db);
  test("count the turns of a host whose presence broke, also when another starts meanwhile", async () => {
    const [here, there] = await openPair();
    await admitAll(await openTurnSlots(here, limits, ignore), ["a/1", "a/1"]);
    const others = await openTurnSlots(there, limits, ignore);
    await breakPresence(here, there);
    expect((await admitAll(others, ["a/1"])).map(said)).toEqual(["credential"]);
    const late = await openTurnSlots(there, limits, ignore);
    expect((await admitAll(late, ["a/1"])).map(said)).toEqual(["credential"]);
  });

  test("put the rows of their turns back when they return to hosts that took them for dead", async () => {
    const [here, there] = await openPair();
    const slots = await openTurnSlots(here, limits, ignore);
    const [first] = await admitAll(slots, ["a/1", "a/1"]);
    if (first?.kind === "admitted") await first.release();
    await there.db.deleteFrom("running_turns").execute();
    await breakPresence(here, there);
    await vi.waitUntil(async () => (await rowsOf(there)).length > 0, patience);
    expect(await rowsOf(there)).toEqual([{ host_id: here.hostId }]);
  });

  test("count the turns of a host until it is dead, and remove them then", async () => {
    const location = await newLocation("postgres");
    const dead = await openDatabase(location);
    const here = await openHost(location);
    await admitAll(await openTurnSlots(dead, limits, ignore), ["a/1", "a/1"]);
    const { database, statements } = recordStatements(here);
    await settle(here);
    const removal = createAbsentHostRemoval(database);
    expect(await removal()).toBe(true);
    expect(statements.some((statement) => statement.startsWith("delete"))).toBe(false);
    await die(dead, here);
    await vi.waitFor(async () => expect(await removal()).toBe(false), patience);
    expect(await rowsOf(here)).toEqual([]);
  });

  test("find hosts that died by themselves, from their start and from an admission on", async () => {
    const location = await newLocation("postgres");
    const dying = [await openDatabase(location), await openDatabase(location)];
    const here = await openHost(location);
    for (const dead of dying) {
      await admitAll(await openTurnSlots(dead, limits, ignore), ["a/1", "a/1"]);
      if (dead === dying[0]) await die(dead, here);
      const slots = await openTurnSlots(here, limits, ignore);
      if (dead === dying[1]) {
        await admitAll(slots, ["a/1"]);
        await die(dead, here);
      }
      await vi.waitFor(async () => expect(await rowsOf(here)).toEqual([]), patience);
    }
  });

  test("leave the rows of a host that is back by the time that they are removed", async () => {
    const [here, there] = await openPair();
    await admitAll(await openTurnSlots(there, limits, ignore), ["a/1", "a/1"]);
    const removal = createAbsentHostRemoval({ ...here, isAlive: () => Promise.resolve(false) });
    expect(await removal()).toBe(true);
    expect(await rowsOf(here)).toHaveLength(2);
  });

  test("give a host that was paused back what its turns hold, once it beats again", async () => {
    const [here, there] = await openPair();
    await admitAll(await openTurnSlots(there, limits, ignore), ["a/1", "a/1"]);
    const removal = createAbsentHostRemoval(here);
    const resume = await pauseBeats(there, here);
    await settle(here);
    await vi.waitFor(async () => expect(await removal()).toBe(false), patience);
    expect(await rowsOf(here)).toEqual([]);
    await resume();
    await vi.waitFor(async () => expect(await rowsOf(here)).toHaveLength(2), patience);
  });

  test("remove only rows that they know to be lost, not one that is being admitted", async () => {
    const location = await newLocation("postgres");
    const here = await openHost(location);
    // The first place is lost with the answer to its commit; the next one is admitted before the repair.
    const { database, statements } = recordStatements(failingAt(here, 6, "after"));
    const slots = await openTurnSlots(database, limits, ignore);
    await expect(slots.admit({ namespaceId: "a", credentialId: "1" })).rejects.toThrow("injected");
    await admitAll(slots, ["a/1"]);
    await vi.waitUntil(() => statements.some((statement) => statement.startsWith("delete")), patience);
    await vi.waitUntil(async () => (await rowsOf(here)).length === 1, patience);
    expect(statements.filter((statement) => /^delete.*not in/.test(statement))).toEqual([]);
  });

  test("refuse when the count cannot be taken, whichever statement fails, and no place is lost", async () => {
    const database = await openFresh("postgres");
    for (const when of ["before", "after"] as const) {
      // The first statement finds hosts that died; then two for the lock, count, insert and commit.
      for (const place of [2, 3, 4, 5, 6]) {
        const slots = await openTurnSlots(failingAt(database, place, when), limits, ignore);
        await expect(slots.admit({ namespaceId: "a", credentialId: "1" })).rejects.toThrow("injected");
        await vi.waitUntil(async () => (await rowsOf(database)).length === 0, patience);
      }
    }
  });

  test("remove the row of a turn that ended while the database was away", async () => {
    const database = await openFresh("postgres");
    const errors: unknown[] = [];
    // The seventh statement is the one that gives the place back.
    const slots = await openTurnSlots(failingAt(database, 7, "before"), limits, (error) => void errors.push(error));
    const [admission] = await admitAll(slots, ["a/1"]);
    expect(await rowsOf(database)).toHaveLength(1);
    if (admission?.kind === "admitted") await admission.release();
    expect(errors).toMatchObject([{ message: expect.stringContaining("injected") as string }]);
    await vi.waitUntil(async () => (await rowsOf(database)).length === 0, patience);
  });

  test("do not wait long for one that stopped while it held the lock, and lose one connection to it at most", async () => {
    const [here, there] = await openPair();
    const slots = await openTurnSlots(here, limits, ignore);
    await there.db.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(7444, 0)`.execute(transaction);
      const asked = Promise.allSettled(
        Array.from({ length: 20 }, () => slots.admit({ namespaceId: "a", credentialId: "1" })),
      );
      const waiting = async () => {
        const locks = sql<{
          count: number;
        }>`select count(*) as count from pg_locks where locktype = 'advisory' and not granted`;
        return (await locks.execute(there.db)).rows[0]?.count;
      };
      await vi.waitUntil(async () => (await waiting()) === 1, patience);
      // Not the 15 s that a statement has.
      const lockTimeout = { status: "rejected", reason: { code: "55P03" } };
      expect(await asked).toMatchObject(Array.from({ length: 20 }, () => lockTimeout));
    });
    expect((await admitAll(slots, ["a/1"])).map(said)).toEqual(["runs"]);
  });

  test("continue soon after one of them stopped while it held the lock", async () => {
    const location = await newLocation("postgres");
    const here = await openHost(location);
    const other = await otherProcess(`
      const { openTurnSlots } = await import(${JSON.stringify(new URL("../../dist/turns/turn-limit.js", import.meta.url).href)});
      const stop = ({ query }) => {
        if (!query.sql.includes("pg_advisory_xact_lock")) return;
        console.log("holds the lock");
        for (;;);
      };
      const database = await openDatabase(${JSON.stringify(location)}, stop);
      // What an admission may have left is removed under the lock.
      const losing = { ...database, transact: () => Promise.reject(new Error("The answer was lost.")) };
      const slots = await openTurnSlots(losing, { all: 4, tenant: 4, credential: 4 }, () => {});
      setInterval(() => {}, 1000);
      await slots.admit({ namespaceId: "a", credentialId: "1" }).catch(() => {});`);
    expect(other.said).toBe("holds the lock");
    const slots = await openTurnSlots(here, limits, ignore);
    await vi.waitFor(async () => expect((await admitAll(slots, ["a/1"])).map(said)).toEqual(["runs"]), patience);
  });
});
