import type { Step } from "../storage/index.ts";
import type { ActEnding, NewActRow } from "./submission.ts";

const beginActSql = `insert into acts (namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content)
  values (?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (namespace_id, actor, scope, id) do update set nonce = excluded.nonce, fingerprint = excluded.fingerprint,
    expires_at = excluded.expires_at, content = excluded.content, status = null, outcome = null, completed_at = null, is_late = 0`;
const endActSql = `update acts set status = ?, outcome = ?, completed_at = ?, is_late = ?
  where namespace_id = ? and actor = ? and scope = ? and id = ? and nonce = ?`;
/** INVARIANT: a permit that was withdrawn, has expired or lapsed, stays used. */
const returnPermitSql = `update uses set used = 0 where namespace_id = ?1 and grant_id = ?2 and used = 1
  and exists (select 1 from escalations where escalations.namespace_id = ?1 and escalations.id = ?3
    and escalations.status = 'approved' and escalations.permit_expires_at > ?4)`;

/** What a batch writes of acts. */
export function actSteps(begun: readonly NewActRow[], ended: readonly ActEnding[]): Step[] {
  return [
    { sql: beginActSql, rows: begun.map(beginValues) },
    { sql: endActSql, rows: ended.map(endValues) },
    { sql: returnPermitSql, rows: ended.flatMap(permitValues) },
  ];
}

function beginValues(row: NewActRow): unknown[] {
  const { namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content } = row;
  return [namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content];
}

function endValues(ending: ActEnding): unknown[] {
  const { namespace_id, actor, scope, id, nonce, status, outcome, completed_at, is_late } = ending;
  return [status, outcome, completed_at, is_late, namespace_id, actor, scope, id, nonce];
}

function permitValues({ completed_at, returned }: ActEnding): unknown[][] {
  const { permit, escalationId } = returned?.permit ?? {};
  return permit === undefined ? [] : [[permit.namespaceId, permit.grantId, escalationId, completed_at]];
}
