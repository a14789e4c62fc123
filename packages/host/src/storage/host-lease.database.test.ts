import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { patience } from "../../test/host-calls.ts";
import { entryOf, openLedger } from "../ledger/index.ts";
import { readOpenGaps } from "./history/gaps.ts";

/** A host with rows that it knows to be durable, on a server that seems to be another one when the test says so, on every connection. */
async function pooledHost() {
  const url = await newLocation("postgres");
  const direct = await openHost(url);
  const name = new URL(url).pathname.slice(1);
  await sql`alter database ${sql.raw(name)} set search_path = public, pg_catalog`.execute(direct.db);
  const database = await openHost({ url, pooler: "transaction", directUrl: url });
  const ledger = openLedger(database);
  for (const id of ["one", "two"])
    await ledger.submit({ alternatives: [{ entries: [entryOf(auditEvent(id, { namespaceId: "acme" }))] }] });
  const changeServer = () =>
    sql`create function public.pg_postmaster_start_time() returns timestamptz language sql
      return pg_catalog.pg_postmaster_start_time() + interval '1 second'`.execute(direct.db);
  return { database, direct, changeServer };
}

describe.runIf(databaseKinds.includes("postgres"))("a host behind a pooler that leads to another server unseen", () => {
  test("notices by its beat what is lost there, without a call", async () => {
    const { database, direct, changeServer } = await pooledHost();
    await direct.db.deleteFrom("audit").execute();
    await direct.db.deleteFrom("audit_heads").execute();
    expect(database.history.isBehind).toBe(false);
    await changeServer();
    const lost = [{ chains: [{ namespaceId: "acme", sequence: 2, now: 0 }] }];
    await vi.waitFor(async () => expect(await readOpenGaps(direct.db)).toMatchObject(lost), patience);
    expect(database.history.isBehind).toBe(true);
  });

  test("goes on when all is there", async () => {
    const { database, direct, changeServer } = await pooledHost();
    const { era } = database.history;
    await changeServer();
    await vi.waitFor(() => expect(database.history.era).toBeGreaterThan(era), patience);
    expect([database.history.isBehind, await readOpenGaps(direct.db)]).toEqual([false, []]);
  });
});
