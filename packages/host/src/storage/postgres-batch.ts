import type { Duplex } from "node:stream";
import pg from "pg";

/** A statement, and the name under which its connection prepares it, if it does. */
export interface BatchStatement {
  text: string;
  values: readonly unknown[];
  name: string | undefined;
}

/** What one statement of a batch came to. */
type BatchResult = pg.QueryResult<Record<string, unknown>>;

/** Parts of the driver that its types do not name. */
interface Driver {
  Result: new (rowMode: undefined, types: pg.CustomTypesConfig) => ResultParser;
  utils: { prepareValue(value: unknown): unknown };
}
interface ResultParser extends BatchResult {
  addFields(fields: unknown): void;
  parseRow(fields: unknown): Record<string, unknown>;
  addRow(row: Record<string, unknown>): void;
  addCommandComplete(message: unknown): void;
}
interface Wire {
  stream: Duplex;
  parsedStatements: Record<string, string | undefined>;
  parse(statement: { name: string; text: string }): void;
  bind(binding: { statement: string; values: readonly unknown[] }): void;
  describe(what: { type: "P" }): void;
  execute(what: object): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

const { Result, utils } = pg as unknown as Driver;

const bigintOid = 20;

/** Reads 64-bit integers as numbers, which counts always fit into. The driver would return text. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === bigintOid ? Number : pg.types.getTypeParser(oid, format as "text")),
};

/** How the driver says that no answer came in time. */
export const readTimeout = "Query read timeout";

/**
 * Sends statements at once, in one round trip. INVARIANT: one `Sync` is behind all of them. When one fails, the server skips those
 * behind it, so none takes effect without those before it: outside a transaction they are one, and a `begin` that fails lets nothing
 * commit by itself.
 */
export function runBatch(
  client: pg.ClientBase,
  statements: readonly BatchStatement[],
): Promise<readonly BatchResult[]> {
  return new Promise((resolve, reject) => {
    const batch = new Batch(statements, (error, results) => {
      if (error === null) return resolve(results ?? []);
      if (error.message === readTimeout) void (client as pg.Client).end();
      reject(error);
    });
    client.query(batch as unknown as pg.Submittable);
  });
}

/** What the driver asks of a query. */
class Batch {
  callback: (error: Error | null, results?: readonly BatchResult[]) => void;
  /** Of the statement whose answer comes next: by them the driver knows what its connection has prepared. */
  name: string | undefined;
  text: string | undefined;
  readonly #statements: readonly BatchStatement[];
  readonly #results: readonly ResultParser[];
  #place = 0;
  #unreadable: Error | undefined;

  constructor(statements: readonly BatchStatement[], callback: Batch["callback"]) {
    // A value that cannot be sent throws here, before anything is sent.
    this.#statements = statements.map((statement) => ({
      ...statement,
      values: statement.values.map(utils.prepareValue),
    }));
    this.#results = statements.map(() => new Result(undefined, types));
    this.callback = callback;
    this.#answerTo(0);
  }

  submit(connection: Wire): void {
    const parsed = new Set<string>();
    connection.stream.cork();
    try {
      for (const { text, values, name = "" } of this.#statements) {
        if (name === "" || !(parsed.has(name) || name in connection.parsedStatements)) connection.parse({ name, text });
        parsed.add(name);
        connection.bind({ statement: name, values });
        connection.describe({ type: "P" });
        connection.execute({});
      }
      connection.sync();
    } catch (error) {
      // INVARIANT: a part of a batch is never committed.
      connection.stream.destroy(error as Error);
    } finally {
      connection.stream.uncork();
    }
  }

  handleRowDescription({ fields }: { fields: unknown }): void {
    this.#results[this.#place]?.addFields(fields);
  }

  handleDataRow({ fields }: { fields: unknown }): void {
    const result = this.#results[this.#place];
    try {
      result?.addRow(result.parseRow(fields));
    } catch (error) {
      this.#unreadable ??= error as Error;
    }
  }

  handleCommandComplete(message: unknown): void {
    this.#results[this.#place]?.addCommandComplete(message);
    this.#answerTo(this.#place + 1);
  }

  handleEmptyQuery(): void {
    this.#answerTo(this.#place + 1);
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFail("Nothing is copied here.");
  }

  handleCopyData(): void {}

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#unreadable === undefined) this.callback(null, this.#results);
    else this.callback(this.#unreadable);
  }

  #answerTo(place: number): void {
    this.#place = place;
    const next = this.#statements[place];
    [this.name, this.text] = [next?.name, next?.text];
  }
}
