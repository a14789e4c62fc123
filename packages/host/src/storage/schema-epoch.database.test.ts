import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { databaseKinds, newLocation, openFresh, openHost, openPair } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import type { Database } from "./database.ts";
import { databaseEpoch } from "./inspect-database.ts";
import { migrate, ownEpoch } from "./migrate.ts";
import type { Migration } from "./migrations/migration.ts";
import { postgresMigrations } from "./migrations/postgres.ts";
import { sqliteMigrations } from "./migrations/sqlite.ts";
import { openDatabase } from "./open-database.ts";

const own = { sqlite: sqliteMigrations, postgres: postgresMigrations };
const epochOf = ({ db }: Database) => db.selectFrom("schema_epoch").selectAll().execute();
const nextTable = ({ db }: Database) =>
  sql`select * from next_version`.execute(db).then(
    () => "there",
    () => "missing",
  );

/** Migrates as the next version does. */
function migrateNext({ db, kind }: Database, changes: Partial<Migration>, patienceMs?: number): Promise<void> {
  const next = { name: "9001-next", allowsPrevious: false, statements: ["create table next_version (id integer)"] };
  return migrate(db, kind, [...own[kind], { ...next, ...changes }], patienceMs);
}

describe.each(databaseKinds)("the epoch of a %s", (kind) => {
  test("is the number of the newest migration; the lowest is that of the newest one that a version before it may not serve beside", async () => {
    const database = await openFresh(kind);
    const numbers = own[kind].filter(({ allowsPrevious }) => !allowsPrevious).map(({ name }) => Number.parseInt(name));
    expect(await epochOf(database)).toEqual([{ epoch: ownEpoch, lowest: Math.max(...numbers) }]);
  });

  test("that a migration raises which the version before may serve beside makes no host too old", async () => {
    const database = await openFresh(kind);
    const [before] = await epochOf(database);
    await migrateNext(database, { allowsPrevious: true });
    expect(await epochOf(database)).toEqual([{ ...before, epoch: 9001 }]);
    expect(database.isTooOld()).toBe(false);
  });

  test("makes a host too old while it says so, and no longer", async () => {
    const database = await openFresh(kind);
    const [before] = await epochOf(database);
    expect(database.isTooOld()).toBe(false);
    await database.db
      .updateTable("schema_epoch")
      .set({ lowest: ownEpoch + 1 })
      .execute();
    await vi.waitFor(() => expect(database.isTooOld()).toBe(true), patience);
    await database.db
      .updateTable("schema_epoch")
      .set({ lowest: before?.lowest ?? 0 })
      .execute();
    await vi.waitFor(() => expect(database.isTooOld()).toBe(false), patience);
  });

  test("is refused when it is lowered by a version that may not serve any more", async () => {
    const database = await openFresh(kind);
    await database.db.updateTable("schema_epoch").set({ epoch: 9001, lowest: 9001 }).execute();
    await expect(migrate(database.db, kind)).rejects.toThrow("versions from epoch 9001 on may serve it");
    expect(await epochOf(database)).toEqual([{ epoch: 9001, lowest: 9001 }]);
  });
});

test.each(databaseKinds)(
  "the epoch of a %s is shown to a version that may not serve it, and changes nothing",
  async (kind) => {
    const location = await newLocation(kind);
    const database = await openDatabase(location);
    await database.db.updateTable("schema_epoch").set({ epoch: 9002, lowest: 9001 }).execute();
    await database.close();
    expect(await databaseEpoch(location)).toEqual({ epoch: 9002, lowest: 9001 });
  },
);

test("a database that has no epoch says so: an empty one, one that is not there, and one that a host has open", async () => {
  await expect(databaseEpoch(await newLocation("sqlite"))).rejects.toThrow(/^There is no database /);
  const location = await newLocation("sqlite");
  await openHost(location);
  await expect(databaseEpoch(location)).rejects.toThrow(/is in use by another process/);
});

test("an empty PostgreSQL has no epoch", async () => {
  await expect(databaseEpoch(await newLocation("postgres"))).rejects.toThrow("This database has no epoch");
});

describe("a migration of a PostgreSQL that older hosts may not serve beside", () => {
  test("tells them first, and runs when they have nothing under way", async () => {
    const [here, there] = await openPair();
    const busy = new Set([here, there]);
    for (const host of busy) host.showDrained(() => host.isTooOld() && !busy.has(host));
    const migrated = migrateNext(here, {});
    for (const host of [here, there]) {
      await vi.waitFor(() => expect(host.isTooOld()).toBe(true), patience);
      expect([await nextTable(here), (await epochOf(here))[0]]).toEqual(["missing", { epoch: ownEpoch, lowest: 9001 }]);
      busy.delete(host);
    }
    await migrated;
    expect([await nextTable(here), await epochOf(here)]).toEqual(["there", [{ epoch: 9001, lowest: 9001 }]]);
  });

  test("does not wait for hosts that have ended", async () => {
    const [here, there] = await openPair();
    here.showDrained(() => true);
    await there.close();
    await migrateNext(here, {});
    expect(await nextTable(here)).toBe("there");
  });

  test("does not run while they stay, and says which they are", async () => {
    const [here, there] = await openPair();
    here.showDrained(() => true);
    await vi.waitFor(async () => {
      const rows = here.db.selectFrom("hosts").select("id").where("drained_at", "is not", null);
      expect(await rows.execute()).toEqual([{ id: here.hostId }]);
    }, patience);
    await expect(migrateNext(here, {}, 0)).rejects.toThrow(
      new RegExp(
        `^Hosts of an older version have not finished .*: host ${there.hostId} \\(started [^)]+\\)\\. They begin`,
      ),
    );
    expect([await nextTable(here), (await epochOf(here))[0]?.lowest]).toEqual(["missing", 9001]);
  });

  test("is refused at once while hosts live that know no epochs, and nothing is changed", async () => {
    const [here, there] = await openPair();
    const before = await epochOf(here);
    await here.db.updateTable("hosts").set({ epoch: null }).where("id", "=", there.hostId).execute();
    await expect(migrateNext(here, {})).rejects.toThrow(
      new RegExp(
        `^Hosts run on this database that are too old .*: host ${there.hostId} \\(started [^)]+\\)\\. Stop them`,
      ),
    );
    expect([await nextTable(here), await epochOf(here)]).toEqual(["missing", before]);
  });
});
