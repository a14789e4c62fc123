import { Kysely, PostgresDialect, SqliteDialect } from "kysely";
import pg from "pg";
import type { Database } from "../src/storage/database.ts";
import { migrate } from "../src/storage/migrate.ts";
import { postgresMigrations } from "../src/storage/migrations/postgres.ts";
import { sqliteMigrations } from "../src/storage/migrations/sqlite.ts";
import type { Schema } from "../src/storage/schema.ts";
import { SqliteFile } from "../src/storage/sqlite/sqlite-file.ts";

export const migrationsOf = { sqlite: sqliteMigrations, postgres: postgresMigrations };

/** A connection of its own to a database of either kind. */
export function connectTo(kind: Database["kind"], location: string): Kysely<Schema> {
  const dialect =
    kind === "sqlite"
      ? new SqliteDialect({ database: new SqliteFile(location) })
      : new PostgresDialect({ pool: new pg.Pool({ connectionString: location }) });
  return new Kysely<Schema>({ dialect });
}

/** Makes a database as it was before a migration, and writes to it. */
export async function writeBefore(
  migration: string,
  { kind, location }: { kind: Database["kind"]; location: string },
  write: (db: Kysely<Schema>) => Promise<void>,
): Promise<void> {
  const db = connectTo(kind, location);
  const all = migrationsOf[kind];
  const end = all.findIndex(({ name }) => name === migration);
  if (end === -1) throw new Error(`There is no migration ${migration}.`);
  await migrate(db, kind, all.slice(0, end));
  await write(db);
  await db.destroy();
}
