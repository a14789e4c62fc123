import LibsqlDatabase from "libsql";

type Driver = InstanceType<typeof LibsqlDatabase>;
type DriverStatement = ReturnType<Driver["prepare"]>;
type Row = Record<string, unknown>;

/** A statement that is prepared, and run any number of times. */
export class SqliteStatement {
  /** Whether it answers with rows. To ask the driver takes as long as some statements run. */
  readonly reader: boolean;
  readonly #statement: DriverStatement;

  constructor(statement: DriverStatement) {
    this.#statement = statement;
    this.reader = statement.reader;
  }

  all(parameters: readonly unknown[] = []): Row[] {
    return this.#statement.all(parameters) as Row[];
  }

  run(parameters: readonly unknown[] = []): { changes: number; lastInsertRowid: number | bigint } {
    return this.#statement.run(parameters);
  }

  /** Kysely asks for it when it is to stream. */
  iterate(parameters: readonly unknown[] = []): IterableIterator<Row> {
    return this.all(parameters).values();
  }
}

/**
 * An SQLite file that is open, or `:memory:`. Nothing else of the host knows the driver. It is what Kysely's `SqliteDialect`
 * takes, too. What goes wrong has the name of SQLite's code, such as `SQLITE_BUSY`.
 */
export class SqliteFile {
  readonly #database: Driver;

  /** Waits so long for a lock before it says that the file is busy. */
  constructor(path: string, { timeoutMs = 0 }: { timeoutMs?: number } = {}) {
    this.#database = new LibsqlDatabase(path, { timeout: timeoutMs });
  }

  get isInTransaction(): boolean {
    return this.#database.inTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): SqliteStatement {
    return new SqliteStatement(this.#database.prepare(sql));
  }

  pragma(text: string): Row[] {
    return this.prepare(`pragma ${text}`).all();
  }

  close(): void {
    this.#database.close();
  }
}
