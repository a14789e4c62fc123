import { ChosenDriver } from "./choose-driver.ts";
import type { Driver, DriverStatement } from "./sqlite-driver.ts";

type Row = Record<string, unknown>;

/** SQLite's names for what goes wrong, in the order of their numbers. */
const faults =
  `OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY
  SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB`.split(/\s+/);

/** Calls the driver. Errors get the name of SQLite's code, which `libsql` sets by itself. */
function asking<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    // The last byte of an extended code is the primary code.
    if (error instanceof Error && "errcode" in error)
      Object.assign(error, { code: `SQLITE_${faults[Number(error.errcode) & 0xff] ?? "ERROR"}` });
    throw error;
  }
}

/** Refuses values that only one driver accepts: `libsql` takes undefined for null, and a boolean crashes it. */
function bindable(parameters: readonly unknown[]): readonly unknown[] {
  for (const value of parameters)
    if (value === undefined || typeof value === "boolean") throw new TypeError(`${value} is no value for a statement.`);
  return parameters;
}

/** A statement that is prepared, and run any number of times. */
export class SqliteStatement {
  /** Whether it returns rows. It is stored, because asking the driver takes as long as some statements. */
  readonly reader: boolean;
  readonly #statement: DriverStatement;

  constructor(statement: DriverStatement) {
    this.#statement = statement;
    this.reader = statement.columns().length > 0;
    // The full-text index leaves row ids that are too large for a JavaScript number. Node 26 would throw after the write.
    if (!this.reader) statement.setReadBigInts(true);
  }

  all(parameters: readonly unknown[] = []): Row[] {
    return asking(() => this.#statement.all(...bindable(parameters)));
  }

  run(parameters: readonly unknown[] = []): { changes: number; lastInsertRowid: number | bigint } {
    const { changes, lastInsertRowid } = asking(() => this.#statement.run(...bindable(parameters)));
    return { changes: Number(changes), lastInsertRowid };
  }

  /** Kysely uses it for streams. */
  iterate(parameters: readonly unknown[] = []): IterableIterator<Row> {
    return this.all(parameters).values();
  }
}

/**
 * An open SQLite file, or `:memory:`. Kysely's `SqliteDialect` accepts it as well. Errors have the name of SQLite's code, such
 * as `SQLITE_BUSY`.
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

/** The one value that a pragma answers. */
export function readPragma(file: SqliteFile, pragma: string): string {
  const [value] = file.pragma(pragma).flatMap((row) => Object.values(row));
  return String(value);
}
