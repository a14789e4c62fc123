import { sql, type Transaction } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseKinds } from "../../test/databases.ts";
import { openPlanned, type PlannedDatabase } from "../../test/query-plans.ts";
import { access, alice, assistant, auditEvent, context, grant, neverAborted, now, scope } from "../../test/records.ts";
import { signedIn } from "../../test/admin-rows.ts";
import { connectedTokens, exchangeOf } from "../../test/connections.ts";
import { envelope } from "../../test/counting-api.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnKey, turnToBegin } from "../../test/turn-journals.ts";
import { removeOldEscalations } from "../retention/old-escalations.ts";
import { createEscalationClosing, type EscalationClosing } from "../escalations/index.ts";
import type { Identity } from "../people/index.ts";
import { openOutbox, type Webhook } from "../webhooks/index.ts";
import { forgetEndedTurns } from "../retention/old-turns.ts";
import type { Database, Schema } from "../storage/index.ts";
import { ChosenDriver } from "../storage/sqlite/choose-driver.ts";
import type { GrantScope } from "turnpike/kernel";
import { requireRoom } from "../turns/journal/open-turns.ts";
import { newTurnRow } from "../turns/journal/turn-rows.ts";
import { openStores, type Stores } from "./stores.ts";

type AuditFilter = Omit<Parameters<Stores["audit"]["list"]>[1], "limit">;

const tenant = "tenant-1";
const place = { at: "2026-01-01T11:30:00.000Z", strand: 0, sequence: 9 };
const times = { from: "2026-01-01T11:00:00.000Z", until: now };

/** So many rows, with `i` from 1 on. */
const series = (count: number) =>
  sql`(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)}) select i from n) as n`;
const content = JSON.stringify({ ...grant("grant-1"), filling: "x".repeat(200) });

/** A rule about grants. */
const apart = { id: "rule", separate: { acts: [{ resource: "crm" }, { resource: "payroll" }] } };

const heading = JSON.stringify({
  executionId: "turn-1",
  traceId: "trace-1",
  agent: assistant,
  actor: "agent:assistant",
});
const triedHeading = JSON.stringify({
  ...(JSON.parse(heading) as object),
  triedBy: { actor: alice, credential: "operator-1" },
});
/** Of a hundred turns, two run and one waits. */
const turnStatus = sql`case when i % 100 < 2 then 'running' when i % 100 = 2 then 'waiting' when i % 100 < 10 then 'failed'
  when i % 100 < 11 then 'cancelled' else 'succeeded' end`;

/** Rows enough for PostgreSQL to prefer an index that is there. SQLite plans without reading them. */
/** Closes escalations in a transaction. */
const closing =
  (close: (closed: EscalationClosing, transaction: Transaction<Schema>) => Promise<unknown>) =>
  (_stores: Stores, { db }: Database): Promise<unknown> =>
    db.transaction().execute((transaction) => close(createEscalationClosing(), transaction));

async function fill({ db, kind }: Database): Promise<void> {
  const at = sql`'2026-01-01T' || substr(cast(100000 + i as text), 2, 2) || ':00:00.000Z'`;
  for (const filling of [
    sql`insert into audit (namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash)
      select case when i % 20 = 0 then 'tenant-' || i % 100 else 'tenant-1' end, 0, i, 'event-' || i,
        case when i % 100 = 0 then 'turn.ended' when i % 2 = 0 then 'tool.invoked' else 'authorization.checked' end,
        case when i % 100 = 1 then 'denied' else 'allowed' end, ${at}, 'agent:agent-' || i % 200, 'trace-' || i / 4,
        ${content}, 'hash' from ${series(30_000)}`,
    sql`insert into audit_heads (namespace_id, strand, sequence, hash)
      select 'tenant-' || i, 0, 30000, 'hash' from ${series(20_000)}`,
    sql`insert into grants (namespace_id, id, subject, issuer, parent_id, ends_at, content)
      select 'tenant-1', 'grant-' || i, 'agent:agent-' || i % 500, 'human:user-' || i % 100,
        case when i % 20 = 0 then 'grant-' || (i - 1) end, case when i % 3 = 0 then 'never' else ${at} end, ${content}
      from ${series(10_000)}`,
    sql`insert into invariants (namespace_id, id, content)
      select 'tenant-' || (i % 500), 'rule-' || i, ${JSON.stringify(apart)} from ${series(5000)}`,
    sql`insert into uses (namespace_id, grant_id, used) select 'tenant-1', 'grant-' || i, 1 from ${series(60_000)}`,
    sql`insert into contents (namespace_id, owner, digest, content)
      select 'tenant-1', 'human:alice', 'digest-' || i, ${content} from ${series(5000)}`,
    sql`insert into files (namespace_id, owner, shelf, path, path_key, path_start, version, size, digest, updated_at)
      select 'tenant-1', 'human:alice', 'shelf', 'file-' || i, 'key-' || i, 'file-' || i, 1, 9, 'digest-' || i, ${now}
      from ${series(5000)}`,
    sql`insert into credentials (id, namespace_id, secret_hash, access, actor, created_at)
      select 'credential-' || i, 'tenant-' || i % 50, 'hash', ${JSON.stringify(access)}, 'agent:agent-' || i % 100, ${now}
      from ${series(10_000)}`,
    sql`insert into escalations (namespace_id, id, ask, requester, status, expires_at, place, permit_expires_at, content,
        grant_id, credential_id, execution_id, authority)
      select 'tenant-1', 'q' || i, 'ask-' || i, 'agent:agent-' || i % 200,
        case i % 100 when 0 then 'pending' when 1 then 'approved' when 2 then 'denied' else 'expired' end,
        ${at}, case when i % 2 = 0 then 'place-' || i % 100 end, case when i % 100 = 1 then ${at} end, ${content},
        'grant-' || i, 'credential-' || i, 'turn-' || i, 'human:user-' || (i % 1000)
      from ${series(10_000)}`,
    sql`insert into escalation_answers (credential_id, namespace_id, escalation_id)
      select 'operator-1', namespace_id, id from escalations`,
    sql`insert into grant_makers (namespace_id, grant_id, credential_id)
      select namespace_id, id, 'operator-' || length(id) from grants`,
    sql`insert into sessions (id, secret_hash, credential_id, credential_hash, created_at, expires_at, provider_session)
      select 'session-' || i, 'hash', 'credential-' || i % 500, 'hash', ${at}, '2026-01-02', 'provider-' || i
      from ${series(10_000)}`,
    sql`insert into one_time_codes (id, secret_hash, credential_id, credential_hash, expires_at, provider_session)
      select 'code-' || i, 'hash', 'credential-' || i % 500, 'hash', ${at}, 'provider-' || i from ${series(10_000)}`,
    sql`insert into people (id, kind, issuer, provider_subject, namespace_id, principal, credential_id, created_at, signed_in_at)
      select 'person-' || i, 'person', 'https://id.example', 'subject-' || i, 'tenant-' || (i % 50), 'human:user-' || i,
        'credential-' || i, ${at}, ${at} from ${series(10_000)}`,
    sql`insert into waiting_acts (namespace_id, actor, scope, id, ask, asked_at)
      select 'tenant-' || (i % 50), 'agent:agent-' || (i % 200), 'trace trace-' || i, 'act-' || i, 'ask-' || i, ${at}
      from ${series(10_000)}`,
    sql`insert into oauth_clients (id, name, redirect_uris, created_at, used_at)
      select 'client-' || i, 'Editor', '[]', ${at}, case when i % 2 = 0 then ${at} end from ${series(5_000)}`,
    sql`insert into authorization_requests (id, namespace_id, secret_hash, credential_id, credential_hash, content, expires_at)
      select 'request-' || i, 'tenant-7', 'hash', 'credential-7', 'hash', '{}', ${at} from ${series(10_000)}`,
    sql`insert into connections (id, namespace_id, principal, credential_id, client_id, client_name, redirect, purpose,
        created_at, changed_at)
      select 'connection-' || i, 'tenant-' || (i % 50), 'human:user-' || i, 'credential-' || i, 'client-' || i % 500, 'Editor',
        'http://127.0.0.1/callback', 'work', ${at}, ${at} from ${series(10_000)}`,
    sql`insert into authorization_codes (id, namespace_id, connection_id, secret_hash, content, expires_at)
      select 'code-' || i, 'tenant-7', 'connection-' || i % 5000, 'hash', '{}', ${at} from ${series(10_000)}`,
    sql`insert into connection_tokens (credential_id, namespace_id, connection_id, client_id, resource, family_hash, secret_hash,
        noted_at, expires_at)
      select 'credential-' || i, 'tenant-7', 'connection-' || i, 'client-7', 'r', 'hash', 'hash', ${at}, ${at}
      from ${series(10_000)}`,
    sql`insert into used_once (id, expires_at) select 'answer-' || i, ${at} from ${series(10_000)}`,
    sql`insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, finished_at)
      select 'tenant-1', 'agent:agent-' || i % 200, 'tool', 'trace-' || i / 4, 'call-' || i, 'print', 1,
        case when i % 4 = 0 then null else ${at} end from ${series(20_000)}`,
    sql`insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, host_id, run,
        heading, content, waiting, result, steps, tool_calls, ran_ms, entries, events, started_at,
        updated_at, completed_at)
      select 't' || (100000 + i), case when i % 20 = 0 then 'tenant-' || (i % 100) else 'tenant-1' end,
        'agent:agent-' || (i % 200), 'turn-' || (i / 2), 'print', 1, ${turnStatus},
        case when i % 200 = 0 then i % 7 when i % 200 = 1 then null end, 1,
        case when i % 1000 = 1 then ${triedHeading} else ${heading} end, ${content}, null,
        case when i % 100 > 2 then '{}' end, 0, 0, 0, 2, 2, ${at}, ${at}, case when i % 100 > 2 then ${at} end
      from ${series(20_000)}`,
    sql`insert into turn_questions (turn, place, namespace_id, question_id, expires_at, content)
      select 't' || (100000 + i), 0, case when i % 20 = 0 then 'tenant-' || (i % 100) else 'tenant-1' end,
        case when i % 100 = 2 then 'q' else 'open' end || i, ${at}, '{"callId":"call-1"}' from ${series(20_000)}`,
    sql`insert into turn_entries (turn, position, kind, sequence, content)
      select 't' || (100000 + (i + 1) / 2), i % 2, 'event', i % 2, '{}' from ${series(40_000)}`,
    sql`insert into messages (namespace_id, receiver, sequence, sender, id, content, received_at)
      select 'tenant-1', 'agent:agent-' || (i % 200), i, 'human:user-' || (i % 100), 'message-' || (i / 100), ${content}, ${at}
      from ${series(20_000)}`,
    sql`insert into inboxes (namespace_id, receiver, sequence, unacknowledged)
      select 'tenant-1', 'agent:agent-' || i, 20000, 100 from ${series(5000)}`,
    sql`insert into outbox (webhook, message, namespace_id, type, content, created_at, due_at)
      select 'hook-' || (i % 16), 'msg_' || i, 'tenant-' || (i % 50),
        case when i % 10 = 0 then 'escalation.opened' else 'decision.denied' end, ${content}, ${at}, ${at}
      from ${series(20_000)}`,
    sql`insert into webhook_history (webhook, message, namespace_id, type, content, created_at, state, attempts, finished_at)
      select 'hook-' || (i % 16), 'old_' || i, 'tenant-' || (i % 50), 'decision.denied', ${content}, ${at},
        case when i % 100 = 0 then 'failed' else 'delivered' end, 1, ${at}
      from ${series(20_000)}`,
    sql`insert into mcp_pins (server, tool, hash, definition, pinned_at, pinned_by, withdrawn_hash, withdrawn_at)
      select 'server-' || (i % 50), 'tool-' || i, 'hash', ${content}, ${at}, 'service:host',
        case when i % 500 = 1 then 'other' end, case when i % 500 = 1 then ${at} end from ${series(5000)}`,
  ])
    await filling.execute(db);
  if (kind === "postgres") await analyze(db);
}

/** One table after the other, because a statement of a host that takes long is given up. */
async function analyze(db: Database["db"]): Promise<void> {
  const { rows } = await sql<{
    name: string;
  }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db);
  for (const { name } of rows) await sql`vacuum analyze ${sql.table(name)}`.execute(db);
}

interface Row {
  name: string;
  run(stores: Stores, database: Database): Promise<unknown>;
  /** By which indexes the rows are found; on PostgreSQL by others where its planner has more to choose from. */
  plan: string[];
  /** With the newer SQLite that Node has, where it takes another index that is as good. */
  onNodesSqlite?: string[];
  onPostgres?: string[];
}

const agent = { kind: "agent", agentId: "agent-7" } as const;
const user = { kind: "human", userId: "user-7" } as const;
const key = { namespaceId: tenant, actor: "agent:agent-1", kind: "tool", scope: "trace-1", id: "call-4" } as const;
const held = { ...scope, actor: agent, authority: user };

const request = { action: "read", resource: { namespace: "files", path: ["notes"] } };
const act = { kind: "tool", tool: "files.read", arguments: { path: "notes" } } as const;

const noLimit = { turns: Infinity, bytes: Infinity };
const webhook = { key: "hook-1" } as Webhook;
const turnOf = { ...turnKey(tenant, "turn-3"), actor: agent };

/** A user of the provider, who has signed in before or not. */
function signingIn(subject: string): Identity {
  const principal = { kind: "human", userId: subject.replace("subject", "user") } as const;
  return {
    kind: "person",
    issuer: "https://id.example",
    providerSubject: subject,
    namespaceId: "tenant-7",
    principal,
    name: undefined,
    access: { actor: principal, owner: principal, purposes: ["work"], signedIn: true },
    holds: undefined,
  };
}

/** What finds the rows of a connection, from the sign-in to its end. */
const connectionPlan = [
  "authorization_codes_pkey",
  "authorization_requests_pkey",
  "connection_tokens_by_connection",
  "connection_tokens_pkey",
  "connections_by_client",
  "connections_pkey",
  "credentials_pkey",
  "escalations_asked_with",
  "escalations_carried",
  "grants_by_holder",
  "grants_by_parent",
  "grants_by_subject",
  "grants_pkey",
  "invariants_pkey",
  "namespace_settings_pkey",
  "oauth_clients_pkey",
  "one_time_codes_pkey",
  "people_by_credential",
  "people_by_principal",
  "people_by_subject",
  "people_pkey",
];

const connectionPlanOnPostgres = [
  "authorization_codes_pkey",
  "authorization_requests_by_expiry",
  "connection_tokens_by_connection",
  "connection_tokens_pkey",
  "connections_by_tenant",
  "connections_pkey",
  "credentials_pkey",
  "escalations_asked_with",
  "escalations_carried",
  "grants_by_holder",
  "grants_by_parent",
  "invariants_pkey",
  "oauth_clients_pkey",
  "one_time_codes_pkey",
  "people_by_credential",
  "people_by_tenant",
  "people_pkey",
];

/** What calls do, by what they read or write. */
const calls: Row[] = [
  {
    name: "a person who signs in again",
    run: ({ people }) => people.enter(signingIn("subject-7"), now),
    plan: ["credentials_pkey", "people_by_subject", "people_pkey"],
  },
  {
    name: "a person who signs in for the first time",
    run: ({ people }) => people.enter(signingIn("subject-new"), now),
    plan: ["credentials_pkey", "people_by_principal", "people_by_subject"],
  },
  {
    name: "a person by their name, and by their credential",
    async run({ people }) {
      await people.find("tenant-7", user);
      await people.findBy("credential-8");
    },
    plan: ["credentials_pkey", "people_by_credential", "people_by_principal"],
  },
  {
    name: "the credentials of a provider's user",
    run: ({ people }) => people.credentialsOf("https://id.example", "subject-9"),
    plan: ["people_by_subject"],
  },
  {
    name: "a person who may sign in again",
    async run({ people, credentials }) {
      await credentials.revoke("credential-57", now);
      await people.restore("person-57");
    },
    plan: ["credentials_pkey", "escalations_asked_with", "people_pkey"],
  },
  {
    name: "a client that registers, and one that is known",
    async run({ clients }) {
      await clients.register({ name: "New", redirectUris: ["http://127.0.0.1/callback"] }, now);
      await clients.find("client-7");
    },
    plan: ["in the order of oauth_clients_pkey", "oauth_clients_pkey"],
    // All of them are counted, and there are 10,000 at most.
    onPostgres: ["all of oauth_clients", "oauth_clients_pkey"],
  },
  {
    name: "what a client asks a person for",
    async run({ connections }) {
      await connections.findRequest("request-7", "secret", new Date(now));
      await connections.cancel("request-8");
    },
    plan: ["authorization_requests_pkey"],
  },
  {
    name: "a consent, a code and tokens",
    async run(stores) {
      const person = await signedIn(stores, "tenant-99");
      const { tokens, code } = await connectedTokens(stores, person, "client-7");
      await stores.connections.refresh({ token: tokens.refreshToken, clientId: "client-7" }, new Date(now));
      await stores.connections.exchange(exchangeOf(code, "client-7"), new Date(now));
    },
    plan: connectionPlan,
    onPostgres: connectionPlanOnPostgres,
  },
  {
    name: "a token that a client revokes",
    async run(stores) {
      const person = await signedIn(stores, "tenant-98");
      const { tokens } = await connectedTokens(stores, person, "client-8");
      await stores.connections.revokeToken(tokens.accessToken, "client-8", new Date(now));
    },
    plan: connectionPlan,
    onPostgres: connectionPlanOnPostgres,
  },
  {
    name: "sessions that a provider ends",
    run: ({ sessions }) =>
      sessions.endOfProvider({ providerSession: "provider-1", credentialIds: ["credential-1", "credential-2"] }),
    plan: [
      "one_time_codes_by_credential",
      "one_time_codes_by_provider",
      "sessions_by_credential",
      "sessions_by_provider",
    ],
  },
  {
    name: "what counts once",
    run: ({ people }) => people.isFirst("answer-1", new Date(now)),
    plan: [],
  },
  {
    name: "escalations that would use the authority of a person",
    run: ({ escalations }) => escalations.listAsked(tenant, user, { now: "2026-01-01T00:00:00.000Z", limit: 9 }),
    plan: ["escalations_by_authority"],
  },
  {
    name: "the grants of an actor",
    run: ({ grants }) => grants.load(held, neverAborted),
    plan: ["grants_by_holder", "sorted"],
  },
  {
    name: "the grants of an actor, of any issuer",
    run: ({ grants }) => grants.load({ ...held, authority: undefined } as unknown as GrantScope, neverAborted),
    plan: ["grants_by_subject", "sorted"],
    onPostgres: ["grants_by_holder", "sorted"],
  },
  {
    name: "the grants of an actor at an instant that has passed",
    run: ({ grants }) => grants.loadStored(held),
    plan: ["grants_by_holder", "sorted"],
  },
  { name: "a grant", run: ({ grants }) => grants.find(tenant, "grant-1"), plan: ["grants_pkey"] },
  {
    name: "a credential",
    run: ({ credentials }) => credentials.isValidAt("credential-1", new Date(now)),
    plan: ["credentials_pkey"],
  },
  {
    name: "whose a certificate is",
    run: ({ credentials }) =>
      credentials.verifyCertificate({ names: ["sha256:0", "uri:a", "dns:b"], validUntil: Infinity }, new Date(now)),
    plan: ["credentials_by_certificate"],
  },
  {
    name: "a claim",
    run: ({ replay }) => replay.begin({ ...key, id: "new" }, "print"),
    plan: ["replay_pkey"],
    onPostgres: ["audit_heads_pkey", "replay_pkey", "sorted"],
  },
  {
    name: "a claim of what is taken",
    run: ({ replay }) => replay.begin(key, "print"),
    plan: ["replay_pkey"],
    onPostgres: ["audit_heads_pkey", "replay_pkey", "sorted"],
  },
  {
    name: "a result",
    run: ({ replay }) => replay.finish({ ...key, id: "new" }, "done"),
    plan: ["replay_pkey"],
    onPostgres: ["audit_heads_pkey", "replay_pkey", "sorted"],
  },
  {
    name: "an event",
    run: ({ audit }) => audit.record(auditEvent("event-1", { namespaceId: tenant })),
    plan: ["audit_heads_pkey"],
    onPostgres: ["audit_heads_pkey", "sorted"],
  },
  {
    name: "a use",
    run: ({ usage }) => usage.consume(tenant, "grant-1", 9),
    plan: ["uses_pkey"],
    onPostgres: ["audit_heads_pkey", "replay_pkey", "sorted", "uses_pkey"],
  },
  {
    name: "a file",
    run: ({ files }) => files.read({ namespaceId: tenant, owner: alice }, ["notes", "a"]),
    plan: ["contents_pkey", "files_pkey"],
    onPostgres: ["contents_pkey", "files_path_key_namespace_id_owner_key"],
  },
  { name: "how often a grant was used", run: ({ usage }) => usage.used(tenant, "grant-1"), plan: ["uses_pkey"] },
  {
    name: "an escalation",
    run: ({ escalations }) =>
      escalations.add(context(), { status: "pending", reason: "?", requestedAt: now, reviewer: alice }),
    plan: ["escalations_by_ask", "escalations_open", "escalations_waiting"],
  },
  {
    name: "an escalation about an act",
    run: ({ permits }) => permits.ask(context(), { hash: "ask-3", act, request, grantId: "grant-1" }),
    plan: ["escalations_by_ask", "escalations_open", "escalations_waiting", "grants_pkey", "uses_pkey"],
  },
  {
    name: "what was said about an act",
    run: ({ permits }) => permits.find(tenant, "ask-1", now),
    plan: ["escalations_by_ask", "uses_pkey"],
  },
  {
    name: "permits that wait to be used",
    run: ({ permits }) => permits.waiting(context(), request),
    plan: ["escalations_by_ask", "escalations_permits", "sorted", "uses_pkey"],
  },
  {
    name: "the use of a permit",
    run: ({ permits }) => permits.use(tenant, "q1"),
    plan: ["escalations_pkey", "uses_pkey"],
    onPostgres: ["audit_heads_pkey", "escalations_pkey", "replay_pkey", "sorted"],
  },
  {
    name: "the message of a turn, in the inbox of its agent",
    run({ messages }) {
      const { message } = turnToBegin(tenant, "turn-3").request;
      return messages.holds(tenant, { ...message, sender: user, id: "message-7" });
    },
    plan: ["messages_by_sender"],
  },
  {
    name: "a message into an inbox",
    run: ({ messages }) => messages.deliver({ ...envelope, sender: user, receiver: agent }, tenant, now),
    plan: ["inboxes_pkey", "messages_by_sender", "messages_pkey", "messages_waiting_by_sender"],
  },
  {
    name: "a turn that begins, and writes",
    async run({ turns }) {
      await (await beginTurn(turns, turnToBegin(tenant, "new"))).write(eventEntries(), progress);
    },
    plan: ["turns_by_key", "turns_open", "turns_pkey"],
    onPostgres: [
      "audit_heads_pkey",
      "escalations_of_turn",
      "escalations_pkey",
      "replay_pkey",
      "sorted",
      "turn_questions_by_id",
      "turns_by_key",
      "turns_pkey",
    ],
  },
  {
    name: "a turn that ends",
    async run({ turns }) {
      await (await beginTurn(turns, turnToBegin(tenant, "ends"))).write([endedEntry("ends")], progress);
    },
    plan: ["escalations_of_turn", "turn_questions_by_id", "turns_by_key", "turns_open", "turns_pkey"],
    onPostgres: [
      "audit_heads_pkey",
      "escalations_of_turn",
      "escalations_pkey",
      "replay_pkey",
      "sorted",
      "turn_questions_by_id",
      "turns_by_key",
      "turns_pkey",
    ],
  },
  {
    name: "what the turns of an actor that have not ended hold",
    run: (_stores, database) => requireRoom(database, newTurnRow(turnToBegin(tenant, "new"), undefined, noLimit)),
    plan: ["turns_open"],
  },
  {
    name: "the turns of an agent's credential that have not ended",
    run: ({ turns }) =>
      turns.listOpenOf(
        { id: "credential-1", namespaceId: tenant, access: { actor: agent } },
        { after: "t110000", limit: 9 },
      ),
    plan: ["sorted", "turns_open"],
  },
  {
    name: "the turns that an operator tries and that have not ended",
    run: ({ turns }) =>
      turns.listOpenOf(
        { id: "operator-1", namespaceId: "operators", access: { actor: user, admin: true } },
        { after: "t110000", limit: 9 },
      ),
    plan: ["turns_tried"],
  },
  {
    name: "the sessions that use a credential",
    run: ({ sessions }) => sessions.listOpen("credential-1", new Date(now), { after: "session-1", limit: 9 }),
    plan: ["credentials_pkey", "sessions_by_credential", "sorted"],
  },
  {
    name: "a page of the grants that were made with a credential",
    run: ({ grants }) =>
      grants.listMade("operator-9", now, { after: { namespace_id: tenant, id: "grant-15" }, limit: 9 }),
    plan: ["grant_makers_by_credential", "grants_pkey"],
  },
  { name: "who made a grant", run: ({ grants }) => grants.findMaker(tenant, "grant-7"), plan: ["grant_makers_pkey"] },
  {
    name: "a page of what the answers of a credential left behind",
    run: ({ escalations }) =>
      escalations.answersOf("operator-1", now, { after: { namespace_id: tenant, escalation_id: "q5" }, limit: 9 }),
    plan: ["escalation_answers_pkey", "escalations_by_status"],
    onPostgres: ["escalation_answers_pkey", "escalations_pkey"],
  },
  { name: "a turn", run: ({ turns }) => turns.find(turnOf), plan: ["turn_entries_pkey", "turns_by_key"] },
  {
    name: "the events of a turn",
    run: ({ turns }) => turns.events(turnOf, 0),
    plan: ["turn_entries_pkey", "turns_by_key"],
  },
  {
    name: "turns of an actor",
    run: ({ turns }) => turns.list(turnOf, { limit: 9, before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_of_actor"],
  },
  {
    name: "turns of an actor by their status",
    run: ({ turns }) => turns.list(turnOf, { limit: 9, statuses: ["running", "failed"], before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_of_actor_by_status"],
  },
  {
    name: "a turn that is cancelled",
    run: ({ turns }) => turns.cancel(turnKey(tenant, "new")),
    plan: ["escalations_of_turn", "turn_questions_by_id", "turn_questions_pkey", "turns_by_key", "turns_pkey"],
  },
  { name: "turns that were cancelled here", run: ({ turns }) => turns.cancelled(), plan: ["turns_running"] },
  {
    name: "turns that no host runs",
    run: ({ turns }) => turns.unattended(9),
    plan: ["turns_by_status", "turns_running"],
    onPostgres: ["in the order of turns_running", "turns_of_tenant_by_status", "turns_running"],
  },
  {
    name: "a turn that is taken",
    run: ({ turns }) => turns.take("t100001"),
    plan: ["turn_entries_pkey", "turns_pkey"],
    onPostgres: ["turn_entries_pkey", "turns_by_status", "turns_pkey"],
  },
  {
    name: "turns whose escalation is answered",
    run: ({ turns }, { db }) =>
      db
        .transaction()
        .execute((transaction) =>
          turns.wakeAnswered(transaction, { namespaceId: tenant, id: "q102", status: "denied", now }),
        ),
    plan: ["turn_questions_by_id", "turn_questions_pkey", "turns_pkey"],
  },
  {
    name: "turns whose escalation expired",
    run: ({ turns }) => turns.wakeExpired("2026-01-01T00:30", 9),
    plan: ["escalations_pkey", "turn_questions_by_expiry", "turn_questions_pkey", "turns_pkey"],
  },
  {
    name: "journals of turns that ended",
    run: (_stores, database) => forgetEndedTurns(database, "2026-01-01T01:00:00.000Z", 100),
    plan: ["rowid", "turn_entries_pkey", "turns_ended", "turns_pkey"],
    onPostgres: ["turn_entries_pkey", "turns_ended", "turns_pkey"],
  },
  {
    name: "old escalations",
    run: (_stores, database) => removeOldEscalations(database, "2026-01-01T00:30", 100),
    plan: ["escalation_answers_by_escalation", "escalations_by_expiry", "rowid", "uses_pkey"],
    onPostgres: ["escalation_answers_by_escalation", "escalations_by_expiry", "uses_pkey"],
  },
  {
    name: "a message that is sent",
    async run(_stores, database) {
      const outbox = openOutbox(database);
      const taken = await outbox.take(webhook, new Date(now));
      if (taken === undefined) throw new Error("Nothing waits.");
      await outbox.postpone(taken, new Date(now));
      await outbox.finish(taken, { state: "delivered", at: new Date(now) });
    },
    plan: ["outbox_by_webhook", "rowid", "webhook_history_by_webhook"],
    // Few messages have been tried, and those have an index of their own.
    onPostgres: ["outbox_pkey", "outbox_tried", "webhook_history_by_webhook"],
  },
  {
    name: "how many denials wait for a webhook",
    run: (_stores, database) => openOutbox(database).countOf(webhook, "decision.denied"),
    plan: ["outbox_by_type"],
  },
  {
    name: "escalations that a revoked grant carries, or one that was derived from it",
    run: closing((closed, transaction) => closed.ofGrants(transaction, tenant, ["grant-4999"], now)),
    plan: ["escalations_carried", "escalations_pkey", "grants_pkey"],
    onPostgres: ["escalations_by_status", "escalations_carried", "grants_pkey"],
  },
  {
    name: "escalations that were made with a revoked credential",
    run: closing((closed, transaction) => closed.ofCredential(transaction, "credential-5100", now)),
    plan: ["escalations_asked_with", "escalations_pkey"],
    onPostgres: ["escalations_asked_with", "escalations_by_status"],
  },
  {
    name: "escalations of a turn that is cancelled",
    run: closing((closed, transaction) => {
      const turn = { namespace_id: tenant, execution_id: "turn-5000", actor: "agent:agent-0", escalations: ["q5100"] };
      return closed.ofCancelledTurn(transaction, turn, now);
    }),
    plan: ["escalations_of_turn", "escalations_pkey", "turn_questions_by_id", "turns_by_key"],
    onPostgres: ["escalations_by_status", "escalations_of_turn", "turn_questions_by_id", "turns_by_key"],
  },
  {
    name: "those that still wait of the escalations of calls that are held",
    run: ({ escalations }) =>
      escalations.findPending(
        Array.from({ length: 200 }, (_, number) => ({ namespaceId: tenant, id: `q${number}` })),
        now,
      ),
    plan: ["escalations_pkey"],
  },
  {
    name: "an act that waits for a person",
    run: ({ acts }) => acts.findWaiting({ namespaceId: tenant, actor: agent, scope: "trace trace-7", id: "act-7" }),
    plan: ["waiting_acts_pkey"],
  },
  {
    name: "escalations that expired unanswered",
    run: ({ escalations }) => escalations.expire("2026-01-01T01:00:00.000Z", 9),
    plan: ["escalations_by_end", "rowid"],
    onPostgres: ["escalations_by_end"],
  },
  {
    name: "old results",
    run: ({ replay }) => replay.forgetResults("writes", "2025-01-01T00:00:00.000Z", 100),
    plan: ["replay_results", "rowid"],
    onPostgres: ["replay_results"],
  },
];

/** The first page, and one further on. */
const auditPages =
  (filter: AuditFilter) =>
  async ({ audit }: Stores) => {
    for (const before of [undefined, place]) {
      const downTo = await audit.findScanEnd(tenant, { ...filter, before });
      await audit.list(tenant, { ...filter, before, downTo, limit: 9 });
    }
  };
const grantPages =
  (filter: Pick<Parameters<Stores["grants"]["list"]>[1], "subject" | "issuer" | "parent">) =>
  async ({ grants }: Stores) => {
    await grants.list(tenant, { ...filter, limit: 9 });
    await grants.list(tenant, { ...filter, after: "grant-5", limit: 9 });
  };
const escalationPages =
  (status?: "pending" | "approved" | "denied" | "expired") =>
  async ({ escalations }: Stores) => {
    for (const before of [undefined, "q5"]) {
      const downTo = await escalations.findScanEnd(tenant, { status, now, before });
      await escalations.findSizeEnd(tenant, { status, now, before, downTo, limit: 9 });
      await escalations.list(tenant, { status, now, before, downTo, limit: 9 });
    }
  };

/** What operators read: each list with each of its filters, and whatever else takes longer the more there is. */
const reads: Row[] = [
  {
    name: "what a search finds by its whole name",
    async run({ credentials, escalations, grants }) {
      await grants.findStored(tenant, "grant-1");
      await credentials.find("credential-1");
      await escalations.find(tenant, "q1", now);
    },
    plan: ["credentials_pkey", "escalations_pkey", "grants_pkey"],
  },
  { name: "grants", run: grantPages({}), plan: ["grants_pkey"] },
  { name: "grants of a subject", run: grantPages({ subject: agent }), plan: ["grants_by_subject"] },
  { name: "grants of an issuer", run: grantPages({ issuer: user }), plan: ["grants_by_issuer"] },
  {
    name: "grants by their ids",
    run: ({ grants }) => grants.findAll(tenant, ["grant-1", "grant-2"]),
    plan: ["grants_pkey"],
  },
  {
    name: "the rules about the grants of a tenant",
    run: ({ invariants }) => invariants.list(tenant),
    plan: ["invariants_pkey"],
  },
  { name: "the uses of grants", run: ({ usage }) => usage.usedOf(tenant, ["grant-1", "grant-2"]), plan: ["uses_pkey"] },
  {
    name: "what was derived from a grant",
    run: ({ grants }) => grants.descendants(tenant, "grant-19", 9),
    plan: ["grants_by_parent"],
  },
  {
    name: "credentials",
    async run({ credentials }) {
      await credentials.list({ limit: 9 });
      await credentials.list({ after: "credential-5", limit: 9 });
    },
    plan: ["credentials_pkey", "in the order of credentials_pkey"],
  },
  {
    name: "credentials of a tenant",
    async run({ credentials }) {
      await credentials.list({ namespaceId: tenant, limit: 9 });
      await credentials.list({ namespaceId: tenant, after: "credential-5", limit: 9 });
    },
    plan: ["credentials_by_tenant"],
  },
  {
    name: "people",
    async run({ people }) {
      await people.list({ limit: 9 });
      await people.list({ after: "person-5", limit: 9 });
    },
    plan: ["credentials_pkey", "in the order of people_pkey", "people_pkey"],
  },
  {
    name: "connections",
    async run({ connections }) {
      await connections.list({ limit: 9 });
      await connections.list({ after: "connection-5", limit: 9 });
    },
    plan: [
      "connection_tokens_by_connection",
      "connections_pkey",
      "credentials_pkey",
      "in the order of connections_pkey",
    ],
  },
  {
    name: "connections of a tenant, of a person, and one",
    async run({ connections }) {
      await connections.list({ namespaceId: "tenant-7", limit: 9 });
      await connections.listOf("tenant-7", user);
      await connections.find("tenant-7", "connection-7");
    },
    plan: [
      "connection_tokens_by_connection",
      "connections_by_client",
      "connections_by_tenant",
      "connections_pkey",
      "credentials_pkey",
    ],
    onPostgres: [
      "connection_tokens_by_connection",
      "connections_by_client",
      "connections_by_tenant",
      "credentials_pkey",
    ],
  },
  {
    name: "people of a tenant",
    async run({ people }) {
      await people.list({ namespaceId: "tenant-7", limit: 9 });
      await people.list({ namespaceId: "tenant-7", after: "person-5", limit: 9 });
    },
    plan: ["credentials_pkey", "people_by_tenant"],
  },
  {
    name: "turns of every tenant",
    run: ({ turns }) => turns.listAll({ limit: 9, before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_pkey"],
  },
  {
    name: "turns of every tenant by their status",
    run: ({ turns }) => turns.listAll({ limit: 9, statuses: ["waiting", "succeeded"], before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_by_status"],
    onPostgres: ["turn_entries_pkey", "turns_by_status", "turns_pkey"],
  },
  {
    name: "turns of a tenant",
    run: ({ turns }) => turns.listAll({ namespaceId: "tenant-20", limit: 9, before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_of_tenant"],
  },
  {
    name: "turns of a tenant by their status",
    run: ({ turns }) => turns.listAll({ namespaceId: tenant, limit: 9, statuses: ["failed"], before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_of_tenant_by_status"],
  },
  {
    name: "turns of a tenant that an actor started",
    run: ({ turns }) => turns.listAll({ namespaceId: tenant, actor: agent, limit: 9, before: "t110000" }),
    plan: ["turn_entries_pkey", "turns_of_actor"],
  },
  {
    name: "turns of a tenant in a state that an actor started",
    run: ({ turns }) => turns.listAll({ namespaceId: tenant, actor: agent, statuses: ["failed"], limit: 9 }),
    plan: ["turn_entries_pkey", "turns_of_actor_by_status"],
  },
  {
    name: "turns of a tenant of a time",
    run: ({ turns }) => turns.listAll({ namespaceId: tenant, ...times, limit: 9 }),
    plan: ["turns_of_tenant"],
  },
  {
    name: "turns of every tenant of a time",
    run: ({ turns }) => turns.listAll({ ...times, limit: 9 }),
    plan: ["turns_pkey"],
  },
  {
    name: "the newest turn of an id",
    run: ({ turns }) => turns.findBy(tenant, "turn-9005"),
    plan: ["turn_entries_pkey", "turns_by_key"],
  },
  {
    name: "turns that missed the answer to their escalation",
    run: ({ turns }) => turns.wakeMissed(9),
    // The table has the escalations of turns that wait, and no others.
    plan: ["all of turn_questions", "escalations_pkey", "turn_questions_pkey", "turns_pkey"],
  },
  { name: "escalations", run: escalationPages(), plan: ["escalations_pkey"] },
  {
    name: "escalations that are pending",
    run: escalationPages("pending"),
    plan: ["escalations_by_status"],
    onPostgres: ["escalations_by_end", "escalations_by_status", "sorted"],
  },
  { name: "escalations that were approved", run: escalationPages("approved"), plan: ["escalations_by_status"] },
  { name: "escalations that were denied", run: escalationPages("denied"), plan: ["escalations_by_status"] },
  { name: "escalations that expired", run: escalationPages("expired"), plan: ["escalations_pkey"] },
  {
    name: "how many escalations wait",
    run: ({ escalations }) => escalations.countPending("2026-01-01T20"),
    plan: ["escalations_by_end"],
  },
  {
    name: "turns of a tenant that run, wait or have just ended",
    run: ({ turns }) => turns.listLive(tenant, "2026-01-01T19:59:00.000Z"),
    plan: ["turns_ended", "turns_of_tenant_by_status"],
  },
  {
    name: "turns that were running an instant ago",
    run: ({ turns }) => turns.findLive(["t100001", "t100002"]),
    plan: ["turns_pkey"],
  },
  {
    name: "rows of a strand behind one of them",
    run: ({ audit }) => audit.listRowsBehind(tenant, { strand: 0, sequence: 29_000 }, 100),
    plan: ["audit_pkey"],
  },
  { name: "audit events", run: auditPages({}), plan: ["audit_by_time"] },
  { name: "audit events of a time", run: auditPages(times), plan: ["audit_by_time"] },
  { name: "audit events of a trace", run: auditPages({ traceId: "trace-7" }), plan: ["audit_by_trace"] },
  {
    name: "audit events of a trace and a time",
    run: auditPages({ traceId: "trace-7", ...times }),
    plan: ["audit_by_trace"],
  },
  { name: "audit events of an actor", run: auditPages({ actor: agent }), plan: ["audit_by_actor"] },
  {
    name: "audit events of an actor and a time",
    run: auditPages({ actor: agent, ...times }),
    plan: ["audit_by_actor"],
  },
  { name: "audit events of a rare outcome", run: auditPages({ outcome: "denied" }), plan: ["audit_by_outcome"] },
  { name: "audit events of a rare type", run: auditPages({ type: "turn.ended" }), plan: ["audit_by_type"] },
  { name: "audit events of a common outcome", run: auditPages({ outcome: "allowed" }), plan: ["audit_by_time"] },
  { name: "audit events of a common type", run: auditPages({ type: "tool.invoked" }), plan: ["audit_by_time"] },
  {
    name: "audit events of an actor and a common type",
    run: auditPages({ actor: agent, type: "tool.invoked" }),
    plan: ["audit_by_actor"],
  },
  {
    name: "audit events of a common type and a common outcome in a time",
    run: auditPages({ type: "tool.invoked", outcome: "succeeded", ...times }),
    plan: ["audit_by_time"],
    onPostgres: ["audit_by_time", "sorted"],
  },
  {
    name: "audit events of an actor and a rare outcome",
    run: auditPages({ actor: agent, outcome: "denied" }),
    plan: ["audit_by_outcome"],
  },
  {
    name: "audit events of a rare type and an actor",
    run: auditPages({ actor: agent, type: "turn.ended", ...times }),
    plan: ["audit_by_type"],
  },
  {
    name: "audit events by every filter at once",
    run: auditPages({ traceId: "trace-7", actor: agent, type: "turn.ended", outcome: "denied", ...times }),
    plan: ["audit_by_trace"],
  },
  {
    name: "audit events by their content",
    run: auditPages({
      tool: "files.read",
      grant: "grant-1",
      reason: "denied",
      text: "notes",
      resource: request.resource,
    }),
    plan: ["audit_by_time"],
    // It sorts no more than the rows that a page reads.
    onPostgres: ["audit_by_time", "sorted"],
  },
  { name: "audit events that concern a person", run: auditPages({ concerns: user }), plan: ["audit_by_time"] },
  {
    name: "audit events of an actor by their content",
    run: auditPages({ actor: agent, grant: "grant-1", ...times }),
    plan: ["audit_by_actor"],
  },
  {
    name: "grants that were derived from one",
    run: grantPages({ parent: "grant-19" }),
    plan: ["grants_by_parent"],
  },
  {
    name: "messages to webhooks, and what became of them",
    async run({ deliveries }) {
      await deliveries.list(tenant, { limit: 9 });
      await deliveries.list(tenant, { limit: 9, behind: { table: "outbox", id: 1 } });
      await deliveries.list(tenant, { limit: 9, behind: { table: "webhook_history", id: 9000 } });
    },
    plan: ["outbox_by_tenant", "webhook_history_by_tenant"],
  },
  {
    name: "messages to webhooks by their state",
    async run({ deliveries }) {
      await deliveries.list(tenant, { limit: 9, state: "retrying" });
      await deliveries.list(tenant, { limit: 9, state: "failed" });
    },
    plan: ["outbox_tried", "webhook_history_by_state"],
    // The few that were tried.
    onPostgres: ["outbox_tried", "sorted", "webhook_history_by_state"],
  },
  {
    name: "a message that is sent again",
    run: ({ deliveries }) => deliveries.retry(tenant, "msg_1", new Date(now)),
    plan: ["outbox_by_message", "webhook_history_by_message"],
  },
  {
    name: "an audit log that is verified",
    run: ({ audit }) => audit.verify(tenant),
    plan: ["audit_by_strand", "audit_heads_pkey", "audit_pkey"],
    onPostgres: ["audit_heads_pkey", "audit_pkey"],
  },
  {
    name: "signed heads that are searched for in an audit log",
    run: ({ audit }) =>
      audit.findBreak(
        tenant,
        [1, 2].map((sequence) => ({ strand: 0, sequence, hash: "hash" })),
      ),
    plan: ["audit_pkey"],
  },
  {
    name: "whether a tenant is known",
    run: ({ audit }) => audit.isKnown("unknown"),
    plan: ["audit_by_time", "audit_heads_pkey", "credentials_by_tenant", "grants_pkey"],
  },
  {
    name: "heads of audit logs",
    run: ({ audit }) => audit.listHeads({ namespaceId: "tenant-5", strand: 0 }, 9),
    plan: ["audit_heads_pkey"],
  },
  { name: "the heads of an audit log", run: ({ audit }) => audit.headsOf(tenant), plan: ["audit_heads_pkey"] },
  {
    name: "the activity of a tenant",
    run: ({ audit }) => audit.readActivity(tenant, new Date("2026-01-01T02:59:59.000Z")),
    plan: ["audit_by_time"],
  },
  {
    name: "tenants",
    async run({ tenants }) {
      await tenants.listLiving(undefined, 9);
      await tenants.listLiving("tenant-5", 9);
    },
    plan: ["audit_heads_pkey", "credentials_by_actor", "deleted_tenants_pkey", "grants_pkey"],
    onPostgres: ["audit_heads_pkey", "credentials_by_actor", "grants_by_holder"],
  },
  {
    name: "how many escalations wait in some tenants",
    run: ({ escalations }) => escalations.countPendingOf([tenant, "tenant-5"], "2026-01-01T00:30"),
    plan: ["escalations_open"],
  },
  {
    name: "withdrawn tools of MCP servers",
    run: ({ mcpPins }) => mcpPins.listWithdrawn(["server-1", "server-2"]),
    plan: ["mcp_pins_withdrawn"],
  },
  {
    name: "how many turns of a tenant run and wait",
    run: ({ turns }) => turns.countOf(tenant),
    plan: ["turns_of_tenant_by_status"],
  },
  {
    name: "the turns of hosts that run",
    run: ({ turns }) => turns.listHosts(),
    plan: ["turns_running"],
    onPostgres: ["sorted", "turns_running"],
  },
  {
    name: "principals",
    async run({ principals }) {
      await principals.list(tenant, undefined, 9);
      await principals.list(tenant, "agent:agent-5", 9);
    },
    plan: ["credentials_by_actor", "grants_by_holder", "grants_by_issuer", "grants_by_subject"],
    onNodesSqlite: ["credentials_by_actor", "grants_by_issuer", "grants_by_subject"],
    onPostgres: ["credentials_by_actor", "grants_by_holder", "grants_by_issuer"],
  },
  {
    name: "how often principals are named",
    run: ({ principals }) => principals.count(tenant, ["agent:agent-5", "human:user-7"]),
    plan: ["credentials_by_actor", "grants_by_holder", "grants_by_issuer"],
    onNodesSqlite: ["credentials_by_actor", "grants_by_issuer", "grants_by_subject"],
    onPostgres: ["credentials_by_actor", "grants_by_holder", "grants_by_issuer", "sorted"],
  },
];

/** Tables of which a host stores few rows, and those that a query makes of the rows it found. */
const isSmall =
  /^all of (names|next_names|held|json_each|wanted|ended|deleted_tenants|revision|schema_epoch|database_gaps|namespace_settings|hosts|host_leases|pg_database)$/;

describe.each(databaseKinds)("on %s", (kind) => {
  let planned: PlannedDatabase;
  let stores: Stores;
  beforeAll(async () => {
    planned = await openPlanned(kind);
    await fill(planned.database);
    stores = openStores(planned.database);
  });
  afterAll(() => planned.close());

  test.each([...calls, ...reads])("$name: rows are found by an index", async (row) => {
    const { run, plan, onPostgres = plan, onNodesSqlite = plan } = row;
    planned.statements.length = 0;
    await run(stores, planned.database);
    const steps = new Set<string>();
    for (const statement of planned.statements.splice(0)) {
      const how = /^\s*(with|select|insert|update|delete)/i.test(statement.sql) ? await planned.planOf(statement) : [];
      for (const step of how) if (!isSmall.test(step)) steps.add(step);
    }
    const onSqlite = ChosenDriver.name === "LibsqlDriver" ? plan : onNodesSqlite;
    expect([...steps].toSorted()).toEqual(kind === "postgres" ? onPostgres : onSqlite);
  });
});
