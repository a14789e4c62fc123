import { Kysely, SqliteDialect, type Dialect } from "kysely";
import type { SqliteFile } from "../src/storage/sqlite/sqlite-file.ts";
import { migrate } from "../src/storage/migrate.ts";
import type { Schema } from "../src/storage/schema.ts";

/** Queries over a dialect of a test's own. */
export function kyselyOver(dialect: Dialect): Kysely<Schema> {
  return new Kysely<Schema>({ dialect });
}

/** Migrates a file through a connection of this thread, which stays open. */
export async function migrateOn(file: SqliteFile): Promise<void> {
  await migrate(kyselyOver(new SqliteDialect({ database: file })), "sqlite");
}
