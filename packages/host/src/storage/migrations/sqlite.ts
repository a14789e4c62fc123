import { fillActors } from "./fill-actors.ts";
import { fillAnswers } from "./fill-answers.ts";
import { fillEnds } from "./fill-ends.ts";
import { fillParents } from "./fill-parents.ts";
import { markRevoked } from "./mark-revoked.ts";
import type { Migration } from "./migration.ts";
import { indexOnSqlite, moveFiles } from "./move-files.ts";
import { moveTurns } from "./move-turns.ts";

/**
 * An earlier version ran 0001 to 0005 statement by statement. A file that it left in the middle of one has some of its
 * tables, all of them as they were made, and no record of it: "if not exists" takes such a file up where it was left.
 * Migrations from 0006 on run in one transaction each and do not need it.
 */
export const sqliteMigrations: readonly Migration[] = [
  {
    name: "0001-kernel-stores",
    allowsPrevious: false,
    statements: [
      "create table if not exists revision (id integer primary key, value bigint not null)",
      "insert or ignore into revision (id, value) values (1, 0)",
      "create table if not exists hosts (id integer primary key autoincrement, started_at text not null)",
      `create table if not exists grants (namespace_id text not null, id text not null, subject text not null, issuer text not null,
         content text not null, primary key (namespace_id, id))`,
      "create index if not exists grants_by_holder on grants (namespace_id, subject, issuer)",
      `create table if not exists uses (namespace_id text not null, grant_id text not null, used integer not null,
         primary key (namespace_id, grant_id))`,
      `create table if not exists namespace_settings (namespace_id text not null, actor text not null, enabled text not null,
         primary key (namespace_id, actor))`,
      `create table if not exists credentials (id text primary key, namespace_id text not null, secret_hash text not null,
         access text not null, created_at text not null, expires_at text, revoked_at text)`,
      "create table if not exists audit_heads (namespace_id text primary key, sequence bigint not null, hash text not null)",
      `create table if not exists audit (namespace_id text not null, sequence bigint not null, id text not null, type text not null,
         outcome text not null, at text not null, actor text not null, trace_id text not null, content text not null,
         hash text not null, primary key (namespace_id, sequence))`,
      `create table if not exists replay (namespace_id text not null, kind text not null, scope text not null, id text not null,
         fingerprint text not null, host_id integer not null, result text, finished_at text,
         primary key (namespace_id, kind, scope, id))`,
      "create index if not exists replay_by_age on replay (finished_at)",
    ],
  },
  {
    name: "0002-files",
    allowsPrevious: true,
    statements: [
      `create table if not exists files (namespace_id text not null, owner text not null, path text not null, version integer not null,
         content text not null, updated_at text not null, primary key (namespace_id, owner, path))`,
    ],
  },
  {
    name: "0003-file-history",
    allowsPrevious: false,
    // This one always ran in a transaction of its own; only its record came after that.
    appliedWhen: "select 1 from sqlite_master where type = 'table' and name = 'contents'",
    statements: [
      "alter table files rename to old_files",
      `create table files (id integer primary key autoincrement, namespace_id text not null, owner text not null, shelf text not null,
       path text  not null, path_key text not null, path_start text  not null,
       version integer not null, size integer not null, digest text, updated_at text not null,
       unique (path_key, namespace_id, owner))`,
      "create index files_by_path on files (shelf, path_start, digest)",
      "create index files_by_digest on files (digest, namespace_id, owner)",
      `create table contents (namespace_id text not null, owner text not null, digest text not null,
       content text not null, primary key (digest, namespace_id, owner))`,
      "create table owners (namespace_id text not null, owner text not null, primary key (namespace_id, owner))",
      `create table snapshots (namespace_id text not null, owner text not null, sequence integer not null,
       id text not null, path text not null, label text, created_at text not null,
       primary key (namespace_id, owner, sequence))`,
      `create table captures (namespace_id text not null, owner text not null, snapshot text not null,
       file integer not null, digest text, primary key (snapshot, file))`,
      "create index captures_by_digest on captures (digest, namespace_id, owner)",
      `create virtual table words using fts5 (scope, path, content, often, most, tokenize = 'ascii', detail = column,
         content = '', contentless_delete = 1)`,
      moveFiles(indexOnSqlite),
      "drop table old_files",
    ],
  },
  {
    name: "0004-messages",
    allowsPrevious: true,
    statements: [
      `create table if not exists inboxes (namespace_id text not null, receiver text not null, sequence bigint not null,
         unacknowledged integer not null, primary key (namespace_id, receiver))`,
      `create table if not exists messages (namespace_id text not null, receiver text not null, sequence bigint not null,
         sender text not null, id text not null, content text not null, received_at text not null,
         acknowledged_at text, primary key (namespace_id, receiver, sequence))`,
      "create unique index if not exists messages_by_sender on messages (namespace_id, sender, id)",
      "create index if not exists messages_by_id on messages (namespace_id, id, receiver)",
      `create index if not exists messages_waiting on messages (namespace_id, receiver, sequence)
         where acknowledged_at is null`,
    ],
  },
  {
    name: "0005-escalations",
    allowsPrevious: true,
    statements: [
      `create table if not exists escalations (namespace_id text not null, id text not null, ask text not null, status text not null,
         expires_at text not null, content text not null, primary key (namespace_id, id))`,
      "create unique index if not exists escalations_waiting on escalations (namespace_id, ask) where status = 'pending'",
      "create index if not exists audit_by_trace on audit (namespace_id, trace_id)",
    ],
  },
  {
    name: "0006-replay-actors-and-revocations",
    allowsPrevious: false,
    // An old row has no actor: its id stays taken for every actor of the tenant.
    statements: [
      "alter table replay rename to old_replay",
      `create table replay (namespace_id text not null, actor text not null, kind text not null, scope text not null,
         id text not null, fingerprint text not null, host_id integer not null, result text, finished_at text,
         primary key (namespace_id, actor, kind, scope, id))`,
      `insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, result, finished_at)
         select namespace_id, '', kind, scope, id, fingerprint, host_id, result, finished_at from old_replay`,
      "drop table old_replay",
      "create index replay_by_age on replay (finished_at)",
      markRevoked,
    ],
  },
  {
    name: "0007-limits",
    allowsPrevious: true,
    // An old question has no requester: it does not count against anybody.
    statements: [
      "create table heartbeats (host_id integer not null, content text not null)",
      `create table running_turns (id text primary key, host_id integer not null, namespace_id text not null,
         credential_id text not null)`,
      "alter table escalations add column requester text not null default ''",
      `create index escalations_open on escalations (namespace_id, requester, expires_at)
         where status = 'pending'`,
    ],
  },
  {
    name: "0008-replay-claims",
    allowsPrevious: false,
    // An old row has an empty claim: it counts as before, and no claim made since can change it.
    statements: ["alter table replay add column claim text not null default ''"],
  },
  {
    name: "0009-audit-strands",
    allowsPrevious: false,
    // One process has the file at a time, and goes on with the one strand there is.
    statements: [
      "alter table audit_heads add column strand integer not null default 0",
      "alter table audit add column strand integer not null default 0",
      "create index audit_by_time on audit (namespace_id, at, strand, sequence)",
    ],
  },
  {
    name: "0010-read-indexes",
    allowsPrevious: true,
    // Every filter that operators have is an index that also has the order of the list. Most audit rows are allowed,
    // checked or invoked: those are found by time, and only the others are in the indexes of outcomes and types.
    statements: [
      "alter table grants add column parent_id text",
      fillParents,
      "create index grants_by_subject on grants (namespace_id, subject, id)",
      "create index grants_by_issuer on grants (namespace_id, issuer, id)",
      "create index grants_by_parent on grants (namespace_id, parent_id, id) where parent_id is not null",
      "create index credentials_by_tenant on credentials (namespace_id, id)",
      "create index escalations_by_status on escalations (namespace_id, status, id)",
      "create index escalations_by_end on escalations (expires_at) where status = 'pending'",
      "drop index audit_by_trace",
      "create index audit_by_trace on audit (namespace_id, trace_id, at, strand, sequence)",
      "create index audit_by_actor on audit (namespace_id, actor, at, strand, sequence)",
      `create index audit_by_outcome on audit (namespace_id, outcome, at, strand, sequence)
         where outcome <> 'allowed' and outcome <> 'succeeded'`,
      `create index audit_by_type on audit (namespace_id, type, at, strand, sequence)
         where type <> 'authorization.checked' and type <> 'tool.invoked'`,
      // The key has no strand here: rows of another one, which no host writes, are found by this.
      "create index audit_by_strand on audit (namespace_id, strand, sequence) where strand > 0",
    ],
  },
  {
    name: "0011-retention",
    allowsPrevious: false,
    // What was kept before counts as the result of a write. An open claim has no result yet, and a result is found by its age.
    statements: [
      "alter table replay add column is_read integer not null default 0",
      "drop index replay_by_age",
      "create index replay_results on replay (is_read, kind, finished_at) where result is not null",
      "create index replay_open on replay (host_id) where finished_at is null",
      "create index messages_acknowledged on messages (acknowledged_at) where acknowledged_at is not null",
      "create index escalations_by_expiry on escalations (expires_at)",
      "create table retention_clock (id integer primary key, at text not null)",
      `create table audit_anchors (namespace_id text not null, strand integer not null, content text not null,
         primary key (namespace_id, strand))`,
      "create table deleted_tenants (namespace_id text primary key, content text not null, finished_at text)",
    ],
  },
  {
    name: "0012-turns",
    allowsPrevious: false,
    // A list has an index for each of its filters that also has its order. What runs, what waits and what ended without being
    // forgotten is few of what there is: those indexes are partial.
    statements: [
      `create table turns (id text primary key, namespace_id text not null, actor text not null, execution_id text not null,
         fingerprint text not null, is_async integer not null, status text not null, host_id integer,
         run integer not null, is_cancelled integer not null default 0, is_refused integer not null default 0,
         is_forgotten integer not null default 0, question_id text, question_expires_at text, heading text not null,
         content text, waiting text, result text, steps integer not null, tool_calls integer not null,
         ran_ms bigint not null, entries integer not null, events integer not null, started_at text not null,
         updated_at text not null, completed_at text)`,
      "create unique index turns_by_key on turns (namespace_id, execution_id, actor)",
      "create index turns_of_actor on turns (namespace_id, actor, id)",
      "create index turns_of_actor_by_status on turns (namespace_id, actor, status, id)",
      "create index turns_of_tenant on turns (namespace_id, id)",
      "create index turns_of_tenant_by_status on turns (namespace_id, status, id)",
      "create index turns_by_status on turns (status, id)",
      "create index turns_running on turns (host_id) where status = 'running'",
      "create index turns_waiting on turns (namespace_id, question_id) where question_id is not null",
      "create index turns_by_expiry on turns (question_expires_at) where question_expires_at is not null",
      "create index turns_ended on turns (completed_at) where completed_at is not null and is_forgotten = 0",
      `create table turn_entries (turn text not null, position integer not null, kind text not null, sequence integer,
         content text not null, primary key (turn, position))`,
      moveTurns,
    ],
  },
  {
    name: "0013-permits",
    allowsPrevious: false,
    // What was said last about an act is found by its hash. Permits are found by what they are for until they lapse, and only
    // an escalation that somebody said yes to has one.
    statements: [
      "alter table escalations add column place text",
      "alter table escalations add column permit_expires_at text",
      "create index escalations_by_ask on escalations (namespace_id, ask, id)",
      `create index escalations_permits on escalations (namespace_id, place, permit_expires_at)
         where permit_expires_at is not null`,
    ],
  },
  {
    name: "0014-turn-questions",
    allowsPrevious: false,
    // A turn may wait for several questions. The columns of one question stay, empty: taking them out would write every turn anew.
    statements: [
      `create table turn_questions (turn text not null, place integer not null, namespace_id text not null,
         question_id text not null, expires_at text not null, content text not null, primary key (turn, place))`,
      "create index turn_questions_by_id on turn_questions (namespace_id, question_id)",
      "create index turn_questions_by_expiry on turn_questions (expires_at)",
      `insert into turn_questions (turn, place, namespace_id, question_id, expires_at, content)
         select id, 0, namespace_id, question_id, question_expires_at, waiting from turns
         where question_id is not null and question_expires_at is not null and waiting is not null`,
      "drop index turns_waiting",
      "drop index turns_by_expiry",
      "update turns set question_id = null, question_expires_at = null where question_id is not null",
    ],
  },
  {
    name: "0015-outbox",
    allowsPrevious: true,
    // An escalation counts as told of once its row says that it expired: those of the past are not told of any more.
    statements: [
      `create table outbox (id integer primary key autoincrement, webhook text not null, message text not null,
         namespace_id text not null, type text not null, content text not null, created_at text not null,
         due_at text not null, attempts integer not null default 0)`,
      "create index outbox_by_webhook on outbox (webhook, id)",
      "create index outbox_by_type on outbox (type, webhook)",
      "create index outbox_by_tenant on outbox (namespace_id)",
      "create index outbox_by_age on outbox (created_at)",
      `update escalations set status = 'expired'
         where status = 'pending' and expires_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`,
    ],
  },
  {
    name: "0016-mcp-pins",
    allowsPrevious: false,
    // The servers are the host's and belong to no tenant.
    statements: [
      `create table mcp_pins (server text not null, tool text not null, hash text not null, definition text not null,
         pinned_at text not null, pinned_by text not null, primary key (server, tool))`,
    ],
  },
  {
    name: "0017-sessions",
    allowsPrevious: true,
    // Of secrets there are hashes alone. Both name the credential, and the hash of the secret that it had then.
    statements: [
      `create table sessions (id text primary key, secret_hash text not null, credential_id text not null,
         credential_hash text not null, created_at text not null, expires_at text not null)`,
      "create index sessions_by_expiry on sessions (expires_at)",
      `create table one_time_codes (id text primary key, secret_hash text not null, credential_id text not null,
         credential_hash text not null, expires_at text not null, used_at text)`,
      "create index one_time_codes_by_expiry on one_time_codes (expires_at)",
    ],
  },
  {
    name: "0018-credential-actors",
    allowsPrevious: false,
    // Who acts with the credentials of a tenant is listed by this, whatever their number.
    statements: [
      "alter table credentials add column actor text not null default ''",
      fillActors,
      "create index credentials_by_actor on credentials (namespace_id, actor)",
    ],
  },
  {
    name: "0019-credential-certificates",
    allowsPrevious: false,
    // A certificate may stand for its credential alone, so it is found by its names.
    statements: [
      "alter table credentials add column certificate text",
      "create index credentials_by_certificate on credentials (certificate)",
    ],
  },
  {
    name: "0020-grant-ends",
    allowsPrevious: false,
    // Whatever an actor has held over the years, a call reads what has not ended.
    statements: [
      "alter table grants add column ends_at text not null default 'never'",
      fillEnds,
      "drop index grants_by_holder",
      "create index grants_by_holder on grants (namespace_id, subject, issuer, ends_at)",
    ],
  },
  {
    name: "0021-shared-entry-rows",
    allowsPrevious: false,
    // A row of turn_entries may have several entries. No table changes; a version that would not understand them stays away.
    statements: [],
  },
  {
    name: "0022-session-halves",
    allowsPrevious: false,
    // A session is two secrets, of which a browser's page keeps one; whoever began one before signs in again. A credential knows
    // when it was last used, and its sessions and the grants that were made with it are found by it.
    statements: [
      "delete from sessions",
      "alter table sessions add column page_hash text not null default ''",
      "create index sessions_by_credential on sessions (credential_id)",
      "alter table credentials add column last_used_at text",
      `create table grant_makers (namespace_id text not null, grant_id text not null, credential_id text not null,
         primary key (namespace_id, grant_id))`,
      "create index grant_makers_by_credential on grant_makers (credential_id, namespace_id, grant_id)",
    ],
  },
  {
    name: "0023-answers",
    allowsPrevious: false,
    // What was answered with a credential is found by it, and acts that wait by the grant that carries them, which may be gone.
    statements: [
      `create table escalation_answers (credential_id text not null, namespace_id text not null,
         escalation_id text not null, primary key (credential_id, namespace_id, escalation_id))`,
      "create index escalation_answers_by_escalation on escalation_answers (namespace_id, escalation_id)",
      "alter table escalations add column grant_id text",
      fillAnswers,
      "create index escalations_carried on escalations (namespace_id, grant_id) where status = 'pending'",
    ],
  },
  {
    name: "0024-open-turns",
    allowsPrevious: false,
    // What an actor's turns that have not ended hold, and what a sender has in an inbox, are counted by an index alone.
    statements: [
      "alter table turns add column bytes integer not null default 0",
      `update turns set bytes = length(cast(heading as blob)) + length(cast(coalesce(content, '') as blob))
         where completed_at is null`,
      "create index turns_open on turns (namespace_id, actor, bytes) where completed_at is null",
      "create index messages_waiting_by_sender on messages (namespace_id, receiver, sender) where acknowledged_at is null",
    ],
  },
  {
    name: "0025-webhook-history",
    allowsPrevious: true,
    // What webhooks were told, or were not in the end, is kept for a while. A message that was tried says what came of it, and the
    // messages of a tenant are listed, the newest first.
    statements: [
      "alter table outbox add column last_error text",
      "drop index outbox_by_tenant",
      "create index outbox_by_tenant on outbox (namespace_id, id)",
      "create index outbox_tried on outbox (namespace_id, id) where attempts > 0",
      "create index outbox_by_message on outbox (message)",
      `create table webhook_history (id integer primary key autoincrement, webhook text not null, message text not null,
         namespace_id text not null, type text not null, content text not null, created_at text not null,
         state text not null, attempts integer not null, last_error text, finished_at text not null)`,
      "create index webhook_history_by_tenant on webhook_history (namespace_id, id)",
      "create index webhook_history_by_state on webhook_history (namespace_id, state, id)",
      "create index webhook_history_by_webhook on webhook_history (webhook, namespace_id, state, id)",
      "create index webhook_history_by_message on webhook_history (message)",
      "create index webhook_history_by_age on webhook_history (finished_at)",
    ],
  },
  {
    name: "0026-withdrawn-tools",
    allowsPrevious: false,
    // A pinned tool that its server lists with another definition says which one, and since when.
    statements: [
      "alter table mcp_pins add column withdrawn_hash text",
      "alter table mcp_pins add column withdrawn_at text",
      "create index mcp_pins_withdrawn on mcp_pins (server, tool) where withdrawn_at is not null",
    ],
  },
  {
    name: "0027-closed-questions",
    allowsPrevious: false,
    // A question ends with the credential that it was asked with, with the grant that carries it and with its turn, and says so.
    statements: [
      "alter table escalations add column credential_id text",
      "alter table escalations add column execution_id text",
      "alter table escalations add column closed text",
      "create index escalations_asked_with on escalations (credential_id) where status = 'pending'",
      "create index escalations_of_turn on escalations (namespace_id, execution_id) where status = 'pending'",
    ],
  },
  {
    name: "0028-tried-turns",
    allowsPrevious: true,
    // Turns that operators try, and that have not ended, are found without looking at those of agents. A heading has this text only
    // as the key: within a string the quotation marks of JSON are escaped.
    statements: [`create index turns_tried on turns (id) where completed_at is null and heading like '%"triedBy":%'`],
  },
  {
    name: "0029-host-leases",
    allowsPrevious: false,
    // One host has the file, and holds a lock on it. PostgreSQL gets a table.
    statements: [],
  },
  {
    name: "0030-host-beats",
    allowsPrevious: true,
    // One host has the file, and need not beat. The columns are those of PostgreSQL.
    statements: [
      "alter table hosts add column beat_at real",
      "alter table hosts add column beats_since real",
      "alter table hosts add column ended_at real",
    ],
  },
  {
    name: "0031-schema-epoch",
    allowsPrevious: true,
    // One row: the number of the newest migration, and the lowest one whose version may serve. 0029 is the newest so far whose
    // version may not have the one before it beside it. A host says on its row which version it is, and that it has nothing under way.
    statements: [
      "create table schema_epoch (epoch integer not null, lowest integer not null)",
      "insert into schema_epoch (epoch, lowest) values (0, 29)",
      "alter table hosts add column epoch integer",
      "alter table hosts add column drained_at real",
    ],
  },
  {
    name: "0032-database-gaps",
    // A host of an earlier version would take ids, and resume turns, on a database that lost rows.
    allowsPrevious: false,
    // A database that lost rows which were acknowledged says so to every host, until an operator accepts it. Its open turns end.
    statements: [
      `create table database_gaps (id text primary key, host_id integer not null, noticed_at text not null,
         content text not null, accepted_at text)`,
      "create index database_gaps_open on database_gaps (id) where accepted_at is null",
      "alter table turns add column is_interrupted integer not null default 0",
    ],
  },
  {
    name: "0033-acts",
    // A host of the version before serves no acts, and touches neither the rows nor the claims of them.
    allowsPrevious: true,
    // What began under the key of an act last. A claim of kind `act` in `replay` makes it unique, and one of kind `outcome` the outcome.
    statements: [
      `create table acts (namespace_id text not null, actor text not null, scope text not null, id text not null,
         nonce text not null, fingerprint text not null, expires_at text not null, content text not null,
         status text, outcome text, completed_at text, is_late integer not null default 0,
         primary key (namespace_id, actor, scope, id))`,
      "create index acts_outcomes on acts (completed_at) where outcome is not null",
    ],
  },
  {
    name: "0034-invariants",
    // A host of the version before would issue grants that break rules.
    allowsPrevious: false,
    // Rules about the grants of a tenant; with an empty `namespace_id`, which no tenant has, about those of every tenant.
    statements: [
      "create table invariants (namespace_id text not null, id text not null, content text not null, primary key (namespace_id, id))",
    ],
  },
  {
    name: "0035-people",
    // An earlier version would begin sessions with codes that another browser was given, and write questions without their authority.
    allowsPrevious: false,
    // Those who sign in with an identity provider have a credential without a token, and sessions that the provider may end. What
    // counts once, such as the answer to a sign-in, is remembered until it would be refused as too old.
    statements: [
      `create table people (id text primary key, kind text not null, issuer text not null, provider_subject text not null,
         namespace_id text not null, principal text not null, name text, credential_id text not null,
         created_at text not null, signed_in_at text not null)`,
      "create unique index people_by_subject on people (issuer, provider_subject, kind, namespace_id)",
      "create unique index people_by_principal on people (namespace_id, principal)",
      "create index people_by_credential on people (credential_id)",
      "create index people_by_tenant on people (namespace_id, id)",
      "create table used_once (id text primary key, expires_at text not null)",
      "create index used_once_by_expiry on used_once (expires_at)",
      "alter table sessions add column provider_session text",
      "create index sessions_by_provider on sessions (provider_session) where provider_session is not null",
      "alter table one_time_codes add column browser_hash text",
      "alter table one_time_codes add column provider_session text",
      "create index one_time_codes_by_credential on one_time_codes (credential_id)",
      "create index one_time_codes_by_provider on one_time_codes (provider_session) where provider_session is not null",
      "alter table escalations add column authority text",
      `update escalations set authority = 'human:' || json_extract(content, '$.authority.userId')
         where status = 'pending' and json_extract(content, '$.authority.kind') = 'human'`,
      "create index escalations_by_authority on escalations (namespace_id, authority, id) where status = 'pending'",
    ],
  },
  {
    name: "0036-waiting-acts",
    // A host of the version before would leave the rows of a tenant that it deletes.
    allowsPrevious: false,
    // The request hash of the act that waited for a person last under the key of an act. Whether it still does, its escalation says.
    statements: [
      `create table waiting_acts (namespace_id text not null, actor text not null, scope text not null, id text not null,
         ask text not null, asked_at text not null, primary key (namespace_id, actor, scope, id))`,
      "create index waiting_acts_by_age on waiting_acts (asked_at)",
    ],
  },
  {
    name: "0037-connections",
    // An earlier version would admit the token of a connection that is over.
    allowsPrevious: false,
    // Clients that registered themselves, what they ask for until a person answers, and what came of it: a connection, its codes and
    // its tokens. A token of a connection ends before its credential does.
    statements: [
      "alter table credentials add column token_expires_at text",
      `create table oauth_clients (id text primary key, name text not null, redirect_uris text not null,
         created_at text not null, used_at text)`,
      "create index oauth_clients_unused on oauth_clients (created_at) where used_at is null",
      `create table authorization_requests (id text primary key, namespace_id text not null, secret_hash text not null,
         credential_id text not null, credential_hash text not null, content text not null, expires_at text not null)`,
      "create index authorization_requests_by_expiry on authorization_requests (expires_at)",
      `create table connections (id text primary key, namespace_id text not null, principal text not null,
         credential_id text not null, client_id text not null, client_name text not null, redirect text not null,
         purpose text not null, created_at text not null, changed_at text not null, ended_at text)`,
      `create unique index connections_by_client on connections (namespace_id, principal, client_id, redirect)
         where ended_at is null`,
      "create index connections_by_tenant on connections (namespace_id, id)",
      `create table authorization_codes (id text primary key, namespace_id text not null, connection_id text not null,
         secret_hash text not null, content text not null, expires_at text not null, used_at text)`,
      "create index authorization_codes_by_expiry on authorization_codes (expires_at)",
      "create index authorization_codes_by_connection on authorization_codes (connection_id)",
      `create table connection_tokens (credential_id text primary key, namespace_id text not null, connection_id text not null,
         client_id text not null, resource text not null, family_hash text not null, secret_hash text not null,
         noted_at text not null, expires_at text not null)`,
      "create index connection_tokens_by_expiry on connection_tokens (expires_at)",
      "create index connection_tokens_by_connection on connection_tokens (connection_id)",
    ],
  },
  {
    name: "0038-session-ends",
    // A host of the version before would begin sessions that outlive the identity provider's.
    allowsPrevious: false,
    // When the identity provider's session ends, which a session here does not outlive.
    statements: ["alter table one_time_codes add column session_ends_at text"],
  },
  // The next one comes here, under the next number, in both lists; frozen.test.ts gets its line.
];
