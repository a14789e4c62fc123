import { advisoryLocks } from "./advisory-locks.ts";
import {
  destroyClient,
  beatPatience,
  beatSql,
  connectClient,
  endSql,
  rejoin,
  type BeatAnswer,
  type HostConnection,
  type HostIdentity,
} from "./host-connection.ts";
import { isRecentBeat, maxHosts } from "./living-hosts.ts";
import type { Verify } from "./postgres-pool.ts";
import { setUpSession } from "./postgres-sessions.ts";

/** Opens the connection of a host that holds its locks for as long as the connection lasts. */
export async function openHostLocks(url: string, host: HostIdentity, verify: Verify): Promise<HostConnection> {
  const setUp: Verify = async (client) => {
    await setUpSession(client, `set statement_timeout = ${beatPatience.query_timeout}`);
    await verify(client);
  };
  const { client, ended } = await connectClient(url, setUp);
  let isLocked = false;
  let strand: number | undefined;

  /**
   * Takes the first strand that no other host has. If an outage makes two hosts use the same strand for a while, they only wait for
   * each other: each row is written under the lock of its chain's head.
   */
  const takeStrand = async (): Promise<number> => {
    const { rows } = await client.query<{ strand: number }>(
      `with free as materialized (select strand from generate_series(0, ${maxHosts}) as strand
         where strand not in (select strand from host_leases where ${isRecentBeat})
         order by strand)
       select strand from free where pg_try_advisory_lock($1, strand) limit 1`,
      [advisoryLocks.strand],
    );
    const [free] = rows;
    if (free === undefined) throw new Error(`More than ${maxHosts} hosts run on this database.`);
    return free.strand;
  };

  const connection: HostConnection = {
    async beat(isDrained) {
      const { rows } = await client.query<Omit<BeatAnswer, "isLocked">>(beatSql, [host.id, isDrained, host.started_at]);
      const [row] = rows;
      return row && { ...row, isLocked };
    },
    rejoin: () => rejoin(client, host),
    async lock() {
      const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1, $2) as taken", [
        advisoryLocks.presence,
        host.id,
      ]);
      isLocked = rows[0]?.taken === true;
      return isLocked;
    },
    strand: () => strand ?? 0,
    ended,
    async end() {
      const isSaid = await client.query(endSql, [host.id, host.started_at]).then(
        () => true,
        () => false,
      );
      if (isSaid) await client.end();
      else destroyClient(client);
    },
    destroy: () => destroyClient(client),
  };
  try {
    strand = await takeStrand();
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
