import { sql, type RawBuilder } from "kysely";
import type { Database } from "../../src/storage/database.ts";
import type { Seed } from "./operation.ts";

function ofCredentials(seed: Seed): RawBuilder<unknown> {
  return sql`credential_id in (select id from credentials where ${named(seed)})`;
}

/** Tables whose rows are of tenants and do not name them. */
const rowsOf: Readonly<Record<string, (seed: Seed, kind: Database["kind"]) => RawBuilder<unknown>>> = {
  words: ({ tenant }, kind) =>
    sql`${sql.ref(kind === "sqlite" ? "rowid" : "id")} in (select id from files where namespace_id = ${tenant})`,
  turn_entries: ({ tenant }) => sql`turn in (select id from turns where namespace_id = ${tenant})`,
  sessions: ofCredentials,
  one_time_codes: ofCredentials,
  used_once: ({ tenant }) => sql`id = ${tenant}`,
  oauth_clients: ({ tenant }) => sql`name = ${tenant}`,
  database_gaps: ({ tenant }) => sql`id = ${tenant}`,
  mcp_pins: ({ tenant, emptyTenant }) => sql`server in (${tenant}, ${emptyTenant})`,
};

/** Tables of the database itself, and of hosts. */
const sharedTables =
  /^(kysely_migration|schema_epoch|revision|hosts|host_leases|heartbeats|retention_clock|sqlite_|words_)/;

/** The rows of a tenant in one table, each as a text. */
type RowsOfTable = (seed: Seed) => RawBuilder<unknown>;
const known = new WeakMap<Database, Promise<RowsOfTable[]>>();

function named({ tenant, emptyTenant }: Seed): RawBuilder<unknown> {
  return sql`namespace_id in (${tenant}, ${emptyTenant})`;
}

/** How the rows of a tenant are found in each table. A table without such a rule is a mistake of these tests. */
async function tablesOf({ db, kind }: Database): Promise<RowsOfTable[]> {
  const found: RowsOfTable[] = [];
  for (const { name, columns } of await db.introspection.getTables()) {
    if (sharedTables.test(name)) continue;
    const namesTenant = columns.some((column) => column.name === "namespace_id");
    const fits = namesTenant ? named : rowsOf[name];
    if (fits === undefined) throw new Error(`No rule says which rows of ${name} are a tenant's.`);
    const quoted = columns.map((column) => sql`quote(${sql.ref(column.name)})`);
    const row = kind === "postgres" ? sql`${sql.table(name)}::text` : sql.join(quoted, sql` || ', ' || `);
    found.push(
      (seed) => sql`select ${name} || ': ' || ${row} as content from ${sql.table(name)} where ${fits(seed, kind)}`,
    );
  }
  return found;
}

/** Everything the database has of a tenant, read with one statement: tests ask for it thousands of times. */
export async function stateOf(database: Database, seed: Seed): Promise<string> {
  const tables = known.get(database) ?? tablesOf(database);
  known.set(database, tables);
  const parts = (await tables).map((rowsOfTable) => rowsOfTable(seed));
  const { rows } = await sql<{ content: string }>`${sql.join(parts, sql` union all `)}`.execute(database.db);
  return rows
    .map(({ content }) => content)
    .toSorted()
    .join("\n");
}
