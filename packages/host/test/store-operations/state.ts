import { sql, type RawBuilder } from "kysely";
import type { Database } from "../../src/storage/database.ts";
import type { Seed } from "./operation.ts";

/** Tables whose rows are of tenants and do not name them. */
const rowsOf: Readonly<Record<string, (seed: Seed, kind: Database["kind"]) => RawBuilder<unknown>>> = {
  words: ({ tenant }, kind) =>
    sql`${sql.ref(kind === "sqlite" ? "rowid" : "id")} in (select id from files where namespace_id = ${tenant})`,
  turn_entries: ({ tenant }) => sql`turn in (select id from turns where namespace_id = ${tenant})`,
  sessions: ({ credential }) => sql`credential_id = ${credential.id}`,
  one_time_codes: ({ credential }) => sql`credential_id = ${credential.id}`,
  mcp_pins: ({ tenant, emptyTenant }) => sql`server in (${tenant}, ${emptyTenant})`,
};

/** Tables of the database itself, and of hosts. */
const nobodys = /^(kysely_migration|revision|hosts|heartbeats|retention_clock|sqlite_|words_)/;

/** A table, and which of its rows are a tenant's. */
type TenantTable = [table: string, fits: (seed: Seed) => RawBuilder<unknown>];
const known = new WeakMap<Database, Promise<TenantTable[]>>();

function named({ tenant, emptyTenant }: Seed): RawBuilder<unknown> {
  return sql`namespace_id in (${tenant}, ${emptyTenant})`;
}

/** How the rows of a tenant are found in each table. A table of which nobody said that is a mistake of these tests. */
async function tablesOf({ db, kind }: Database): Promise<TenantTable[]> {
  const found: TenantTable[] = [];
  for (const { name, columns } of await db.introspection.getTables()) {
    if (nobodys.test(name)) continue;
    const namesTenant = columns.some((column) => column.name === "namespace_id");
    const fits = namesTenant ? named : rowsOf[name];
    if (fits === undefined) throw new Error(`Nobody said which rows of ${name} are a tenant's.`);
    found.push([name, (seed) => fits(seed, kind)]);
  }
  return found;
}

/** Everything the database has of a tenant. */
export async function stateOf(database: Database, seed: Seed): Promise<string> {
  const tables = known.get(database) ?? tablesOf(database);
  known.set(database, tables);
  const state: unknown[] = [];
  for (const [table, fits] of await tables) {
    const { rows } = await sql`select * from ${sql.table(table)} where ${fits(seed)}`.execute(database.db);
    state.push([table, rows.map((row) => JSON.stringify(row)).toSorted()]);
  }
  return JSON.stringify(state, null, 1);
}
