import { runRows } from "../../../packages/host/src/storage/sqlite/run-rows.ts";
import { SqliteFile, type SqliteStatement } from "../../../packages/host/src/storage/sqlite/sqlite-file.ts";
import type { SqlValue, Step, StepResult } from "../../../packages/host/src/storage/steps.ts";
import { migrateOn } from "../../../packages/host/test/in-process-kysely.ts";

/** What PostgreSQL has and SQLite has not: transactions are one after the other here, and the storage knows which hosts live. */
const advisoryLock = /pg_advisory_xact_lock|set_config\(/;
const livingHosts = /\(select seen\.id from hosts as seen[^]*? end\)/g;

/** One host has an SQLite file, and writes one strand of each audit log. Several need the keys that PostgreSQL has for them. */
const keysOfStrands = `
  drop table audit_heads;
  create table audit_heads (namespace_id text not null, strand integer not null, sequence bigint not null,
    hash text not null, primary key (namespace_id, strand));
  drop table audit;
  create table audit (namespace_id text not null, strand integer not null, sequence bigint not null, id text not null,
    type text not null, outcome text not null, at text not null, actor text not null, trace_id text not null,
    content text not null, hash text not null, primary key (namespace_id, strand, sequence));
  create index audit_by_trace on audit (namespace_id, trace_id, at, strand, sequence);`;

/** The file that hosts of simulated worlds share: what was committed is stored, whatever becomes of the hosts. */
export class Storage {
  /** The ids of the hosts that live. */
  readonly living = new Set<number>();
  /** The strands of audit logs that living hosts write. */
  readonly strands = new Set<number>();
  /** What hosts ask is changed by this first: a bug that is planted in all of them. */
  plant: (step: Step) => Step = (step) => step;
  readonly #writer: SqliteFile;
  readonly #reader: SqliteFile;
  readonly #statements = { writer: new Map<string, SqliteStatement>(), reader: new Map<string, SqliteStatement>() };
  readonly #tables: readonly string[];
  readonly #beginning: Step[] = [];

  private constructor(writer: SqliteFile, reader: SqliteFile) {
    [this.#writer, this.#reader] = [writer, reader];
    const tables = writer
      .prepare("select name from sqlite_master where type = 'table' and sql not like 'create virtual%'")
      .all() as { name: string }[];
    const retained = new Set(["kysely_migration", "revision"]);
    this.#tables = tables.map(({ name }) => name).filter((name) => !retained.has(name) && !name.startsWith("words"));
  }

  static async open(path: string): Promise<Storage> {
    const writer = new SqliteFile(path);
    // What a power cut leaves of a file is not tried here, so nothing has to reach the disk.
    for (const setting of ["journal_mode = wal", "synchronous = off", "foreign_keys = off"]) writer.pragma(setting);
    await migrateOn(writer);
    writer.exec(keysOfStrands);
    const reader = new SqliteFile(path);
    reader.pragma("query_only = on");
    return new Storage(writer, reader);
  }

  /** Remembers what is there now, as that with which every world begins. */
  remember(): void {
    for (const table of this.#tables) {
      const rows = this.rows<Record<string, SqlValue>>(`select * from ${table}`).map((row) => Object.values(row));
      const places = rows[0]?.map(() => "?").join(", ");
      if (places !== undefined) this.#beginning.push({ sql: `insert into ${table} values (${places})`, rows });
    }
  }

  /** As it was before the first host of a world opened it. */
  reset(): void {
    this.rollback();
    this.living.clear();
    this.strands.clear();
    const clearing = this.#tables.map((table) => `delete from ${table}`).join("; ");
    this.#writer.exec(`begin; ${clearing}; delete from words; update revision set value = 0`);
    this.write([...this.#beginning, { sql: "commit", rows: [[]] }]);
  }

  /** Runs steps on the connection that writes; what fails leaves its transaction open, as it is with every database. */
  write(steps: readonly Step[]): StepResult[] {
    return steps.map((step) => this.#run("writer", this.plant(step)));
  }

  /** Runs steps on the connection that reads what is committed. */
  read(steps: readonly Step[]): StepResult[] {
    return steps.map((step) => this.#run("reader", this.plant(step)));
  }

  /** What is committed, for readers outside. */
  rows<Row>(sql: string, ...parameters: SqlValue[]): Row[] {
    return this.#run("reader", { sql, rows: [parameters] }).rows as Row[];
  }

  rollback(): void {
    if (this.#writer.isInTransaction) this.#writer.exec("rollback");
  }

  close(): void {
    this.#statements.writer.clear();
    this.#statements.reader.clear();
    this.#reader.close();
    this.#writer.close();
  }

  #run(connection: "writer" | "reader", step: Step): StepResult {
    if (advisoryLock.test(step.sql)) return { rows: [], changes: [] };
    return runRows(this.#prepare(connection, step.sql), step);
  }

  #prepare(connection: "writer" | "reader", sql: string): SqliteStatement {
    const prepared = this.#statements[connection];
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const file = connection === "writer" ? this.#writer : this.#reader;
    const own = sql.replaceAll(livingHosts, `(select value from json_each('${JSON.stringify([...this.living])}'))`);
    const statement = file.prepare(own);
    if (own === sql) prepared.set(sql, statement);
    return statement;
  }
}
