import { createHash } from "node:crypto";
import { CompiledQuery, PostgresDialect, type Dialect } from "kysely";
import type pg from "pg";
import { serverKeepAlive } from "./keep-alive.ts";
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
  /** How a transaction begins. */
  readonly begin: string;
  /** The name under which a connection prepares a statement, if it does. */
  nameOf(text: string): string | undefined;
  /** Whether statements are sent without waiting for the answers to those before. */
  readonly pipeline: boolean;
  /** Sends what a new connection is set to. */
  setUp(client: pg.ClientBase): Promise<void>;
  /** Prepares a new connection. */
  adapt(client: pg.ClientBase): void;
}

/** Neither is a parameter of the connection: poolers refuse those that they do not know. */
export const sessions: Record<"session" | "transaction", Sessions> = {
  session: {
    begin: beginReadCommitted,
    nameOf: (text) => nameOf(text),
    pipeline: false,
    setUp: (client) => setUpSession(client),
    adapt() {},
  },
  transaction: {
    begin: `${beginReadCommitted}; set local statement_timeout = ${statementMs}`,
    nameOf: () => undefined,
    pipeline: true,
    setUp: () => Promise.resolve(),
    adapt: wrapLoneStatements,
  },
};

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
 * Sends each statement outside a transaction within one, so that it has the level and the time limit that transactions have. The
 * three are sent at once. When the statement fails, the commit rolls back.
 */
function wrapLoneStatements(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  const wrapped = async (...given: unknown[]): Promise<unknown> => {
    const [text] = given;
    const isBegin = typeof text === "string" && text.startsWith("begin");
    if (isBegin || client.getTransactionStatus() !== "I") return query(...given);
    const [begun, result, ended] = await Promise.allSettled([
      query(sessions.transaction.begin),
      query(...given),
      query("commit"),
    ]);
    if (result.status === "rejected") throw result.reason;
    // The statement may have run without a transaction, and then it is unknown what became of it.
    if (begun.status === "rejected") throw new Error("A transaction did not begin.", { cause: begun.reason });
    if (ended.status === "rejected") throw ended.reason;
    return result.value;
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
      driver.beginTransaction = async (connection) => void (await connection.executeQuery(CompiledQuery.raw(begin)));
      return driver;
    },
  };
}
