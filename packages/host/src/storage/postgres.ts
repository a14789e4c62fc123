import { Kysely, type Logger } from "kysely";
import pg from "pg";
import type { Database } from "./database.ts";
import type { ServerSettings } from "./database-settings.ts";
import { createHistory } from "./history/history.ts";
import type { HostIdentity } from "./host-connection.ts";
import { openHostLease } from "./host-lease.ts";
import { openHostLocks } from "./host-locks.ts";
import { clientKeepAlive } from "./keep-alive.ts";
import { createHostWatch, signsIn } from "./living-hosts.ts";
import { migrate, ownEpoch, registerStart } from "./migrate.ts";
import { checkPooler } from "./pooler.ts";
import { runBatch, type BatchStatement } from "./postgres-batch.ts";
import { openPool, type Verify } from "./postgres-pool.ts";
import { kyselyOn, readServer, readTimeline } from "./postgres-server.ts";
import { patience, plain, postgresDialect, sessions, setUpSession, type Sessions } from "./postgres-sessions.ts";
import { showPresence } from "./presence.ts";
import type { Schema } from "./schema.ts";
import { UnansweredCommitError, type RunSteps, type StepResult } from "./steps.ts";

/** Opens a PostgreSQL database that any number of hosts may share. */
export async function openPostgres(server: ServerSettings, log?: Logger): Promise<Database> {
  const { url, pooler = "session", directUrl = url } = server;
  await checkPooler(server);
  await migrateServer(directUrl, log);
  const mode = sessions[pooler];
  let host: HostIdentity = { id: 0, started_at: "", epoch: null };
  const history = createHistory({
    hostId: () => host.id,
    connect: (work) => db.connection().execute(work),
  });
  const verify: Verify = async (client) => {
    const id = await readServer(client);
    if (history.server !== id) await history.verify(kyselyOn(client), { id, timeline: await readTimeline(client) });
  };
  const [pool, reportPool] = [openPool(url, 10, mode, verify), openPool(url, 4, mode, verify)];
  const settings = log && { log };
  const db = new Kysely<Schema>({ dialect: postgresDialect(pool, mode), ...settings });
  const reporting = new Kysely<Schema>({ dialect: postgresDialect(reportPool, mode), ...settings });
  host = await registerStart(db);
  const hostId = host.id;
  const openHost = pooler === "session" ? openHostLocks : openHostLease;
  const presence = await showPresence(() => openHost(url, host, verify));
  const close = async (): Promise<void> => {
    await presence.end();
    // Kysely does not close a pool that was never used.
    await reportPool.end();
    await db.destroy();
  };
  let closed: Promise<void> | undefined;
  return {
    kind: "postgres",
    db,
    reporting,
    read: async <Row>(text: string, parameters: readonly unknown[]) => {
      const client = await pool.connect();
      try {
        const { rows } = await client.query({ name: mode.nameOf(text), text, values: [...parameters] });
        return rows as Row[];
      } finally {
        client.release();
      }
    },
    transact: (work) => transact(pool, mode, work),
    copy: undefined,
    hostId,
    get strand() {
      return presence.strand();
    },
    isAlive: createHostWatch(signsIn(db), hostId),
    isPresent: presence.isPresent,
    isTooOld: () => presence.lowestEpoch() > ownEpoch,
    showDrained: presence.showDrained,
    onReturn: presence.onReturn,
    history,
    isShared: true,
    close: () => (closed ??= close()),
  };
}

/** Migrates on a connection without time limits: moving data, or waiting for another host that does, may take long. */
async function migrateServer(connectionString: string, log?: Logger): Promise<void> {
  const { connectionTimeoutMillis } = patience;
  const pool = new pg.Pool({
    connectionString,
    max: 1,
    connectionTimeoutMillis,
    onConnect: (client) => setUpSession(client, unhurried),
    ...clientKeepAlive,
  });
  pool.on("error", () => {});
  pool.on("connect", (client) => void client.on("error", () => {}));
  const db = new Kysely<Schema>({ dialect: postgresDialect(pool, sessions.session), ...(log && { log }) });
  try {
    await migrate(db, "postgres");
  } finally {
    await db.destroy();
  }
}

/** The database or its user may have time limits as well. The last one is known since PostgreSQL 17. */
const unhurried = `set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
  select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`;

/** Each call of `run` is one round trip. A transaction that one call begins and commits is one as well. */
async function transact<T>(
  pool: pg.Pool,
  { begin, beginWhole, nameOf }: Sessions,
  work: (run: RunSteps) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let state: "new" | "open" | "ended" = "new";
  let broken = false;
  const send = async (statements: readonly BatchStatement[], end: "commit" | undefined) => {
    try {
      return await runBatch(client, statements);
    } catch (error) {
      // Only an error from the server itself proves that nothing was committed.
      const isProven = error instanceof pg.DatabaseError && !endingCode.test(error.code ?? "XX000");
      if (end === undefined || isProven) throw error;
      broken = true;
      throw new UnansweredCommitError(error);
    }
  };
  const run: RunSteps = async (steps, end) => {
    const isWhole = state === "new" && end === "commit";
    const beginning = isWhole ? beginWhole : begin;
    const before = state === "new" ? beginning : [];
    // Without a `begin`, all that is sent at once is one transaction, which ends with it.
    const isImplicit = isWhole && before.length === 0;
    const statements = steps.flatMap(({ sql: text, rows }) =>
      rows.map((values) => ({ name: nameOf(text), text, values })),
    );
    const after = end === undefined || isImplicit ? [] : [end];
    state = isImplicit ? "ended" : "open";
    const results = await send([...before.map(plain), ...statements, ...after.map(plain)], end);
    if (after.length > 0 && results.at(-1)?.command !== "COMMIT") throw new Error("The transaction had failed before.");
    if (end === "commit") state = "ended";
    let place = before.length;
    return steps.map(({ rows }) => {
      const own = results.slice(place, (place += rows.length));
      return {
        rows: own.flatMap((result) => result.rows as StepResult["rows"]),
        changes: own.map(({ rowCount }) => rowCount ?? 0),
      };
    });
  };
  try {
    return await work(run);
  } finally {
    if ((state as string) === "open") await client.query("rollback").catch(() => (broken = true));
    client.release(broken);
  }
}

/** The codes of errors with which a server closes a connection. The severity is no help, because it is translated. */
const endingCode = /^(08|25P|57P|58|XX)/;
