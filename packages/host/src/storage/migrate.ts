import { sql, type Kysely, type Transaction } from "kysely";
import type { Database } from "./database.ts";
import type { Migration } from "./migrations/migration.ts";
import { postgresMigrations } from "./migrations/postgres.ts";
import { sqliteMigrations } from "./migrations/sqlite.ts";
import {
  advanceEpoch,
  epochOf,
  listOlderHosts,
  namesOf,
  numberOf,
  readEpoch,
  refuseTooOld,
  type OlderHost,
} from "./schema-epoch.ts";
import type { HostIdentity } from "./host-connection.ts";
import type { Schema } from "./schema.ts";

const migrationsOf: Record<Database["kind"], readonly Migration[]> = {
  sqlite: sqliteMigrations,
  postgres: postgresMigrations,
};

/** The lock under which hosts that start together migrate one after the other. Earlier versions take the same one. */
const migrationLock = 3853314791062309107n;

/** The epoch of this version. */
export const ownEpoch = epochOf(postgresMigrations);

/** How long hosts of older versions have to leave before a migration that they may not serve beside. */
const leaveMs = 60_000;
const pollMs = 500;

/**
 * Runs what has not run yet, in order. Each migration and the row that records it are one transaction. Before one that hosts of older
 * versions may not serve beside, those are told to leave, and are waited for.
 */
export async function migrate(
  db: Kysely<Schema>,
  kind: Database["kind"],
  migrations: readonly Migration[] = migrationsOf[kind],
  patienceMs = leaveMs,
): Promise<void> {
  const runNext = async (transaction: Transaction<Schema>): Promise<"ran" | "done" | readonly OlderHost[]> => {
    if (kind === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(transaction);
    const recorded = await readRecorded(transaction);
    refuseTooOld(await readEpoch(transaction, kind), epochOf(migrations));
    const next = migrations.find(({ name }) => !recorded.includes(name));
    if (next === undefined) return "done";
    const older = kind === "postgres" && !next.allowsPrevious ? await listOlderHosts(transaction, next) : [];
    const unknowing = older.filter(({ epoch }) => epoch === null);
    if (unknowing.length > 0) throw new Error(unknowingMessage(unknowing));
    if (older.length > 0) {
      // Committed before the migration is, so that they learn of it.
      await transaction
        .updateTable("schema_epoch")
        .set({ lowest: numberOf(next) })
        .execute();
      return older;
    }
    if (!(await isApplied(transaction, next))) await apply(transaction, next);
    await sql`insert into kysely_migration (name, timestamp)
      values (${next.name}, ${new Date().toISOString()})`.execute(transaction);
    if ((await readEpoch(transaction, kind)) !== undefined) await advanceEpoch(transaction, next);
    return "ran";
  };
  let waitingSince: number | undefined;
  for (;;) {
    const came = await db.transaction().execute(runNext);
    if (came === "done") return;
    if (came === "ran") {
      waitingSince = undefined;
      continue;
    }
    waitingSince ??= performance.now();
    if (performance.now() - waitingSince >= patienceMs) throw new Error(stayingMessage(came));
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function unknowingMessage(hosts: readonly OlderHost[]): string {
  return (
    `Hosts run on this database that are too old for this version, and that cannot be told to leave: ${namesOf(hosts)}. ` +
    "Stop them, and start this one again. Nothing was changed."
  );
}

function stayingMessage(hosts: readonly OlderHost[]): string {
  return (
    `Hosts of an older version have not finished what they do on this database: ${namesOf(hosts)}. They begin nothing new. ` +
    "Start this host again when they have, or stop them."
  );
}

/** The migrations that `migrate` would run. Changes nothing; throws what `migrate` would throw. */
export async function listPending(db: Kysely<Schema>, kind: Database["kind"]): Promise<string[]> {
  const table =
    kind === "postgres"
      ? sql`select 1 where to_regclass('kysely_migration') is not null`
      : sql`select 1 from sqlite_master where name = 'kysely_migration'`;
  const recorded = (await table.execute(db)).rows.length > 0 ? await listRecorded(db) : [];
  refuseTooOld(await readEpoch(db, kind), ownEpoch);
  return migrationsOf[kind].map(({ name }) => name).filter((name) => !recorded.includes(name));
}

/** Gives this start of a host its id. */
export async function registerHost(db: Kysely<Schema>): Promise<number> {
  return (await registerStart(db)).id;
}

/** The same, with what tells this start from another one that was given the same id by a database that went back. */
export function registerStart(db: Kysely<Schema>): Promise<HostIdentity> {
  const started = { started_at: new Date().toISOString(), epoch: ownEpoch };
  return db.insertInto("hosts").values(started).returning(["id", "started_at", "epoch"]).executeTakeFirstOrThrow();
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

async function isApplied(db: Kysely<Schema>, { appliedWhen }: Migration): Promise<boolean> {
  return appliedWhen !== undefined && (await sql.raw(appliedWhen).execute(db)).rows.length > 0;
}

async function apply(db: Transaction<Schema>, { statements }: Migration): Promise<void> {
  for (const statement of statements) {
    if (typeof statement === "string") await sql.raw(statement).execute(db);
    else await statement(db);
  }
}
