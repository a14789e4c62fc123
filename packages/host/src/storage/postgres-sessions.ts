import { createHash } from "node:crypto";
import { CompiledQuery, PostgresDialect, type Dialect } from "kysely";
import type pg from "pg";
import { serverKeepAlive } from "./keep-alive.ts";
import { runBatch, type BatchStatement } from "./postgres-batch.ts";
import { preserveCause } from "./preserve-cause.ts";

/**
 * How every transaction begins. The host is written for this level: it locks the rows that it decides on, and reads what others have
 * committed meanwhile. At a stricter level, which a database may have as its default, concurrent calls would fail.
 */
const beginReadCommitted = "begin isolation level read committed";

/** A server that does not answer in time counts as an outage. */
export const patience = { connectionTimeoutMillis: 5_000, query_timeout: 15_000 };
const statementMs = 15_000;

/**
 * How connections are used. With `session`, what a connection sets is there until it ends. With `transaction`, a pooler lends
 * another connection of the server for each transaction, and nothing that was set outlives that.
 */
export interface Sessions {
  /** The statements with which a transaction begins. */
  readonly begin: readonly string[];
  /** Those with which one begins that is sent as a whole; none when what its connection is set to is enough. */
  readonly beginWhole: readonly string[];
  /** The name under which a connection prepares a statement, if it does. */
  nameOf(text: string): string | undefined;
  /** Sends what a new connection is set to. */
  setUp(client: pg.ClientBase): Promise<void>;
  /** Prepares a new connection. */
  adapt(client: pg.ClientBase): void;
}

const beginLent = [beginReadCommitted, `set local statement_timeout = ${statementMs}`];

/** Neither is a parameter of the connection: poolers refuse those that they do not know. */
export const sessions: Record<"session" | "transaction", Sessions> = {
  session: {
    begin: [beginReadCommitted],
    beginWhole: [],
    nameOf: (text) => nameOf(text),
    setUp: (client) => setUpSession(client),
    adapt() {},
  },
  transaction: {
    begin: beginLent,
    beginWhole: beginLent,
    nameOf: () => undefined,
    setUp: () => Promise.resolve(),
    adapt: wrapLoneStatements,
  },
};

/** A statement without values. */
export function plain(text: string): BatchStatement {
  return { text, values: [], name: undefined };
}

/**
 * Sent once for each connection, in one message. A statement without a transaction of its own has the level of its session. A server or
 * a pooler that refuses the keepalives serves without them.
 */
export async function setUpSession(client: Pick<pg.ClientBase, "query">, further = ""): Promise<void> {
  const settings = ["set default_transaction_isolation = 'read committed'", `set statement_timeout = ${statementMs}`];
  const needed = [...settings, ...(further === "" ? [] : [further])].join("; ");
  try {
    await client.query(`${needed}; ${serverKeepAlive}`);
  } catch {
    await client.query(needed);
  }
}

/**
 * Sends each statement outside a transaction within one, so that it has the level and the time limit that transactions have, and in one
 * batch with it.
 */
function wrapLoneStatements(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  const wrapped = (...given: unknown[]): unknown => {
    const [asked, values] = given as [string | pg.QueryConfig | pg.Submittable, unknown[] | undefined];
    const isWhole = typeof asked === "object" && "submit" in asked;
    const isBegin = typeof asked === "string" && asked.startsWith("begin");
    if (isWhole || isBegin || client.getTransactionStatus() !== "I") return query(...given);
    const { text, values: own = [] } = typeof asked === "string" ? { text: asked, values } : asked;
    const statements = [...beginLent.map(plain), { ...plain(text), values: own }, plain("commit")];
    return runBatch(client, statements).then(
      (results) => results.at(-2),
      async (error: unknown) => {
        // The server has skipped the commit.
        await Promise.resolve(query("rollback")).catch(() => {});
        throw error;
      },
    );
  };
  client.query = wrapped as typeof client.query;
}

const names = new Map<string, string>();

/**
 * A name that says which statement it is: hosts of different versions may prepare theirs on the same connections of the server, one
 * after the other.
 */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined)
    names.set(text, (name = `turnpike-${createHash("sha256").update(text).digest("hex").slice(0, 32)}`));
  return name;
}

/** Kysely on a pool, with transactions at the host's own isolation level that fail with what made them fail. */
export function postgresDialect(pool: pg.Pool, { begin }: Sessions): Dialect {
  const dialect = preserveCause(new PostgresDialect({ pool }));
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver() {
      const driver = dialect.createDriver();
      driver.beginTransaction = async (connection) =>
        void (await connection.executeQuery(CompiledQuery.raw(begin.join("; "))));
      return driver;
    },
  };
}
