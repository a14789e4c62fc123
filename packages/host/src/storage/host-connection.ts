import type { Socket } from "node:net";
import type { Selectable } from "kysely";
import pg from "pg";
import { gapSeconds } from "./judge-host.ts";
import type { Schema } from "./schema.ts";
import { clientKeepAlive } from "./keep-alive.ts";

/** What a beat tells its host. */
export interface BeatAnswer {
  /** For how many seconds the host was silent before; null at the first beat. */
  silentFor: number | null;
  /** The lowest epoch whose hosts may serve. */
  lowest: number | null;
  isLocked: boolean;
}

/** A start of a host. A database that lost its row may have given its id to another one since. */
export type HostIdentity = Pick<Selectable<Schema["hosts"]>, "id" | "started_at" | "epoch">;

/** The connection on which a host shows that it lives. It is its own: a pool may be busy. */
export interface HostConnection {
  /**
   * Writes a beat, and whether the host has nothing under way because its version is too old. Returns undefined when the host has no
   * row, so that no other host has seen the beat.
   */
  beat(isDrained: boolean): Promise<BeatAnswer | undefined>;
  /** Makes the row of the host again, which the database lost. Does nothing when another host has its id by now. */
  rejoin(): Promise<void>;
  /** Takes the lock of the host. Returns false while the server holds it for a connection of this host that broke. */
  lock(): Promise<boolean>;
  /** The strand of the audit log that the host writes. */
  strand(): number;
  /** Resolves when the connection is gone. */
  readonly ended: Promise<void>;
  /** Tells other hosts that this one ends, so that they need not wait until it is dead, and closes the connection. */
  end(): Promise<void>;
  /** Closes the connection without telling the server, which may not be there. */
  destroy(): void;
}

/**
 * A beat that is not answered in time closes its connection. With the pause before the next attempt this is less than hosts have to beat
 * again after the database was away.
 */
export const beatPatience = { connectionTimeoutMillis: 3_000, query_timeout: 3_000 };

/** Opens a connection that is not of a pool. */
export async function connectClient(
  connectionString: string,
  setUp: (client: pg.Client) => Promise<void>,
  options: pg.ClientConfig = {},
): Promise<{ client: pg.Client; ended: Promise<void> }> {
  const client = new pg.Client({ connectionString, ...clientKeepAlive, ...beatPatience, ...options });
  client.on("error", () => {});
  const ended = new Promise<void>((resolve) => void client.once("end", resolve));
  try {
    await client.connect();
    await setUp(client);
  } catch (error) {
    destroyClient(client);
    throw error;
  }
  return { client, ended };
}

/** Ends a connection without a word to the server. The driver would wait for its answer. */
export function destroyClient(client: pg.Client): void {
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.destroy();
}

/** Writes the beat of a host, and reads which versions may serve. */
export const beatSql = `update hosts set beat_at = clock.now, beats_since = case
    when abs(clock.now - before.beat_at) < ${gapSeconds} then coalesce(before.beats_since, clock.now) else clock.now end,
    drained_at = case when $2 then coalesce(before.drained_at, clock.now) end
  from hosts as before, (select extract(epoch from clock_timestamp())::double precision as now) as clock
  where hosts.id = $1 and hosts.started_at = $3 and before.id = hosts.id returning clock.now - before.beat_at as "silentFor",
    (select lowest from schema_epoch limit 1) as lowest`;

export const endSql =
  "update hosts set ended_at = extract(epoch from clock_timestamp()) where id = $1 and started_at = $2";

const rejoinSql = `insert into hosts (id, started_at, epoch) overriding system value values ($1, $2, $3) on conflict do nothing`;
/** The next host that starts must not be given an id that is taken. */
const skipIdsSql = `select setval(name, newest) from (select pg_get_serial_sequence('hosts', 'id') as name) as sequence,
  (select max(id) as newest from hosts) as hosts where newest > coalesce(pg_sequence_last_value(name::regclass), 0)`;

/** Makes the row of a host again. */
export async function rejoin(client: Pick<pg.Client, "query">, { id, started_at, epoch }: HostIdentity): Promise<void> {
  await client.query(rejoinSql, [id, started_at, epoch]);
  await client.query(skipIdsSql);
}
