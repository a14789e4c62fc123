import { sql } from "kysely";
import { expect, test } from "vitest";
import { migratedLocation, openHost } from "../../test/databases.ts";
import { listDurabilityRisks } from "./durability.ts";

const standby = /^A standby of PostgreSQL confirms nothing before a commit is acknowledged: a failover to it loses/;

/** What is said of the server of the tests, which does without fsync, with these settings, and a standby in this state. */
async function risksWith(settings: readonly string[], state?: string): Promise<string[]> {
  const { db } = await openHost(await migratedLocation("postgres"));
  return db.connection().execute(async (connection) => {
    for (const setting of settings) await sql.raw(`set ${setting}`).execute(connection);
    if (state !== undefined) {
      // No standby is there, so the list of them is one of the test.
      await sql
        .raw(`create view public.pg_stat_replication as select 1 as pid, ${state} as sync_state`)
        .execute(connection);
      await sql`set search_path = public, pg_catalog`.execute(connection);
    }
    const [first, ...others] = await listDurabilityRisks(connection);
    expect(first).toMatch(/^fsync is off: .* Set fsync to on\.$/);
    return others;
  });
}

test("commits that are not waited for are a risk", async () => {
  expect(await risksWith(["synchronous_commit = on"])).toEqual([]);
  expect(await risksWith(["synchronous_commit = off"])).toEqual([
    expect.stringMatching(/^synchronous_commit is off: .* Set synchronous_commit to on\.$/),
  ]);
});

test("a standby that confirms nothing is a risk, and one that confirms is none", async () => {
  expect(await risksWith([], "'async'")).toEqual([expect.stringMatching(standby)]);
  expect(await risksWith([], "'sync'")).toEqual([]);
  expect(await risksWith([], "'quorum'")).toEqual([]);
  // What it would confirm is not waited for.
  expect(await risksWith(["synchronous_commit = local"], "'sync'")).toEqual([expect.stringMatching(standby)]);
});

test("a standby whose state this user may not read is judged by the names of those that are waited for", async () => {
  expect(await risksWith([], "null::text")).toEqual([expect.stringMatching(standby)]);
});
