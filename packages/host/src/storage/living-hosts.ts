import { sql } from "kysely";

/** The first half of the advisory locks by which hosts show that they live; the second is the host's id. */
export const presenceLock = 7443;

/** For the `in` of a query: the ids of all hosts that run on this database. */
export const livingHosts = sql<number>`(select objid::bigint from pg_locks where locktype = 'advisory' and granted
  and database = (select oid from pg_database where datname = current_database()) and classid = ${presenceLock})`;
