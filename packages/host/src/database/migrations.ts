import { sql, type Kysely, type Migration, type MigrationProvider } from "kysely";
import type { Database } from "./database.ts";
import { fileHistory } from "./file-history.ts";

/** What differs between the two databases in a migration. */
export interface Dialect {
  kind: Database["kind"];
  /** The column definition of a key the database counts up by itself. */
  countingKey: string;
}

/** Migrations in the order in which they run. One that was released is never changed. */
export function migrationsFor({ kind, countingKey }: Dialect): MigrationProvider {
  const statements = (texts: readonly string[]): Migration => ({
    async up(db: Kysely<unknown>) {
      for (const text of texts) await sql.raw(text).execute(db);
    },
  });
  const migrations: Record<string, Migration> = {
    "0001-kernel-stores": statements([
      "create table revision (id integer primary key, value bigint not null)",
      "insert into revision (id, value) values (1, 0)",
      `create table hosts (id ${countingKey}, started_at text not null)`,
      `create table grants (namespace_id text not null, id text not null, subject text not null, issuer text not null,
         content text not null, primary key (namespace_id, id))`,
      "create index grants_by_holder on grants (namespace_id, subject, issuer)",
      `create table uses (namespace_id text not null, grant_id text not null, used integer not null,
         primary key (namespace_id, grant_id))`,
      `create table namespace_settings (namespace_id text not null, actor text not null, enabled text not null,
         primary key (namespace_id, actor))`,
      `create table credentials (id text primary key, namespace_id text not null, secret_hash text not null,
         access text not null, created_at text not null, expires_at text, revoked_at text)`,
      "create table audit_heads (namespace_id text primary key, sequence bigint not null, hash text not null)",
      `create table audit (namespace_id text not null, sequence bigint not null, id text not null, type text not null,
         outcome text not null, at text not null, actor text not null, trace_id text not null, content text not null,
         hash text not null, primary key (namespace_id, sequence))`,
      `create table replay (namespace_id text not null, kind text not null, scope text not null, id text not null,
         fingerprint text not null, host_id integer not null, result text, finished_at text,
         primary key (namespace_id, kind, scope, id))`,
      "create index replay_by_age on replay (finished_at)",
    ]),
    "0002-files": statements([
      `create table files (namespace_id text not null, owner text not null, path text not null, version integer not null,
         content text not null, updated_at text not null, primary key (namespace_id, owner, path))`,
    ]),
    "0003-file-history": fileHistory({ kind, countingKey }),
    "0004-messages": statements([
      `create table inboxes (namespace_id text not null, receiver text not null, sequence bigint not null,
         unacknowledged integer not null, primary key (namespace_id, receiver))`,
      `create table messages (namespace_id text not null, receiver text not null, sequence bigint not null,
         sender text not null, id text not null, content text not null, received_at text not null,
         acknowledged_at text, primary key (namespace_id, receiver, sequence))`,
      "create unique index messages_by_sender on messages (namespace_id, sender, id)",
      "create index messages_by_id on messages (namespace_id, id, receiver)",
      `create index messages_waiting on messages (namespace_id, receiver, sequence)
         where acknowledged_at is null`,
    ]),
    "0005-escalations": statements([
      `create table escalations (namespace_id text not null, id text not null, ask text not null, status text not null,
         expires_at text not null, content text not null, primary key (namespace_id, id))`,
      "create unique index escalations_waiting on escalations (namespace_id, ask) where status = 'pending'",
      "create index audit_by_trace on audit (namespace_id, trace_id)",
    ]),
  };
  return { getMigrations: () => Promise.resolve(migrations) };
}
