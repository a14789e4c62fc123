import type { ColumnType, Generated, GeneratedAlways } from "kysely";

/** JSON and principals are text columns: the same queries run on SQLite and PostgreSQL. */
export interface Schema {
  revision: { id: number; value: number };
  hosts: { id: GeneratedAlways<number>; started_at: string };
  heartbeats: { host_id: number; content: string };
  running_turns: { id: string; host_id: number; namespace_id: string; credential_id: string };
  grants: {
    namespace_id: string;
    id: string;
    subject: string;
    issuer: string;
    /** The grant that it was derived from. */
    parent_id: string | null;
    /** When it expires or is revoked; `never`, which comes behind every time, when neither is known. */
    ends_at: Generated<string>;
    content: string;
  };
  /** With which credential an operator issued a grant. Not a column of grants, which every call reads. */
  grant_makers: { namespace_id: string; grant_id: string; credential_id: string };
  uses: { namespace_id: string; grant_id: string; used: number };
  namespace_settings: { namespace_id: string; actor: string; enabled: string };
  credentials: {
    id: string;
    namespace_id: string;
    secret_hash: string;
    access: string;
    /** `kind:id` of who acts with it. */
    actor: string;
    /** The name of the client certificate without which it cannot be used. */
    certificate: string | null;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    /** When it was last used, to the minute; null when it was not. */
    last_used_at: string | null;
  };
  audit_heads: { namespace_id: string; strand: number; sequence: number; hash: string };
  audit: {
    namespace_id: string;
    /** Which of the tenant's chains: hosts that run at the same time write one each. */
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
  /** The time by which the age of rows is judged. */
  retention_clock: { id: number; at: string };
  /** Tenants whose calls are refused. */
  deleted_tenants: { namespace_id: string; content: string; finished_at: string | null };
  replay: {
    namespace_id: string;
    /** Empty in rows from before actors were kept. */
    actor: string;
    kind: string;
    scope: string;
    id: string;
    fingerprint: string;
    host_id: number;
    /** Tells this claim of the key from every other; empty in rows from before that was kept. */
    claim: Generated<string>;
    result: ColumnType<string | null, string | null, string | null>;
    finished_at: string | null;
    /** 1 for the result of a tool that only reads. */
    is_read: Generated<number>;
  };
  /** One row for each turn: where it is, and what is needed to go on with it. */
  turns: {
    /** Sorts by age. */
    id: string;
    namespace_id: string;
    /** Empty in rows from before actors were kept: the execution id is taken, whoever asks. */
    actor: string;
    execution_id: string;
    fingerprint: string;
    is_async: number;
    status: string;
    /** The host that runs the turn; null when nobody does. */
    host_id: number | null;
    /** The number of the run that may write. */
    run: number;
    is_cancelled: Generated<number>;
    /** 1 for a turn that was refused at its admission: its execution id is free. */
    is_refused: Generated<number>;
    /** 1 when the entries are gone, because they are too old. */
    is_forgotten: Generated<number>;
    /** What the state says of the turn, wherever it is. */
    heading: string;
    /** What a run needs; null when there is none any more. */
    content: string | null;
    /** The first of the questions that the turn waits for. */
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
    /** How much is kept of it, as of its beginning or of the last time that it waited. */
    bytes: Generated<number>;
    started_at: string;
    updated_at: string;
    completed_at: string | null;
  };
  /** The questions that turns wait for: any answer wakes one. A turn that does not wait has none. */
  turn_questions: {
    turn: string;
    place: number;
    namespace_id: string;
    question_id: string;
    expires_at: string;
    /** The call that waits, and its tool if it waits for a yes. */
    content: string;
  };
  /** What was kept of turns. */
  turn_entries: {
    turn: string;
    /** Of its last entry. */
    position: number;
    /** `several`, for what a write kept; of the entry, in a row that has one. */
    kind: string;
    /** Of its last event. */
    sequence: number | null;
    content: string;
  };
  escalations: {
    namespace_id: string;
    id: string;
    ask: string;
    /** Empty for what was asked before there was a limit: such rows do not count. */
    requester: string;
    status: "pending" | "approved" | "denied" | "expired" | "withdrawn";
    expires_at: string;
    /** Of a question about an act: the hash of who acts, for whom, and what the act needs. */
    place: string | null;
    /** Of a yes to an act: until when it can be used. */
    permit_expires_at: string | null;
    /** Of a question about an act: the grant that carries it. */
    grant_id: string | null;
    content: string;
  };
  /** Which escalations were answered with which credential. */
  escalation_answers: {
    credential_id: string;
    namespace_id: string;
    escalation_id: string;
  };
  /** What webhooks have not been told yet: one row for each message and webhook. */
  outbox: {
    /** The order in which messages are sent. */
    id: GeneratedAlways<number>;
    /** The hash of the webhook's URL. */
    webhook: string;
    /** What the receiver knows the message by, the same in every attempt. */
    message: string;
    namespace_id: string;
    type: string;
    /** The body. */
    content: string;
    created_at: string;
    /** Before this nobody sends it: it was tried, or a host is at it. */
    due_at: string;
    attempts: Generated<number>;
    /** Why the last attempt failed; null until one did. */
    last_error: string | null;
  };
  /** What webhooks were told, and what was given up. */
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
  /** Browsers that are an operator's. */
  sessions: {
    id: string;
    /** Of the half that is a cookie. */
    secret_hash: string;
    /** Of the half that the page keeps; empty in a row of an older version, which admits nobody. */
    page_hash: string;
    credential_id: string;
    /** Of the credential's secret when the session began: with another secret of the credential the session has ended. */
    credential_hash: string;
    created_at: string;
    expires_at: string;
  };
  /** Codes that begin a session, once. */
  one_time_codes: {
    id: string;
    secret_hash: string;
    credential_id: string;
    /** Of the credential's secret when the code was made. */
    credential_hash: string;
    expires_at: string;
    used_at: string | null;
  };
  /** The tools of MCP servers as somebody accepted them. */
  mcp_pins: {
    server: string;
    tool: string;
    /** Of the definition. */
    hash: string;
    /** Canonical JSON of what the server said. */
    definition: string;
    pinned_at: string;
    pinned_by: string;
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
