import { ChosenDriver } from "./choose-driver.ts";
import type { Driver, DriverStatement } from "./sqlite-driver.ts";

type Row = Record<string, unknown>;

/** SQLite's names for what goes wrong, in the order of their numbers. */
const faults =
  `OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY
  SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB`.split(/\s+/);

/** Does something with the driver. What goes wrong gets SQLite's name for it; `libsql` says that by itself. */
function asking<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    // The last byte of a number is what it is a case of.
    if (error instanceof Error && "errcode" in error)
      Object.assign(error, { code: `SQLITE_${faults[Number(error.errcode) & 0xff] ?? "ERROR"}` });
    throw error;
  }
}

/** Refuses what only one driver takes: undefined is null to `libsql`, and a boolean ends the process there. */
function bindable(parameters: readonly unknown[]): readonly unknown[] {
  for (const value of parameters)
    if (value === undefined || typeof value === "boolean") throw new TypeError(`${value} is no value for a statement.`);
  return parameters;
}

/** A statement that is prepared, and run any number of times. */
export class SqliteStatement {
  /** Whether it answers with rows. To ask the driver takes as long as some statements run. */
  readonly reader: boolean;
  readonly #statement: DriverStatement;

  constructor(statement: DriverStatement) {
    this.#statement = statement;
    this.reader = statement.columns().length > 0;
    // The index of words leaves ids of rows that are no JavaScript numbers. Node 26 would throw, when all is written.
    if (!this.reader) statement.setReadBigInts(true);
  }

  all(parameters: readonly unknown[] = []): Row[] {
    return asking(() => this.#statement.all(...bindable(parameters)));
  }

  run(parameters: readonly unknown[] = []): { changes: number; lastInsertRowid: number | bigint } {
    const { changes, lastInsertRowid } = asking(() => this.#statement.run(...bindable(parameters)));
    return { changes: Number(changes), lastInsertRowid };
  }

  /** Kysely asks for it when it is to stream. */
  iterate(parameters: readonly unknown[] = []): IterableIterator<Row> {
    return this.all(parameters).values();
  }
}

/**
 * An SQLite file that is open, or `:memory:`. It is what Kysely's `SqliteDialect` takes, too. What goes wrong has the name of
 * SQLite's code, such as `SQLITE_BUSY`.
 */
export class SqliteFile {
  readonly #database: Driver;

  /** Waits so long for a lock before it says that the file is busy. */
  constructor(path: string, { timeoutMs = 0 }: { timeoutMs?: number } = {}) {
    this.#database = asking(() => new ChosenDriver(path, { timeout: timeoutMs }));
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    asking(() => this.#database.exec(sql));
  }

  prepare(sql: string): SqliteStatement {
    return asking(() => new SqliteStatement(this.#database.prepare(sql)));
  }

  pragma(text: string): Row[] {
    return this.prepare(`pragma ${text}`).all();
  }

  close(): void {
    asking(() => this.#database.close());
  }
}
