import { advisoryLocks } from "./advisory-locks.ts";
import {
  beatSql,
  connectClient,
  destroyClient,
  endSql,
  rejoin,
  type BeatAnswer,
  type HostConnection,
  type HostIdentity,
} from "./host-connection.ts";
import { isRecentBeat, maxHosts } from "./living-hosts.ts";
import type { Verify } from "./postgres-pool.ts";
import { readServer, serverStart } from "./postgres-server.ts";
import { sessions } from "./postgres-sessions.ts";

const now = "extract(epoch from clock_timestamp())";
const isVoid = `not (${isRecentBeat})`;
/** A void lease is not renewed, because another host may have its strand by now. */
const beat = `with beaten as (${beatSql}),
  renewed as (update host_leases set beat_at = ${now} where host_id = $1 and ${isRecentBeat} returning strand)
  select "silentFor", lowest, (select strand from renewed) as strand, ${serverStart} as server from beaten`;
const lease = `insert into host_leases (host_id, strand, beat_at)
  select $1, free.strand, ${now} from generate_series(0, ${maxHosts}) as free (strand)
    where free.strand not in (select strand from host_leases)
      and free.strand not in (select objid::bigint from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database()) and classid = ${advisoryLocks.strand})
    order by free.strand limit 1
  returning strand`;

/**
 * Opens the connection of a host that leases what others lock, because its connection is no session. The lease is void, and its
 * strand free again, once the host did not beat for so long that it is dead.
 */
export async function openHostLease(url: string, host: HostIdentity, verify: Verify): Promise<HostConnection> {
  const mode = sessions.transaction;
  let server: string | undefined;
  const setUp: Verify = async (client) => {
    mode.adapt(client);
    server = await readServer(client);
    await verify(client);
  };
  const { client, ended } = await connectClient(url, setUp);
  let strand = 0;
  const connection: HostConnection = {
    async beat(isDrained) {
      type Row = Omit<BeatAnswer, "isLocked"> & { strand: number | null; server: string };
      const { rows } = await client.query<Row>(beat, [host.id, isDrained, host.started_at]);
      const [row] = rows;
      if (row === undefined) return undefined;
      // The pooler keeps its clients when it comes to another server. A new connection looks there for what was acknowledged.
      if (row.server !== server) throw new Error("Another server answers by now.");
      strand = row.strand ?? strand;
      return { silentFor: row.silentFor, lowest: row.lowest, isLocked: row.strand !== null };
    },
    rejoin: () => rejoin(client, host),
    async lock() {
      await client.query(mode.begin.join("; "));
      try {
        await client.query("select pg_advisory_xact_lock($1, 0)", [advisoryLocks.lease]);
        await client.query(`delete from host_leases where host_id = $1 or ${isVoid}`, [host.id]);
        const { rows } = await client.query<{ strand: number }>(lease, [host.id]);
        const [taken] = rows;
        if (taken === undefined) throw new Error(`More than ${maxHosts} hosts run on this database.`);
        await client.query("commit");
        strand = taken.strand;
        return true;
      } catch (error) {
        await client.query("rollback").catch(() => {});
        throw error;
      }
    },
    strand: () => strand,
    ended,
    async end() {
      // What is not removed is void after a while.
      try {
        await client.query(endSql, [host.id, host.started_at]);
        await client.query("delete from host_leases where host_id = $1", [host.id]);
        await client.end();
      } catch {
        destroyClient(client);
      }
    },
    destroy: () => destroyClient(client),
  };
  return connection;
}
