import type { Step } from "../storage/index.ts";
import type { ActEnding, NewActRow, WaitingActRow, ActWrites } from "./submission.ts";

const beginActSql = `insert into acts (namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content)
  values (?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (namespace_id, actor, scope, id) do update set nonce = excluded.nonce, fingerprint = excluded.fingerprint,
    expires_at = excluded.expires_at, content = excluded.content, status = null, outcome = null, completed_at = null, is_late = 0`;
const awaitActSql = `insert into waiting_acts (namespace_id, actor, scope, id, ask, asked_at) values (?, ?, ?, ?, ?, ?)
  on conflict (namespace_id, actor, scope, id) do update set ask = excluded.ask, asked_at = excluded.asked_at`;
const endActSql = `update acts set status = ?, outcome = ?, completed_at = ?, is_late = ?
  where namespace_id = ? and actor = ? and scope = ? and id = ? and nonce = ?`;
/** INVARIANT: a permit that was withdrawn, has expired or lapsed, stays used. */
const returnPermitSql = `update uses set used = 0 where namespace_id = ?1 and grant_id = ?2 and used = 1
  and exists (select 1 from escalations where escalations.namespace_id = ?1 and escalations.id = ?3
    and escalations.status = 'approved' and escalations.permit_expires_at > ?4)`;

/** What a batch writes of acts. */
export function actSteps({ begunActs, waitingActs, endedActs }: ActWrites): Step[] {
  return [
    { sql: beginActSql, rows: begunActs.map(beginValues) },
    { sql: awaitActSql, rows: waitingActs.map(waitingValues) },
    { sql: endActSql, rows: endedActs.map(endValues) },
    { sql: returnPermitSql, rows: endedActs.flatMap(permitValues) },
  ];
}

function beginValues(row: NewActRow): unknown[] {
  const { namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content } = row;
  return [namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content];
}

function waitingValues({ namespace_id, actor, scope, id, ask, asked_at }: WaitingActRow): unknown[] {
  return [namespace_id, actor, scope, id, ask, asked_at];
}

function endValues(ending: ActEnding): unknown[] {
  const { namespace_id, actor, scope, id, nonce, status, outcome, completed_at, is_late } = ending;
  return [status, outcome, completed_at, is_late, namespace_id, actor, scope, id, nonce];
}

function permitValues({ completed_at, returned }: ActEnding): unknown[][] {
  const { permit, escalationId } = returned?.permit ?? {};
  return permit === undefined ? [] : [[permit.namespaceId, permit.grantId, escalationId, completed_at]];
}
