import pg from "pg";
import { clientKeepAlive } from "./keep-alive.ts";
import { readTimeout, types } from "./postgres-batch.ts";
import { patience, type Sessions } from "./postgres-sessions.ts";

/** Looks at the server behind a new connection. A connection for which this rejects is closed. */
export type Verify = (client: pg.ClientBase) => Promise<void>;

/** Opens a pool of at most so many connections. */
export function openPool(connectionString: string, max: number, { setUp, adapt }: Sessions, verify?: Verify): pg.Pool {
  const onConnect = async (client: pg.ClientBase): Promise<void> => {
    await setUp(client);
    await verify?.(client);
  };
  const pool = new pg.Pool({ connectionString, max, types, ...clientKeepAlive, ...patience, onConnect });
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    endWhenLate(client);
    adapt(client);
  });
  return pool;
}

/**
 * Closes a connection after the first query that is not answered in time. INVARIANT: no caller gets a connection on which a
 * late `begin` may still take effect: its writes would be acknowledged, but belong to a transaction that is never committed.
 */
function endWhenLate(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  const watched = (...given: unknown[]): unknown => {
    const answer = query(...given);
    // The pool's own queries have a callback; when it gets an error, the pool removes the connection.
    if (answer instanceof Promise)
      answer.catch((error: Error) => {
        if (error.message === readTimeout) void (client as pg.PoolClient & pg.Client).end();
      });
    return answer;
  };
  client.query = watched as typeof client.query;
}
