import LibsqlDatabase from "libsql";
import type { Driver, DriverStatement } from "./sqlite-driver.ts";

/** `libsql` with the calls of `node:sqlite`. */
export class LibsqlDriver implements Driver {
  readonly #database: InstanceType<typeof LibsqlDatabase>;

  constructor(path: string, options: { timeout: number }) {
    this.#database = new LibsqlDatabase(path, options);
  }

  get isTransaction(): boolean {
    return this.#database.inTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): DriverStatement {
    const statement = this.#database.prepare(sql);
    return {
      columns: () => statement.columns(),
      all: (...parameters) => statement.all(parameters) as Record<string, unknown>[],
      run: (...parameters) => statement.run(parameters),
      // It accepts every number anyway.
      setReadBigInts() {},
    };
  }

  close(): void {
    this.#database.close();
  }
}
