import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../test/databases.ts";
import { opening, otherProcess } from "../../test/other-process.ts";
import { openDatabase } from "./open-database.ts";

const tables = [
  "audit",
  "audit_heads",
  "credentials",
  "files",
  "grants",
  "hosts",
  "namespace_settings",
  "replay",
  "revision",
  "uses",
];

describe.each(databaseKinds)("migrations on %s", (kind) => {
  test("make every table of the schema, and one revision", async () => {
    const { db } = await openHost(await newLocation(kind));
    const made = (await db.introspection.getTables()).map(({ name }) => name);
    expect(made).toEqual(expect.arrayContaining(tables));
    expect(await db.selectFrom("revision").selectAll().execute()).toEqual([{ id: 1, value: 0 }]);
  });

  test("run once: opening again keeps what is there, under a new host id", async () => {
    const location = await newLocation(kind);
    const first = await otherProcess(`
      const { db, hostId } = await openDatabase(${JSON.stringify(location)});
      await db.insertInto("uses").values({ namespace_id: "tenant-1", grant_id: "grant-1", used: 2 }).execute();
      console.log(hostId);
      setInterval(() => {}, 1000);`);
    await first.kill();
    const { db, hostId } = await openHost(location);
    expect([first.said, hostId]).toEqual(["1", 2]);
    expect(await db.selectFrom("uses").select("used").execute()).toEqual([{ used: 2 }]);
    const ran = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
    expect(ran.rows.map(({ name }) => name).slice(0, 2)).toEqual(["0001-kernel-stores", "0002-files"]);
  });
});

test("eight hosts that start at once on an empty PostgreSQL all start, each with an id of its own", async () => {
  const location = await newLocation("postgres");
  const hosts = await Promise.all(Array.from({ length: 8 }, () => openHost(location)));
  expect(new Set(hosts.map(({ hostId }) => hostId)).size).toBe(8);
  expect(await hosts[0]?.db.selectFrom("revision").selectAll().execute()).toHaveLength(1);
});

test("two processes that start at once on an empty PostgreSQL both start", async () => {
  const location = await newLocation("postgres");
  const [one, other] = await Promise.all([otherProcess(opening(location)), otherProcess(opening(location))]);
  expect([one.said, other.said].toSorted()).toEqual(["opened as 1", "opened as 2"]);
});

test("a PostgreSQL that is not there is an error, and not a wait", async () => {
  await expect(openDatabase("postgres://unknown@127.0.0.1:1/none")).rejects.toThrow("ECONNREFUSED");
});
