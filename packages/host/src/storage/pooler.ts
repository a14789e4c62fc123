import { randomInt } from "node:crypto";
import pg from "pg";
import { serverOf } from "../shared/index.ts";
import { advisoryLocks } from "./advisory-locks.ts";
import { PoolerError, type ServerSettings } from "./database-settings.ts";
import { patience } from "./postgres-sessions.ts";

/** A pooler that gives its connections out in turn may give the same one twice, but not three times. */
const rounds = 2;
/** A database may have time limits that are shorter than these few statements take. What else is set here would be lent to others. */
const begin = "begin; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";

/** Throws a `PoolerError` unless the way to a PostgreSQL is as configured. */
export async function checkPooler({ url, pooler, directUrl }: ServerSettings): Promise<void> {
  if (pooler !== "transaction") await requireSessions(url, untold);
  if (directUrl !== undefined) {
    await requireSessions(
      directUrl,
      "which no migration can use: give the address of PostgreSQL itself as database.directUrl",
    );
    await requireSameDatabase(url, directUrl);
  }
}

const untold =
  'which the configuration does not say: set database.pooler to "transaction" (TURNPIKE_DATABASE_POOLER) and database.directUrl to ' +
  "the address of PostgreSQL itself, or give the address of a pooler in session mode";

async function requireSessions(url: string, problem: string): Promise<void> {
  const isLent = await withClients([url, url], lendsTransactions).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.includes("statement pooling"))) throw error;
    const says = "is in statement mode, in which there are no transactions: set it to session or transaction mode";
    throw new PoolerError(`PgBouncer at ${serverOf(url)} ${says}.`, { cause: error });
  });
  if (!isLent) return;
  const name = (await isPgBouncer(url)) ? "PgBouncer" : "The pooler";
  throw new PoolerError(`${name} at ${serverOf(url)} is in transaction mode, ${problem}.`);
}

/**
 * Whether two connections are not sessions: while the other is in a transaction, one has another process of the server than before,
 * or no longer its lock.
 */
async function lendsTransactions(one: pg.Client, other: pg.Client): Promise<boolean> {
  const key = randomInt(2 ** 31);
  const pid = await firstRow(
    one,
    `${begin}; select pg_backend_pid() as found, pg_advisory_lock(${advisoryLocks.probe}, ${key}); commit`,
  );
  for (let round = 0; round < rounds; round += 1) {
    if ((await firstRow(other, `${begin}; select pg_backend_pid() as found`)) === pid) {
      // The lock is of no more use, and would be there for as long as the pooler has the connection.
      await other.query(`select pg_advisory_unlock(${advisoryLocks.probe}, ${key})`);
      return true;
    }
    const held = `select count(*)::integer as found from pg_locks where locktype = 'advisory' and classid = ${advisoryLocks.probe}
      and objid = ${key} and pid = ${pid} and pid = pg_backend_pid()`;
    if ((await firstRow(one, `${begin}; ${held}; commit`)) === 0) return true;
    await other.query("rollback");
  }
  return false;
}

/** Tables that were migrated elsewhere would be missing here, or be those of another service. */
async function requireSameDatabase(url: string, directUrl: string): Promise<void> {
  const isSame = await withClients([url, directUrl], async (pooled, direct) => {
    const key = randomInt(2 ** 31);
    await firstRow(direct, `${begin}; select 1 as found, pg_advisory_lock(${advisoryLocks.probe}, ${key}); commit`);
    const held = `select count(*)::integer as found from pg_locks where locktype = 'advisory' and classid = ${advisoryLocks.probe}
      and objid = ${key} and database = (select oid from pg_database where datname = current_database())`;
    return (await firstRow(pooled, `${begin}; ${held}; commit`)) === 1;
  });
  if (!isSame)
    throw new PoolerError(
      `database.directUrl leads to another database than database.url: ${serverOf(directUrl)} is not what ${serverOf(url)} leads to.`,
    );
}

/** What the first row is that statements find, sent in one message. */
async function firstRow(client: pg.Client, statements: string): Promise<number | undefined> {
  const results = (await client.query(statements)) as unknown as pg.QueryResult<{ found: number }>[];
  return results.flatMap(({ rows }) => rows)[0]?.found;
}

/** Only PgBouncer refuses a parameter of a connection in these words. Others are not told apart. */
async function isPgBouncer(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, options: "-c turnpike.probe=1", ...patience });
  client.on("error", () => {});
  try {
    await client.connect();
    return false;
  } catch (error) {
    return error instanceof Error && error.message.includes("unsupported startup parameter");
  } finally {
    await client.end().catch(() => {});
  }
}

/** Two connections, which are closed in the end. */
async function withClients<T>(
  urls: readonly [string, string],
  work: (one: pg.Client, other: pg.Client) => Promise<T>,
): Promise<T> {
  const [one, other] = urls.map((connectionString) => {
    const client = new pg.Client({ connectionString, ...patience });
    client.on("error", () => {});
    return client;
  }) as [pg.Client, pg.Client];
  try {
    await one.connect();
    await other.connect();
    return await work(one, other);
  } finally {
    await Promise.all([one, other].map((client) => client.end().catch(() => {})));
  }
}
