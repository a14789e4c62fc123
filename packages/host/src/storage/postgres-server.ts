import { Kysely, PostgresDialect } from "kysely";
import type pg from "pg";
import type { Schema } from "./schema.ts";

type Client = Pick<pg.ClientBase, "query">;

/** A standby answers, and whatever it has not replayed yet would look lost. */
class StandbyError extends Error {
  override readonly name = "StandbyError";
  /** PostgreSQL's own code for a write to a standby. */
  readonly code = "25006";

  constructor() {
    super("This PostgreSQL is a standby, which takes no writes.");
  }
}

/** SQL: when the server was started, which tells servers apart. */
export const serverStart = "extract(epoch from pg_postmaster_start_time())::text";

/**
 * Says which server is behind a connection. Throws for a standby: what it lacks may still come. INVARIANT: a standby that is promoted
 * was never taken for a server before, so its time of start is as new to a host as that of a server that was started after a crash.
 */
export async function readServer(client: Client): Promise<string> {
  const { rows } = await client.query<{ standby: boolean; started: string }>(
    `select pg_is_in_recovery() as standby, ${serverStart} as started`,
  );
  const [row] = rows;
  if (row === undefined || row.standby) throw new StandbyError();
  return row.started;
}

/** The timeline of a server; undefined where it does not tell, or not to this user. */
export async function readTimeline(client: Client): Promise<string | undefined> {
  try {
    const { rows } = await client.query<{ timeline: string }>(
      "select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline",
    );
    return rows[0] && String(Number.parseInt(rows[0].timeline, 16));
  } catch {
    return undefined;
  }
}

/** Kysely on one connection that nothing else uses meanwhile. */
export function kyselyOn(client: Client): Kysely<Schema> {
  const only = { query: client.query.bind(client) as never, release() {} };
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: { connect: () => Promise.resolve(only), end: () => Promise.resolve() } }),
  });
}
