import type { Step } from "../storage/index.ts";
import type { ActEnding, ActWrites } from "./submission.ts";

const keyColumns = "namespace_id text, actor text, scope text, id text, nonce text";
const beginActsSql = `insert into acts (namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content)
  select namespace_id, actor, scope, id, nonce, fingerprint, expires_at, content
  from json_to_recordset($1::json) as new(${keyColumns}, fingerprint text, expires_at text, content text)
  on conflict (namespace_id, actor, scope, id) do update set nonce = excluded.nonce, fingerprint = excluded.fingerprint,
    expires_at = excluded.expires_at, content = excluded.content, status = null, outcome = null, completed_at = null, is_late = 0`;
/** In the order of their keys, so that hosts that write the same rows do not deadlock. A statement can write a row once. */
const awaitActsSql = `insert into waiting_acts (namespace_id, actor, scope, id, ask, asked_at)
  select distinct on (namespace_id, actor, scope, id) namespace_id, actor, scope, id, ask, asked_at
  from json_to_recordset($1::json) as new(namespace_id text, actor text, scope text, id text, ask text, asked_at text)
  order by namespace_id, actor, scope, id, asked_at desc
  on conflict (namespace_id, actor, scope, id) do update set ask = excluded.ask, asked_at = excluded.asked_at`;
const endActsSql = `update acts set status = ended.status, outcome = ended.outcome, completed_at = ended.completed_at,
    is_late = ended.is_late
  from json_to_recordset($1::json) as ended(${keyColumns}, status text, outcome text, completed_at text, is_late integer)
  where acts.namespace_id = ended.namespace_id and acts.actor = ended.actor and acts.scope = ended.scope
    and acts.id = ended.id and acts.nonce = ended.nonce`;
/** INVARIANT: a permit that was withdrawn, has expired or lapsed, stays used. */
const returnPermitsSql = `update uses set used = 0
  from json_to_recordset($1::json) as returned(namespace_id text, grant_id text, escalation_id text, at text)
  where uses.namespace_id = returned.namespace_id and uses.grant_id = returned.grant_id and uses.used = 1
    and exists (select 1 from escalations where escalations.namespace_id = returned.namespace_id
      and escalations.id = returned.escalation_id and escalations.status = 'approved'
      and escalations.permit_expires_at > returned.at)`;

/** What a batch writes of acts; most batches nothing. */
export function actSteps({ begunActs, waitingActs, endedActs }: ActWrites): Step[] {
  if (begunActs.length + waitingActs.length + endedActs.length === 0) return [];
  const step = (sql: string, values: readonly unknown[]): Step[] =>
    values.length === 0 ? [] : [{ sql, rows: [[JSON.stringify(values)]] }];
  const ends = endedActs.map(({ returned: _returned, ...row }) => row);
  return [
    ...step(beginActsSql, begunActs),
    ...step(awaitActsSql, waitingActs),
    ...step(endActsSql, ends),
    ...step(returnPermitsSql, endedActs.flatMap(permitRow)),
  ];
}

function permitRow({ completed_at: at, returned }: ActEnding): object[] {
  const { permit, escalationId } = returned?.permit ?? {};
  if (permit === undefined) return [];
  return [{ namespace_id: permit.namespaceId, grant_id: permit.grantId, escalation_id: escalationId, at }];
}
