import { Migrator, type Kysely } from "kysely";
import { migrationsFor, type Dialect } from "./migrations.ts";
import type { Schema } from "./schema.ts";

/** Runs what has not run yet, in order and under the database's own lock, and gives this host its id. */
export async function migrate(db: Kysely<Schema>, dialect: Dialect): Promise<number> {
  const { error } = await new Migrator({ db, provider: migrationsFor(dialect) }).migrateToLatest();
  if (error !== undefined) throw error;
  const started = { started_at: new Date().toISOString() };
  const { id } = await db.insertInto("hosts").values(started).returning("id").executeTakeFirstOrThrow();
  return id;
}
