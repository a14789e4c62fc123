import { Kysely, PostgresDialect, sql, type Logger } from "kysely";
import pg from "pg";
import type { Database } from "./database.ts";
import { keepCause } from "./keep-cause.ts";
import { livingHosts, presenceLock } from "./living-hosts.ts";
import { migrate, registerHost } from "./migrate.ts";
import type { Schema } from "./schema.ts";
import { UnansweredCommitError, type RunSteps, type Step, type StepResult } from "./steps.ts";

/** The first half of the locks by which hosts take a strand of the audit trail each; the second is the strand. */
const strandLock = 7445;
const maxHosts = 10_000;
/** How long hosts have to take their locks again after the server was away. */
const returnMs = 10_000;
const bigintOid = 20;

/** A server that went silent is an outage, not a wait. */
export const patience = { connectionTimeoutMillis: 5_000, query_timeout: 15_000, statement_timeout: 15_000 };

/** Opens a PostgreSQL database that any number of hosts may share. */
export async function openPostgres(url: string, log?: Logger): Promise<Database> {
  await migrateServer(url, log);
  const [pool, reportPool] = [openPool(url, 10), openPool(url, 4)];
  const settings = log && { log };
  const db = new Kysely<Schema>({ dialect: keepCause(new PostgresDialect({ pool })), ...settings });
  const reports = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: reportPool }), ...settings });
  const hostId = await registerHost(db);
  const presence = await showPresence(url, hostId);
  const close = async (): Promise<void> => {
    await presence.end();
    // Kysely would leave a pool that nobody has used yet open.
    await reportPool.end();
    await db.destroy();
  };
  let closed: Promise<void> | undefined;
  return {
    kind: "postgres",
    db,
    reports,
    read: async <Row>(text: string, parameters: readonly unknown[]) => {
      const { rows } = await pool.query({ name: nameOf(text), text, values: [...parameters] });
      return rows as Row[];
    },
    transact: (work) => transact(pool, work),
    copy: undefined,
    hostId,
    get strand() {
      return presence.strand();
    },
    async isAlive(id) {
      if (id === hostId) return true;
      const held = await sql`select 1 where ${id} in ${livingHosts}`.execute(db);
      return held.rows.length > 0 || !presence.isSettled();
    },
    onReturn: presence.onReturn,
    isShared: true,
    close: () => (closed ??= close()),
  };
}

function openPool(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max, types: { getTypeParser }, ...patience });
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    endWhenLate(client);
  });
  return pool;
}

/**
 * Ends a connection with the first query that is not answered in time. INVARIANT: nobody gets a connection on which a late
 * `begin` may still take effect: what they wrote on it would be acknowledged, and be of a transaction that nobody commits.
 */
function endWhenLate(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  const watched = (...given: unknown[]): unknown => {
    const answer = query(...given);
    // What the pool asks itself has a callback, with whose error it removes the connection.
    if (answer instanceof Promise)
      answer.catch((error: Error) => {
        if (error.message === "Query read timeout") void (client as pg.PoolClient & pg.Client).end();
      });
    return answer;
  };
  client.query = watched as typeof client.query;
}

/** Migrates on a connection of its own, on which moving much data, and waiting for a host that does, may take long. */
async function migrateServer(connectionString: string, log?: Logger): Promise<void> {
  const { connectionTimeoutMillis } = patience;
  const pool = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis, keepAlive: true });
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  const db = new Kysely<Schema>({ dialect: keepCause(new PostgresDialect({ pool })), ...(log && { log }) });
  try {
    await migrate(db, "postgres");
  } finally {
    await db.destroy();
  }
}

const names = new Map<string, string>();

/** The name under which connections prepare a statement. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `turnpike-${names.size}`));
  return name;
}

async function transact<T>(pool: pg.Pool, work: (run: RunSteps) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let state: "new" | "open" | "ended" = "new";
  let broken = false;
  const run: RunSteps = async (steps, end) => {
    const [only] = steps;
    if (state === "new" && end === "commit" && only?.rows.length === 1 && steps.length === 1) {
      state = "ended";
      return [
        await runAlone(client, only).catch((error: unknown) => {
          broken = error instanceof UnansweredCommitError;
          throw error;
        }),
      ];
    }
    if (state === "new") await client.query("begin");
    state = "open";
    const results: StepResult[] = [];
    for (const { sql: text, rows } of steps) {
      const result: StepResult = { rows: [], changes: [] };
      for (const values of rows) {
        const { rows: found, rowCount } = await client.query({ name: nameOf(text), text, values: [...values] });
        result.rows.push(...(found as StepResult["rows"]));
        result.changes.push(rowCount ?? 0);
      }
      results.push(result);
    }
    if (end === "commit") {
      state = "ended";
      await client.query("commit").catch((cause: unknown) => {
        broken = true;
        throw new UnansweredCommitError(cause);
      });
    }
    return results;
  };
  try {
    return await work(run);
  } finally {
    if ((state as string) === "open") await client.query("rollback").catch(() => (broken = true));
    client.release(broken);
  }
}

/** Errors with which a server ends a connection, by their codes: how severe one is it says in the language of its operator. */
const endingCode = /^(08|25P|57P|58|XX)/;

/** One statement that is a transaction by itself: one way to the server and back. */
async function runAlone(client: pg.PoolClient, { sql: text, rows: [values = []] }: Step): Promise<StepResult> {
  try {
    const { rows, rowCount } = await client.query({ name: nameOf(text), text, values: [...values] });
    return { rows: rows as StepResult["rows"], changes: [rowCount ?? 0] };
  } catch (error) {
    // Only the server's own no says that nothing was committed.
    if (error instanceof pg.DatabaseError && !endingCode.test(error.code ?? "XX000")) throw error;
    throw new UnansweredCommitError(error);
  }
}

interface Presence {
  strand(): number;
  /** False while this host, and so others as well, may have lost its lock to an outage: one that is missing may be alive. */
  isSettled(): boolean;
  onReturn(listener: () => void): void;
  end(): Promise<void>;
}

/** Holds its locks on a connection of its own for as long as the process lives; the server drops them with the connection. */
async function showPresence(url: string, hostId: number): Promise<Presence> {
  let isEnding = false;
  let settledAt = -Infinity;
  const listeners: (() => void)[] = [];
  let current = await holdLocks(url, hostId);
  const watch = (): void =>
    void current.client.once("end", () => {
      settledAt = Infinity;
      void again();
    });
  const again = async (): Promise<void> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- `end` below modifies it
    while (!isEnding) {
      try {
        current = await holdLocks(url, hostId);
        // A host that has closed must not look alive.
        if (isEnding) return void (await current.client.end());
        settledAt = performance.now() + returnMs;
        watch();
        for (const listener of listeners) listener();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 1000).unref());
      }
    }
  };
  watch();
  return {
    strand: () => current.strand,
    isSettled: () => performance.now() >= settledAt,
    onReturn: (listener) => void listeners.push(listener),
    async end() {
      isEnding = true;
      await current.client.end();
    },
  };
}

/** Takes the locks of a host; whoever has the client has them. */
async function holdLocks(url: string, hostId: number): Promise<{ client: pg.Client; strand: number }> {
  const client = new pg.Client({ connectionString: url, keepAlive: true, ...patience });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select pg_advisory_lock($1, $2)", [presenceLock, hostId]);
    return { client, strand: await takeStrand(client) };
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

/**
 * The first strand that no other host has; it is let go with the connection. Two hosts that take themselves for its owner
 * for a while, because of an outage, only wait for each other: each row is written under the lock of its chain's head.
 */
async function takeStrand(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ strand: number }>(
    `select strand from generate_series(0, ${maxHosts}) as strand where pg_try_advisory_lock($1, strand) limit 1`,
    [strandLock],
  );
  const [free] = rows;
  if (free === undefined) throw new Error(`More than ${maxHosts} hosts run on this database.`);
  return free.strand;
}

/** Counts fit into a number; the driver would hand 64-bit integers over as text. */
function getTypeParser(oid: number, format?: string): (value: string) => unknown {
  if (oid === bigintOid) return Number;
  return pg.types.getTypeParser(oid, format as "text") as (value: string) => unknown;
}
