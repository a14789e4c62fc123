import { Kysely, PostgresDialect, sql, SqliteDialect } from "kysely";
import SqliteDatabase from "libsql";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { access, alice } from "../../../test/records.ts";
import { openStores } from "../../compose/stores.ts";
import type { Database } from "../database.ts";
import { migrate } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { postgresMigrations } from "./postgres.ts";
import { sqliteMigrations } from "./sqlite.ts";

const migrationsOf = { sqlite: sqliteMigrations, postgres: postgresMigrations };

/** A database as it was before credentials had a column for who acts with them, with a credential of each actor. */
async function writeOld(kind: Database["kind"], location: string, actors: readonly object[]): Promise<void> {
  const dialect =
    kind === "sqlite"
      ? new SqliteDialect({ database: new SqliteDatabase(location) })
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: location }) });
  const db = new Kysely<Schema>({ dialect });
  const all = migrationsOf[kind];
  await migrate(
    db,
    kind,
    all.slice(
      0,
      all.findIndex(({ name }) => name === "0018-credential-actors"),
    ),
  );
  for (const [place, actor] of actors.entries()) {
    const content = JSON.stringify({ ...access, actor });
    await sql`insert into credentials (id, namespace_id, secret_hash, access, created_at)
      values (${String(place).padStart(16, "0")}, 'tenant-1', 'hash', ${content}, '2026-01-01T00:00:00.000Z')`.execute(
      db,
    );
  }
  await db.destroy();
}

describe.each(databaseKinds)("on %s", (kind) => {
  test("credentials from before there was a column for it are counted with whoever acts with them", async () => {
    const location = await newLocation(kind);
    const many = Array.from({ length: 450 }, (_, place) => ({ kind: "agent", agentId: `a${String(place % 3)}` }));
    const others = [
      alice,
      { kind: "group", conversationId: "family" },
      { kind: "service", serviceId: "mail:out" },
      { kind: "human", userId: "nul\0" },
    ];
    await writeOld(kind, location, [...many, ...others]);
    const { principals } = openStores(await openHost(location));
    const found = await principals.list("tenant-1", undefined, 99);
    expect(found.principals.map(({ principal }) => principal)).toEqual(
      expect.arrayContaining([...many.slice(0, 3), ...others]),
    );
    expect(found.principals).toHaveLength(7);
    const counts = await principals.count("tenant-1", ["agent:a0", "service:mail:out"]);
    expect([...counts.values()].map(({ credentials }) => credentials)).toEqual([150, 1]);
  });
});
