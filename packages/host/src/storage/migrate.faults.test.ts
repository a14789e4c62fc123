import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Kysely, PostgresDialect, type RawBuilder, sql, SqliteDialect } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, openHost, temporaryFolder } from "../../test/databases.ts";
import { answerHere } from "../../test/in-process-worker.ts";
import { otherProcess } from "../../test/other-process.ts";
import { failingAt } from "../../test/watched-database.ts";
import type { Database } from "./database.ts";
import { migrate, ownEpoch } from "./migrate.ts";
import type { Migration } from "./migrations/migration.ts";
import { postgresMigrations } from "./migrations/postgres.ts";
import { sqliteMigrations } from "./migrations/sqlite.ts";
import { openDatabase } from "./open-database.ts";
import type { Schema } from "./schema.ts";
import { openSqlite } from "./sqlite/open-sqlite.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";

const migrationsOf: Record<Database["kind"], readonly Migration[]> = {
  sqlite: sqliteMigrations,
  postgres: postgresMigrations,
};

/** A database without a host on it. */
async function openBare(kind: Database["kind"], location: string): Promise<Kysely<Schema>> {
  const dialect =
    kind === "sqlite"
      ? new SqliteDialect({ database: new SqliteFile(location) })
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: location, max: 2 }) });
  const db = new Kysely<Schema>({ dialect });
  onTestFinished(() => db.destroy().catch(() => {}));
  return db;
}

/** Files from before their history, which 0003 moves; revoked grants and a replay key as they were before 0006. */
async function writeOldRows(db: Kysely<Schema>): Promise<void> {
  for (const path of ["notes/todo.md", "notes/plants.md"]) {
    await sql`insert into files (namespace_id, owner, path, version, content, updated_at)
      values ('tenant-1', 'human:alice', ${path}, 3, '"water the plants"', '2026-01-01T00:00:00.000Z')`.execute(db);
  }
  for (const [id, revokedAt] of Object.entries({ past: "2026-01-01T00:00:00Z", future: "2999-01-01T00:00:00Z" })) {
    await sql`insert into grants (namespace_id, id, subject, issuer, content)
      values ('tenant-1', ${id}, 'agent:a', 'human:alice', ${JSON.stringify({ id, revokedAt })})`.execute(db);
  }
  await sql`insert into replay (namespace_id, kind, scope, id, fingerprint, host_id, result, finished_at)
    values ('tenant-1', 'tool', 'trace-1', 'call-1', 'one', 1, '"done"', '2026-01-01T00:00:00.000Z')`.execute(db);
}

/** Everything that is in a database, but for the hosts that started on it and the times of its migrations. */
async function everythingIn(db: Kysely<Schema>, kind: Database["kind"]): Promise<unknown> {
  const schema =
    kind === "sqlite"
      ? sql<{ name: string }>`select type, name, tbl_name, sql from sqlite_master order by type, name`
      : // The views of information_schema say the same, and take a hundred times as long.
        sql<{
          name: string;
        }>`select a.attrelid::regclass::text || '.' || attname as name, format_type(atttypid, atttypmod) as type,
          attnotnull as is_required, collname as collation, pg_get_expr(adbin, adrelid) as default_value
          from pg_class c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
          left join pg_collation on pg_collation.oid = attcollation
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
          where relnamespace = 'public'::regnamespace and relkind = 'r'
          union all select pg_get_indexdef(indexrelid), '', false, '', '' from pg_index join pg_class on pg_class.oid = indexrelid
          where relnamespace = 'public'::regnamespace order by 1`;
  const described = (await schema.execute(db)).rows;
  const tables =
    kind === "sqlite"
      ? sql<{ name: string }>`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`
      : sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public'`;
  const names = (await tables.execute(db)).rows.map(({ name }) => name);
  const rows = await rowsOf(
    db,
    kind,
    names.filter((name) => name !== "hosts" && name !== "words"),
  );
  return { described, rows };
}

/** The rows of these tables; PostgreSQL is asked for all of them with one statement, because it is asked thousands of times. */
async function rowsOf(
  db: Kysely<Schema>,
  kind: Database["kind"],
  names: readonly string[],
): Promise<Record<string, unknown>> {
  if (kind === "sqlite") {
    const rows: Record<string, unknown> = {};
    for (const name of names)
      rows[name] = (await sql`select ${columnsOf(name)} from ${sql.table(name)} order by 1`.execute(db)).rows;
    return rows;
  }
  const parts = names.map((name) => {
    const content = name === "kysely_migration" ? sql`name::text` : sql`${sql.table(name)}::text`;
    return sql`select ${sql.lit(name)} as name, ${content} as content from ${sql.table(name)}`;
  });
  if (parts.length === 0) return {};
  const { rows } = await sql<{
    name: string;
    content: string;
  }>`${sql.join(parts, sql` union all `)} order by 1, 2`.execute(db);
  const found: Record<string, string[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const { name, content } of rows) found[name]?.push(content);
  return found;
}

function columnsOf(name: string): RawBuilder<unknown> {
  return name === "kysely_migration" ? sql`name` : sql`*`;
}

/** An empty database, or one with rows of an earlier version, after a straight migration. */
async function migrated(kind: Database["kind"], hasOldRows: boolean): Promise<Kysely<Schema>> {
  const db = await openBare(kind, await newLocation(kind));
  if (hasOldRows) {
    await migrate(db, kind, migrationsOf[kind].slice(0, 2));
    await writeOldRows(db);
  }
  await migrate(db, kind);
  return db;
}

async function straight(kind: Database["kind"], hasOldRows: boolean): Promise<unknown> {
  return everythingIn(await migrated(kind, hasOldRows), kind);
}

/** What kill -9 would leave at this instant: the bytes of the file, and of its log if there is one. */
function bytesAt(location: string): readonly Buffer[] {
  return [location, `${location}-wal`].filter((file) => existsSync(file)).map((file) => readFileSync(file));
}

/** The same bytes start in the same way: between two commits most statements leave them as they were. */
function isSame(one: readonly Buffer[], other: readonly Buffer[] = []): boolean {
  return one.length === other.length && one.every((bytes, place) => other[place]?.equals(bytes));
}

/** As a host opens it, but without threads: starting them would take longer than everything else. */
async function openedAgain(location: string): Promise<unknown> {
  await (await openSqlite(location, { startWorker: answerHere })).close();
  return everythingIn(await openBare("sqlite", location), "sqlite");
}

describe("an SQLite file", () => {
  for (const { name, hasOldRows, statements } of [
    { name: "that was empty", hasOldRows: false, statements: 50 },
    { name: "with rows of an earlier version", hasOldRows: true, statements: 40 },
  ]) {
    test(`${name}, left at any statement of its migrations, starts again and is as if nothing had happened`, async () => {
      const folder = temporaryFolder();
      const location = join(folder, "turnpike.db");
      if (hasOldRows) {
        const old = await openBare("sqlite", location);
        await migrate(old, "sqlite", sqliteMigrations.slice(0, 2));
        await writeOldRows(old);
        await old.destroy();
      }
      const left: (readonly Buffer[])[] = [];
      let ran = 0;
      const database = await openDatabase(location, () => {
        ran += 1;
        const bytes = bytesAt(location);
        if (!isSame(bytes, left.at(-1))) left.push(bytes);
      });
      await database.close();
      expect(ran).toBeGreaterThan(statements);
      // Each migration is a commit.
      expect(left.length).toBeGreaterThanOrEqual(sqliteMigrations.length - (hasOldRows ? 2 : 0));
      const expected = await straight("sqlite", hasOldRows);
      for (const [place, [file = "", log]] of left.entries()) {
        const copy = join(folder, `left-${place}.db`);
        writeFileSync(copy, file);
        if (log !== undefined) writeFileSync(`${copy}-wal`, log);
        expect(await openedAgain(copy)).toEqual(expected);
      }
    });
  }

  for (const statement of [6, 27, 30]) {
    test(`whose host is killed at statement ${statement} of its migrations starts again`, async () => {
      const location = await newLocation("sqlite");
      const killed = await otherProcess(`
        let count = 0;
        await openDatabase(${JSON.stringify(location)}, () => {
          count += 1;
          if (count === ${statement}) process.kill(process.pid, "SIGKILL");
        });
        console.log("migrated");`);
      expect(killed.said).toBe("(nothing)");
      expect(await openedAgain(location)).toEqual(await straight("sqlite", false));
    });
  }

  test("that an earlier version left in the middle of a migration, unrecorded, is taken up where it was left", async () => {
    const expected = { empty: await straight("sqlite", false), withOldRows: await straight("sqlite", true) };
    for (const [at, { name, statements }] of sqliteMigrations.slice(0, 5).entries()) {
      const hasOldRows = at >= 2;
      // 0003 had a transaction of its own: it was applied as a whole or not at all.
      const reached = statements.map((_, done) => done + 1).filter((done) => at !== 2 || done === statements.length);
      for (const done of reached) {
        const location = await newLocation("sqlite");
        const old = await openBare("sqlite", location);
        await migrate(old, "sqlite", sqliteMigrations.slice(0, Math.min(at, 2)));
        if (hasOldRows) await writeOldRows(old);
        await migrate(old, "sqlite", sqliteMigrations.slice(0, at));
        for (const statement of statements.slice(0, done)) {
          if (typeof statement === "string") await sql.raw(statement).execute(old);
          else await statement(old);
        }
        await old.destroy();
        const whole = hasOldRows ? expected.withOldRows : expected.empty;
        expect(await openedAgain(location), `${name}, ${done} statements`).toEqual(whole);
      }
    }
  });
});

test.each(databaseKinds)("grants whose revocation has come to pass are revoked for good on %s", async (kind) => {
  const db = await migrated(kind, true);
  const grants = await db.selectFrom("grants").select("content").execute();
  expect(grants.map(({ content }) => JSON.parse(content) as unknown)).toEqual(
    expect.arrayContaining([
      { id: "past", revokedAt: "2026-01-01T00:00:00Z", revoked: true },
      { id: "future", revokedAt: "2999-01-01T00:00:00Z" },
    ]),
  );
});

describe.each(databaseKinds)("a migration on %s", (kind) => {
  test("that fails at any of its statements leaves nothing behind, and works when it is run again", async () => {
    const db = await openBare(kind, await newLocation(kind));
    const all = migrationsOf[kind];
    await migrate(db, kind, []);
    for (const [at, { name }] of all.entries()) {
      if (at === 2) await writeOldRows(db);
      const before = await everythingIn(db, kind);
      const failing = (n: number) => failingAt({ kind, db } as Database, n, "before").db;
      const attempt = (n: number) => migrate(failing(n), kind, all.slice(0, at + 1)).catch(String);
      let n = 1;
      for (let failed = await attempt(n); failed !== undefined; failed = await attempt(n)) {
        expect(failed).toContain("injected");
        // The migration is followed by a check whether there is another one.
        const recorded = await sql`select 1 from kysely_migration where name = ${name}`.execute(db);
        expect(recorded.rows.length === 1 ? before : await everythingIn(db, kind)).toEqual(before);
        n += 1;
      }
      expect(n).toBeGreaterThan(5);
    }
    expect(await everythingIn(db, kind)).toEqual(await straight(kind, true));
  });

  test("that a newer version has run is no reason to refuse; that it says so is one, and nothing is changed", async () => {
    const location = await newLocation(kind);
    await (await openDatabase(location)).close();
    const db = await openBare(kind, location);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', 'then')`.execute(db);
    await db.updateTable("schema_epoch").set({ epoch: 9999, lowest: 9998 }).execute();
    const before = [await everythingIn(db, kind), await db.selectFrom("hosts").selectAll().execute()];
    if (kind === "sqlite") await db.destroy();
    await expect(openDatabase(location)).rejects.toThrow(
      /versions from epoch 9998 on may serve it, and this one has \d+\./,
    );
    const again = kind === "sqlite" ? await openBare(kind, location) : db;
    expect([await everythingIn(again, kind), await again.selectFrom("hosts").selectAll().execute()]).toEqual(before);
    await again.updateTable("schema_epoch").set({ lowest: ownEpoch }).execute();
    if (kind === "sqlite") await again.destroy();
    const { db: opened, hostId } = await openHost(location);
    expect(hostId).toBe(2);
    expect(await opened.selectFrom("schema_epoch").selectAll().execute()).toEqual([{ epoch: 9999, lowest: ownEpoch }]);
  });
});
