import type { WatchedHistory } from "../../../packages/host/src/storage/history/history.ts";
import { runRows } from "../../../packages/host/src/storage/sqlite/run-rows.ts";
import { SqliteFile, type SqliteStatement } from "../../../packages/host/src/storage/sqlite/sqlite-file.ts";
import type { SqlValue, Step, StepResult } from "../../../packages/host/src/storage/steps.ts";
import { migrateOn } from "../../../packages/host/test/in-process-kysely.ts";
import { Beats } from "./beats.ts";

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

/** A decision that allowed something. */
export interface Decision {
  tenant: string;
  traceId: string;
  content: string;
  /** Whether it was stored, and is no more. */
  isLost: boolean;
}

/** The file that hosts of simulated worlds share: what was committed is stored, whatever becomes of the hosts. */
export class Storage {
  /** What it knows of the hosts of this world. */
  beats = new Beats(() => 0);
  /** Which server this is: another one takes its place when it fails over. */
  server = 1;
  /** What a standby has that lags. */
  #standby: { tables: readonly Step[]; revision: SqlValue; hosts: Beats["rows"] } | undefined;
  /** What hosts ask is changed by this first: a bug that is planted in all of them. */
  plant: (step: Step) => Step = (step) => step;
  /** So is what hosts know of what was acknowledged. */
  plantInHistory: (history: WatchedHistory) => WatchedHistory = (history) => history;
  /** So is whether a host says that it has nothing under way. */
  plantInDrained: (isDrained: boolean) => boolean = (isDrained) => isDrained;
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
    const retained = new Set(["kysely_migration", "revision", "schema_epoch"]);
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
    this.#beginning.push(...this.#copy());
  }

  /** As it was before the first host of a world opened it, with a clock in seconds. */
  reset(now: () => number): void {
    this.beats = new Beats(now);
    [this.server, this.#standby] = [1, undefined];
    this.#become(this.#beginning, 0);
  }

  /** Says from which epoch on versions may serve. */
  allowFrom(epoch: number): void {
    this.#run("writer", { sql: "update schema_epoch set lowest = ?", rows: [[epoch]] });
  }

  /** The lowest epoch whose hosts may serve, as a host reads it. */
  lowestEpoch(): number {
    const [found] = this.read([{ sql: "select lowest from schema_epoch", rows: [[]] }]);
    return Number(found?.rows[0]?.["lowest"] ?? 0);
  }

  /** From here on a standby lags behind: it has what is there now, and nothing that comes later. */
  lag(): void {
    const revision = this.rows<{ value: SqlValue }>("select value from revision")[0]?.value ?? 0;
    this.#standby = { tables: this.#copy(), revision, hosts: this.beats.rows };
  }

  /** The standby that lags takes the place of the server. Returns the decisions that were stored before. */
  failOver(): Decision[] {
    if (this.#standby === undefined) throw new Error("There is no standby.");
    const { tables, revision, hosts } = this.#standby;
    const decisions = `select hash, namespace_id as tenant, trace_id as traceId, content from audit
      where type = 'authorization.checked' and outcome = 'allowed'`;
    type Row = Omit<Decision, "isLost"> & { hash: string };
    const before = this.rows<Row>(decisions);
    this.#become(tables, revision);
    this.server += 1;
    this.beats.failOver(hosts);
    const left = new Set(this.rows<Row>(decisions).map(({ hash }) => hash));
    return before.map((row) => ({ ...row, isLost: !left.has(row.hash) }));
  }

  #copy(): Step[] {
    return this.#tables.flatMap((table) => {
      const rows = this.rows<Record<string, SqlValue>>(`select * from ${table}`).map((row) => Object.values(row));
      const places = rows[0]?.map(() => "?").join(", ");
      return places === undefined ? [] : [{ sql: `insert into ${table} values (${places})`, rows }];
    });
  }

  #become(tables: readonly Step[], revision: SqlValue): void {
    this.rollback();
    const clearing = this.#tables.map((table) => `delete from ${table}`).join("; ");
    this.#writer.exec(`begin; ${clearing}; delete from words`);
    const all = [
      { sql: "update revision set value = ?", rows: [[revision]] },
      ...tables,
      { sql: "commit", rows: [[]] },
    ];
    for (const step of all) this.#run("writer", step);
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
    const own = sql.replaceAll(livingHosts, `(select value from json_each('${JSON.stringify(this.beats.living())}'))`);
    const statement = file.prepare(own);
    if (own === sql) prepared.set(sql, statement);
    return statement;
  }
}
