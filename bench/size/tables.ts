// Reads and fills the tables of a database that no host has open.
import SqliteDatabase from "libsql";
import pg from "pg";

type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/** A database as what it is made of. */
export interface Tables {
  readonly kind: "sqlite" | "postgres";
  all(sql: string): Promise<Row[]>;
  run(sql: string): Promise<void>;
  /** Inserts rows, many at once. All of them have the columns of the first. */
  insert(table: string, rows: Iterable<Row>): Promise<void>;
  close(): Promise<void>;
}

/** Few enough for the parameters that a statement may have on either database. */
const rowsAtOnce = 200;

/** Opens an SQLite file for filling: nothing is synced, because nothing is promised to anyone. */
export function openSqliteTables(path: string): Tables {
  const file = new SqliteDatabase(path);
  for (const setting of ["journal_mode = off", "synchronous = off", "cache_size = -200000"]) file.pragma(setting);
  return {
    kind: "sqlite",
    all: (sql) => Promise.resolve(file.prepare(sql).all() as Row[]),
    run: (sql) => Promise.resolve(void file.exec(sql)),
    insert: (table, rows) => {
      file.exec("begin");
      const statements = new Map<number, ReturnType<typeof file.prepare>>();
      for (const { columns, values, count } of batches(rows)) {
        const sql = insertText(table, columns, count, () => "?");
        const statement = statements.get(count) ?? file.prepare(sql);
        statements.set(count, statement);
        statement.run(...values);
      }
      file.exec("commit");
      return Promise.resolve();
    },
    close: () => Promise.resolve(void file.close()),
  };
}

export async function openPostgresTables(url: string): Promise<Tables> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    kind: "postgres",
    all: async (sql) => (await client.query<Record<string, Value>>(sql)).rows,
    run: async (sql) => void (await client.query(sql)),
    async insert(table, rows) {
      await client.query("begin");
      for (const { columns, values, count } of batches(rows)) {
        await client.query({
          name: `${table}-${count}`,
          text: insertText(table, columns, count, (place) => `$${place}`),
          values: [...values],
        });
      }
      await client.query("commit");
    },
    close: () => client.end(),
  };
}

function* batches(rows: Iterable<Row>): Generator<{ columns: string[]; values: Value[]; count: number }> {
  let columns: string[] = [];
  let values: Value[] = [];
  let count = 0;
  for (const row of rows) {
    if (columns.length === 0) columns = Object.keys(row);
    for (const column of columns) values.push(row[column] ?? null);
    count += 1;
    if (count < rowsAtOnce) continue;
    yield { columns, values, count };
    [values, count] = [[], 0];
  }
  if (count > 0) yield { columns, values, count };
}

function insertText(
  table: string,
  columns: readonly string[],
  count: number,
  parameter: (place: number) => string,
): string {
  const tuple = (row: number): string =>
    `(${columns.map((_, column) => parameter(row * columns.length + column + 1)).join(",")})`;
  return `insert into ${table} (${columns.join(",")}) values ${Array.from({ length: count }, (_, row) => tuple(row)).join(",")}`;
}
