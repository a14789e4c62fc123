import { hash } from "node:crypto";
import { Kysely, PostgresDialect, sql, SqliteDialect } from "kysely";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../test/databases.ts";
import { otherProcess } from "../../test/other-process.ts";
import { access, assistant, auditEvent, grant } from "../../test/records.ts";
import { openStores } from "./stores.ts";
import { entryOf, origin, rowBehind } from "../ledger/chain.ts";
import type { Database } from "../storage/database.ts";
import { migrate } from "../storage/migrate.ts";
import { postgresMigrations } from "../storage/migrations/postgres.ts";
import { sqliteMigrations } from "../storage/migrations/sqlite.ts";
import type { Schema } from "../storage/schema.ts";
import { SqliteFile } from "../storage/sqlite/sqlite-file.ts";

const migrationsOf = { sqlite: sqliteMigrations, postgres: postgresMigrations };
const secret = "0".repeat(64);
const token = `tp_0123456789abcdef_${secret}`;

/** What the first version stored: a grant with uses, a credential, three audit rows, an id of a call with its result. */
async function writeRows(db: Kysely<Schema>): Promise<void> {
  const held = grant("grant-1", { namespaceId: "acme", constraints: { maxUses: 5 } });
  await sql`insert into grants (namespace_id, id, subject, issuer, content)
    values ('acme', 'grant-1', 'agent:assistant', 'human:alice', ${JSON.stringify(held)})`.execute(db);
  await sql`insert into uses (namespace_id, grant_id, used) values ('acme', 'grant-1', 2)`.execute(db);
  await sql`insert into credentials (id, namespace_id, secret_hash, access, created_at)
    values ('0123456789abcdef', 'acme', ${hash("sha256", secret)}, ${JSON.stringify(access)}, '2026-01-01T00:00:00.000Z')`.execute(
    db,
  );
  await sql`insert into replay (namespace_id, kind, scope, id, fingerprint, host_id, result, finished_at)
    values ('acme', 'tool', 'trace-1', 'call-1', 'one', 1, '"done"', '2026-01-01T00:00:00.000Z')`.execute(db);
  let head = { sequence: 0, hash: origin };
  for (const id of ["1", "2", "3"]) {
    const row = rowBehind(head, 0, entryOf(auditEvent(id, { namespaceId: "acme" })));
    await sql`insert into audit (namespace_id, sequence, id, type, outcome, at, actor, trace_id, content, hash)
      values ('acme', ${row.sequence}, ${row.id}, ${row.type}, ${row.outcome}, ${row.at}, ${row.actor}, ${row.trace_id},
        ${row.content}, ${row.hash})`.execute(db);
    head = row;
  }
  await sql`insert into audit_heads (namespace_id, sequence, hash) values ('acme', 3, ${head.hash})`.execute(db);
}

/** A database as the version with so many migrations left it. */
async function oldDatabase(kind: Database["kind"], count: number): Promise<string> {
  const location = await newLocation(kind);
  const dialect =
    kind === "sqlite"
      ? new SqliteDialect({ database: new SqliteFile(location) })
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: location, max: 1 }) });
  const db = new Kysely<Schema>({ dialect });
  await migrate(db, kind, migrationsOf[kind].slice(0, 1));
  await writeRows(db);
  await migrate(db, kind, migrationsOf[kind].slice(0, count));
  await db.destroy();
  return location;
}

/** What there is of those rows by the stores of this version. */
async function readThrough(location: string): Promise<unknown> {
  const database = await openHost(location);
  const { audit, credentials, grants, usage } = openStores(database);
  const { rows, broken } = await audit.verify("acme");
  const key = await database.db.selectFrom("replay").select(["id", "result"]).execute();
  return {
    auditLog: [rows, broken],
    bearer: (await credentials.verify(token, new Date()))?.access.actor,
    grants: (await grants.list("acme", { limit: 9 })).map(({ id }) => id),
    used: await usage.usedOf("acme", ["grant-1"]),
    key,
  };
}

const everything = {
  auditLog: [3, undefined],
  bearer: assistant,
  grants: ["grant-1"],
  used: new Map([["grant-1", 2]]),
  key: [{ id: "call-1", result: '"done"' }],
};

describe.each(databaseKinds)("an upgrade on %s", (kind) => {
  // On PostgreSQL from some of them: each needs a database of its own there.
  const from = [...migrationsOf[kind].entries()].filter(([place]) => kind === "sqlite" || place % 4 === 0);
  for (const [place, { name }] of from) {
    test(`from the version with ${name} retains grants, credentials, the audit log and ids of calls`, async () => {
      expect(await readThrough(await oldDatabase(kind, place + 1))).toEqual(everything);
    });
  }
});

// From the oldest, and from versions whose next migration moves rows.
for (const count of [1, 5, 8, 11]) {
  test(`an upgrade from version ${count} that is killed at one statement after the other is resumed at the next start`, async () => {
    const location = await oldDatabase("sqlite", count);
    for (const statement of [4, 12, 18]) {
      const { said } = await otherProcess(`
        let count = 0;
        await openDatabase(${JSON.stringify(location)}, () => {
          count += 1;
          if (count === ${statement}) process.kill(process.pid, "SIGKILL");
        });
        console.log("migrated");`);
      expect(said).toBe("(nothing)");
    }
    expect(await readThrough(location)).toEqual(everything);
  });
}
