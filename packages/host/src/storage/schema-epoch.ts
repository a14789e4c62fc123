import { sql, type Kysely } from "kysely";
import { livingHosts, lockedHosts } from "./living-hosts.ts";
import type { Migration } from "./migrations/migration.ts";
import type { Schema } from "./schema.ts";

/** Which versions may serve a database. A version's epoch is the number of its newest migration. */
export type SchemaEpoch = Schema["schema_epoch"];

/** The database belongs to a newer version, which this host learned from a write. Nothing was written. */
export class OutdatedHostError extends Error {
  override readonly name = "OutdatedHostError";

  constructor(options?: ErrorOptions) {
    super("A newer version has changed the database, so this host begins nothing on it.", options);
  }
}

/**
 * A condition of an insert on PostgreSQL that divides by zero when versions of this epoch may not serve any more. INVARIANT: a host that
 * was paused while a newer version migrated begins nothing, however late it hears of that. `column` is a number of the row, never below
 * 0: so the condition is asked for each row, and not when there is none.
 */
export const requireEpochSql = (own: number, column: string): string =>
  `1 / (case when ${column} >= 0 and (select lowest from schema_epoch) <= ${own} then 1 else 0 end) = 1`;

/** The number of a migration. */
export function numberOf({ name }: Pick<Migration, "name">): number {
  return Number.parseInt(name, 10);
}

/** The epoch of a version that has these migrations. */
export function epochOf(migrations: readonly Migration[]): number {
  return Math.max(0, ...migrations.map(numberOf));
}

/** The epoch of a database; undefined when its tables are from before there was one. */
export async function readEpoch(db: Kysely<Schema>, kind: "sqlite" | "postgres"): Promise<SchemaEpoch | undefined> {
  const table =
    kind === "postgres"
      ? sql`select 1 where to_regclass('schema_epoch') is not null`
      : sql`select 1 from sqlite_master where name = 'schema_epoch'`;
  if ((await table.execute(db)).rows.length === 0) return undefined;
  return db.selectFrom("schema_epoch").selectAll().executeTakeFirst();
}

/** Records that a migration ran. From here on no version may serve that is older than one that may not serve beside it. */
export async function advanceEpoch(db: Kysely<Schema>, next: Migration): Promise<void> {
  const number = numberOf(next);
  const lowest = next.allowsPrevious
    ? {}
    : { lowest: sql<number>`case when lowest < ${number} then ${number} else lowest end` };
  await db
    .updateTable("schema_epoch")
    .set({ epoch: sql<number>`case when epoch < ${number} then ${number} else epoch end`, ...lowest })
    .execute();
}

/** Throws when a version must not serve a database. Migrations that it does not know are no reason by themselves. */
export function refuseTooOld(found: SchemaEpoch | undefined, own: number): void {
  if (found === undefined || found.lowest <= own) return;
  throw new Error(
    `This host may not use the database, because a newer version of Turnpike has changed it: versions from epoch ${found.lowest} on ` +
      `may serve it, and this one has ${own}. Nothing was changed. Run that version or a later one, or restore a backup from before ` +
      "the upgrade.",
  );
}

/** A host that has to leave before a migration runs. */
export interface OlderHost {
  id: number;
  started_at: string;
  /** Null for one that knows no epochs: it will not leave by itself. */
  epoch: number | null;
}

/** The hosts on a PostgreSQL that still have something under way and may not serve beside a migration. */
export async function listOlderHosts(db: Kysely<Schema>, next: Migration): Promise<OlderHost[]> {
  const hosts = await sql`select 1 where to_regclass('hosts') is not null`.execute(db);
  if (hosts.rows.length === 0) return [];
  const found = await readEpoch(db, "postgres");
  const older =
    found === undefined
      ? sql<OlderHost>`select id, started_at, null as epoch from hosts where id in ${lockedHosts} order by id`
      : sql<OlderHost>`select id, started_at, epoch from hosts where id in ${livingHosts} and drained_at is null
          and (epoch is null or epoch < ${numberOf(next)}) order by id`;
  return (await older.execute(db)).rows;
}

export function namesOf(hosts: readonly OlderHost[]): string {
  return hosts.map(({ id, started_at }) => `host ${id} (started ${started_at})`).join(", ");
}
