import type { ColumnType, Generated, GeneratedAlways } from "kysely";

/** JSON and principals are text columns: the same queries run on SQLite and PostgreSQL. */
export interface Schema {
  revision: { id: number; value: number };
  hosts: {
    id: GeneratedAlways<number>;
    started_at: string;
    /** In seconds since 1970 by the clock of the server. Null for a host of a version that does not beat, and on SQLite. */
    beat_at: number | null;
    /** Since when its beats have followed each other without a gap. */
    beats_since: number | null;
    /** When it ended by itself; null for one that runs, or that died. */
    ended_at: number | null;
    /** The number of the newest migration that it knows. Null for a host of a version that knows no epochs. */
    epoch: number | null;
    /** Since when it has nothing under way, because its version is too old. */
    drained_at: number | null;
  };
  /**
   * Hosts that cannot hold locks, because a pooler lends them a connection for one transaction at a time: the strand that each
   * writes, and when it was last renewed, in seconds since 1970 by the clock of the server.
   */
  host_leases: { host_id: number; strand: number; beat_at: number };
  /** One row: the number of the newest migration, and the lowest one whose version may serve. */
  schema_epoch: { epoch: number; lowest: number };
  heartbeats: { host_id: number; content: string };
  running_turns: { id: string; host_id: number; namespace_id: string; credential_id: string };
  grants: {
    namespace_id: string;
    id: string;
    subject: string;
    issuer: string;
    /** The grant that it was derived from. */
    parent_id: string | null;
    /** When it expires or is revoked; `never`, which sorts behind every time, when neither is known. */
    ends_at: Generated<string>;
    content: string;
  };
  /** Rules about the grants of a tenant; of every tenant where `namespace_id` is empty. */
  invariants: { namespace_id: string; id: string; content: string };
  /** The credential with which an operator issued a grant. It is not a column of grants, because every call reads those. */
  grant_makers: { namespace_id: string; grant_id: string; credential_id: string };
  uses: { namespace_id: string; grant_id: string; used: number };
  namespace_settings: { namespace_id: string; actor: string; enabled: string };
  credentials: {
    id: string;
    namespace_id: string;
    secret_hash: string;
    access: string;
    /** `kind:id` of its actor. */
    actor: string;
    /** The name of the client certificate without which it cannot be used. */
    certificate: string | null;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    /** When its present token ends; null for one that lasts as long as the credential. */
    token_expires_at: string | null;
    /** When it was last used, to the minute; null when it was not. */
    last_used_at: string | null;
  };
  audit_heads: { namespace_id: string; strand: number; sequence: number; hash: string };
  audit: {
    namespace_id: string;
    /** Which of the tenant's chains it is in. Each running host writes its own. */
    strand: number;
    sequence: number;
    id: string;
    type: string;
    outcome: string;
    at: string;
    actor: string;
    trace_id: string;
    content: string;
    hash: string;
  };
  /** The rows up to the anchor of a strand were exported and removed; `content` is signed. */
  audit_anchors: { namespace_id: string; strand: number; content: string };
  /** Rows that a host knows to have been durable and that the database lost; `content` says of which chains of the audit log. */
  database_gaps: {
    id: string;
    /** The host that noticed. */
    host_id: number;
    noticed_at: string;
    content: string;
    accepted_at: string | null;
  };
  /** The time by which the age of rows is judged. */
  retention_clock: { id: number; at: string };
  /** Tenants whose calls are refused. */
  deleted_tenants: { namespace_id: string; content: string; finished_at: string | null };
  replay: {
    namespace_id: string;
    /** Empty in rows from before actors were stored. */
    actor: string;
    kind: string;
    scope: string;
    id: string;
    fingerprint: string;
    host_id: number;
    /**
     * Distinguishes this claim of the key from every other. Empty in rows from before it was stored, and once another host has ended
     * the claim of a host that died.
     */
    claim: Generated<string>;
    result: ColumnType<string | null, string | null, string | null>;
    finished_at: string | null;
    /** 1 for the result of a tool that only reads. */
    is_read: Generated<number>;
  };
  /** What began last under the key of an act. Claims of its key, and of its outcome, are rows of `replay`. */
  acts: {
    namespace_id: string;
    actor: string;
    /** The execution that it began with, or else its trace. */
    scope: string;
    id: string;
    /** The nonce of the claim of its key. */
    nonce: string;
    fingerprint: string;
    /** The end of its lease. */
    expires_at: string;
    /** Its tool, the context that it was decided in, and what it took. */
    content: string;
    /** Null until its outcome was reported. */
    status: "succeeded" | "failed" | null;
    /** The output or the error; null when it is too large or too old. */
    outcome: string | null;
    completed_at: string | null;
    is_late: Generated<number>;
  };
  /** What waited last for a person under the key of an act. */
  waiting_acts: {
    namespace_id: string;
    actor: string;
    scope: string;
    id: string;
    /** The request hash, by which the escalation is found. */
    ask: string;
    asked_at: string;
  };
  /** One row for each turn: its state, and what is needed to resume it. */
  turns: {
    /** Sorts by age. */
    id: string;
    namespace_id: string;
    /** Empty in rows from before actors were stored: then the execution id is taken for every actor. */
    actor: string;
    execution_id: string;
    fingerprint: string;
    is_async: number;
    status: string;
    /** The host that runs the turn; null when none does. */
    host_id: number | null;
    /** The number of the run that may write. */
    run: number;
    is_cancelled: Generated<number>;
    /** 1 when the database lost a part of what happened in it: it ends as interrupted. */
    is_interrupted: Generated<number>;
    /** 1 for a turn that was refused at its admission: its execution id is free. */
    is_refused: Generated<number>;
    /** 1 when the entries are gone, because they are too old. */
    is_forgotten: Generated<number>;
    /** The fields that the turn has in every state. */
    heading: string;
    /** What a run needs; null after the turn has ended. */
    content: string | null;
    /** The first of the escalations that the turn waits for. */
    waiting: string | null;
    /** Without its events. */
    result: string | null;
    steps: number;
    tool_calls: number;
    ran_ms: number;
    /** The position of the next entry. */
    entries: number;
    /** How many of the entries are events. */
    events: number;
    /** How many bytes are stored of it, as of its beginning or of the last time that it waited. */
    bytes: Generated<number>;
    started_at: string;
    updated_at: string;
    completed_at: string | null;
  };
  /** The escalations that turns wait for; any answer wakes the turn. A turn that does not wait has none. */
  turn_questions: {
    turn: string;
    place: number;
    namespace_id: string;
    question_id: string;
    expires_at: string;
    /** The call that waits, and its tool if it waits for an approval. */
    content: string;
  };
  /** The journals of turns. */
  turn_entries: {
    turn: string;
    /** Of its last entry. */
    position: number;
    /** `several` for a row with all entries of one write; otherwise the kind of the one entry. */
    kind: string;
    /** Of its last event. */
    sequence: number | null;
    content: string;
  };
  escalations: {
    namespace_id: string;
    id: string;
    ask: string;
    /** Empty for escalations from before there was a limit. Such rows do not count. */
    requester: string;
    status: "pending" | "approved" | "denied" | "expired" | "withdrawn";
    expires_at: string;
    /** For an escalation about an act: the hash of who acts, for whom, and what the act requires. */
    place: string | null;
    /** For an approval of an act: until when it can be used. */
    permit_expires_at: string | null;
    /** For an escalation about an act: the grant that covers it. */
    grant_id: string | null;
    /** The credential that it was requested with; null for a token of an identity provider, and in rows of older versions. */
    credential_id: string | null;
    /** The turn that requested it; null in rows of older versions. */
    execution_id: string | null;
    /** Whose authority it would use; null in rows of older versions that waited no longer. */
    authority: string | null;
    /** Why it was closed, as JSON; null when it only expires. */
    closed: string | null;
    content: string;
  };
  /** Which escalations were answered with which credential. */
  escalation_answers: {
    credential_id: string;
    namespace_id: string;
    escalation_id: string;
  };
  /** Messages that wait to be sent: one row for each message and webhook. */
  outbox: {
    /** The order in which messages are sent. */
    id: GeneratedAlways<number>;
    /** The hash of the webhook's URL. */
    webhook: string;
    /** The id by which the receiver knows the message. It is the same in every attempt. */
    message: string;
    namespace_id: string;
    type: string;
    /** The body. */
    content: string;
    created_at: string;
    /** No host sends it before this time: it was tried, or a host is sending it. */
    due_at: string;
    attempts: Generated<number>;
    /** Why the last attempt failed; null until one did. */
    last_error: string | null;
  };
  /** Messages that were sent, or given up. */
  webhook_history: {
    id: GeneratedAlways<number>;
    webhook: string;
    message: string;
    namespace_id: string;
    type: string;
    content: string;
    created_at: string;
    state: "delivered" | "failed";
    attempts: number;
    last_error: string | null;
    finished_at: string;
  };
  /** Those who have signed in with an identity provider. */
  people: {
    id: string;
    kind: "person" | "operator";
    issuer: string;
    /** The provider's word for them, which stays the same when their name changes. */
    provider_subject: string;
    namespace_id: string;
    /** Who they are here, as text. */
    principal: string;
    name: string | null;
    /** What their sessions are for. No one has its token. */
    credential_id: string;
    created_at: string;
    signed_in_at: string;
  };
  /** What counts once: hashes of answers to sign-ins, and of logout tokens. */
  used_once: {
    id: string;
    expires_at: string;
  };
  /** The signed-in browsers of operators and of people. */
  sessions: {
    id: string;
    /** The hash of the half that is a cookie. */
    secret_hash: string;
    /** The hash of the half that the page holds. Empty in rows of older versions, which admit no one. */
    page_hash: string;
    credential_id: string;
    /** The hash of the credential's secret when the session began. A session ends when the secret changes. */
    credential_hash: string;
    created_at: string;
    expires_at: string;
    /** The hash of the identity provider's session, which may end this one. */
    provider_session: string | null;
  };
  /** Codes that begin a session, once. */
  one_time_codes: {
    id: string;
    secret_hash: string;
    credential_id: string;
    /** The hash of the credential's secret when the code was made. */
    credential_hash: string;
    expires_at: string;
    used_at: string | null;
    /** The hash of what the one browser shows that may use it; null for a code that any browser may use. */
    browser_hash: string | null;
    provider_session: string | null;
    /** When the identity provider's session ends; null when it did not say. */
    session_ends_at: string | null;
  };
  /** OAuth clients that registered themselves. */
  oauth_clients: {
    /** The hash of what it registered: the same client registers once. */
    id: string;
    name: string;
    redirect_uris: string;
    created_at: string;
    /** When a person first let it act for them; null when none did. */
    used_at: string | null;
  };
  /** What clients ask people for, until the person answers. */
  authorization_requests: {
    id: string;
    namespace_id: string;
    /** The hash of what the one browser holds that may answer. */
    secret_hash: string;
    /** Who is asked: their credential, and the hash of its secret. */
    credential_id: string;
    credential_hash: string;
    content: string;
    expires_at: string;
  };
  /** Clients that act for people. Each is an actor, `agent:<id>`. */
  connections: {
    id: string;
    namespace_id: string;
    /** The person, as text. */
    principal: string;
    credential_id: string;
    client_id: string;
    client_name: string;
    /** Where the client is answered; on loopback without the port. */
    redirect: string;
    purpose: string;
    created_at: string;
    /** When the person last changed what it may do. */
    changed_at: string;
    ended_at: string | null;
  };
  /** Codes of OAuth. One that was used is stored for a while, so that it is noticed when it is used again. */
  authorization_codes: {
    id: string;
    namespace_id: string;
    connection_id: string;
    secret_hash: string;
    content: string;
    expires_at: string;
    used_at: string | null;
  };
  /** What refreshes the token of a connection's credential. */
  connection_tokens: {
    credential_id: string;
    namespace_id: string;
    connection_id: string;
    client_id: string;
    resource: string;
    /** The hash of what all refresh tokens of this credential have in common. */
    family_hash: string;
    /** The hash of what the present one alone has. */
    secret_hash: string;
    /** When the audit log was last told of a refresh. */
    noted_at: string;
    expires_at: string;
  };
  /** The tools of MCP servers as they were accepted. */
  mcp_pins: {
    server: string;
    tool: string;
    /** The hash of the definition. */
    hash: string;
    /** Canonical JSON of what the server listed. */
    definition: string;
    pinned_at: string;
    pinned_by: string;
    /** The hash of the other definition that the server has now, and since when; both are null for a tool that is offered. */
    withdrawn_hash: string | null;
    withdrawn_at: string | null;
  };
  files: {
    id: GeneratedAlways<number>;
    namespace_id: string;
    owner: string;
    path: string;
    shelf: string;
    path_key: string;
    path_start: string;
    version: number;
    size: number;
    digest: string | null;
    updated_at: string;
  };
  contents: { namespace_id: string; owner: string; digest: string; content: string };
  owners: { namespace_id: string; owner: string };
  snapshots: {
    namespace_id: string;
    owner: string;
    sequence: number;
    id: string;
    path: string;
    label: string | null;
    created_at: string;
  };
  captures: { namespace_id: string; owner: string; snapshot: string; file: number; digest: string | null };
  inboxes: { namespace_id: string; receiver: string; sequence: number; unacknowledged: number };
  messages: {
    namespace_id: string;
    receiver: string;
    sequence: number;
    sender: string;
    id: string;
    content: string;
    received_at: string;
    acknowledged_at: string | null;
  };
}
