import type { ColumnType, GeneratedAlways } from "kysely";

/** JSON and principals are text columns: the same queries run on SQLite and PostgreSQL. */
export interface Schema {
  revision: { id: number; value: number };
  hosts: { id: GeneratedAlways<number>; started_at: string };
  grants: { namespace_id: string; id: string; subject: string; issuer: string; content: string };
  uses: { namespace_id: string; grant_id: string; used: number };
  namespace_settings: { namespace_id: string; actor: string; enabled: string };
  credentials: {
    id: string;
    namespace_id: string;
    secret_hash: string;
    access: string;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
  };
  audit_heads: { namespace_id: string; sequence: number; hash: string };
  audit: {
    namespace_id: string;
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
  replay: {
    namespace_id: string;
    kind: string;
    scope: string;
    id: string;
    fingerprint: string;
    host_id: number;
    result: ColumnType<string | null, string | null, string | null>;
    finished_at: string | null;
  };
  files: {
    namespace_id: string;
    owner: string;
    path: string;
    version: number;
    content: string;
    updated_at: string;
  };
}
