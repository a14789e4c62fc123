import { sql, type Kysely, type Transaction } from "kysely";
import type { Database } from "./database.ts";
import type { Migration } from "./migrations/migration.ts";
import { postgresMigrations } from "./migrations/postgres.ts";
import { sqliteMigrations } from "./migrations/sqlite.ts";
import type { Schema } from "./schema.ts";

const migrationsOf: Record<Database["kind"], readonly Migration[]> = {
  sqlite: sqliteMigrations,
  postgres: postgresMigrations,
};

/** The lock by which hosts that start at once migrate one after the other. Earlier versions take the same one. */
const migrationLock = 3853314791062309107n;

/** Runs what has not run yet, in order. Each migration and the row that records it are one transaction. */
export async function migrate(
  db: Kysely<Schema>,
  kind: Database["kind"],
  migrations: readonly Migration[] = migrationsOf[kind],
): Promise<void> {
  const runNext = async (transaction: Transaction<Schema>): Promise<boolean> => {
    if (kind === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(transaction);
    const recorded = await readRecorded(transaction);
    refuseNewer(recorded, migrations);
    const next = migrations.find(({ name }) => !recorded.includes(name));
    if (next === undefined) return false;
    if (!(await isApplied(transaction, next))) await apply(transaction, next);
    await sql`insert into kysely_migration (name, timestamp)
      values (${next.name}, ${new Date().toISOString()})`.execute(transaction);
    return true;
  };
  let isBehind = true;
  while (isBehind) isBehind = await db.transaction().execute(runNext);
}

/** The migrations that `migrate` would run. Changes nothing; throws what `migrate` would throw. */
export async function listPending(db: Kysely<Schema>, kind: Database["kind"]): Promise<string[]> {
  const table =
    kind === "postgres"
      ? sql`select 1 where to_regclass('kysely_migration') is not null`
      : sql`select 1 from sqlite_master where name = 'kysely_migration'`;
  const recorded = (await table.execute(db)).rows.length > 0 ? await listRecorded(db) : [];
  refuseNewer(recorded, migrationsOf[kind]);
  return migrationsOf[kind].map(({ name }) => name).filter((name) => !recorded.includes(name));
}

/** Gives this start of a host its id. */
export async function registerHost(db: Kysely<Schema>): Promise<number> {
  const started = { started_at: new Date().toISOString() };
  const { id } = await db.insertInto("hosts").values(started).returning("id").executeTakeFirstOrThrow();
  return id;
}

/** The table has the name and the columns that earlier versions gave it. */
async function readRecorded(db: Kysely<Schema>): Promise<string[]> {
  await sql`create table if not exists kysely_migration (name varchar(255) not null primary key,
    timestamp varchar(255) not null)`.execute(db);
  return listRecorded(db);
}

async function listRecorded(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/** What a newer version has in its tables, this one could misread or destroy. */
function refuseNewer(recorded: readonly string[], migrations: readonly Migration[]): void {
  const unknown = recorded.find((name) => !migrations.some((known) => known.name === name));
  if (unknown === undefined) return;
  throw new Error(
    `This database was migrated by a newer version of Turnpike: it has "${unknown}", which this version does not know. ` +
      "Nothing was changed. Run that version or a later one, or restore a backup from before the upgrade.",
  );
}

async function isApplied(db: Kysely<Schema>, { appliedWhen }: Migration): Promise<boolean> {
  return appliedWhen !== undefined && (await sql.raw(appliedWhen).execute(db)).rows.length > 0;
}

async function apply(db: Transaction<Schema>, { statements }: Migration): Promise<void> {
  for (const statement of statements) {
    if (typeof statement === "string") await sql.raw(statement).execute(db);
    else await statement(db);
  }
}
