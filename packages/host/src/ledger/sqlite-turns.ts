import type { Schema, Step } from "../storage/index.ts";
import type { NewTurn, TurnAsker, TurnWrite } from "./submission.ts";

/**
 * A row with an empty actor is from before actors were stored: its id is taken for every actor. INVARIANT: the open turns of an
 * actor never exceed the limit.
 */
export const beginSql = `insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, host_id, run,
    heading, content, steps, tool_calls, ran_ms, entries, events, started_at, updated_at, bytes)
  select ?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, 1, ?8, ?9, 0, 0, 0, 0, 0, ?10, ?11, ?12
  where not exists (select 1 from turns where namespace_id = ?2 and execution_id = ?4 and actor = '')
    and (select count(*) < ?13 and coalesce(sum(bytes), 0) + ?12 <= ?14 from turns
      where namespace_id = ?2 and actor = ?3 and completed_at is null)
  on conflict do nothing`;
export const runSql = "select 1 from turns where id = ? and run = ? and host_id is not null";
/** A statement of its own: one that only updates counters touches no index. */
const progressSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?
  where id = ? and run = ? and host_id is not null`;
/** A turn that was cancelled meanwhile does not begin to wait: the next host that takes it ends it. */
const stopSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?,
    status = case when ?7 = 'waiting' and is_cancelled = 1 then 'running' else ?7 end, host_id = null,
    waiting = case when is_cancelled = 0 then ?8 end, result = ?9, completed_at = ?10, is_refused = ?11, bytes = ?12
  where id = ?13 and run = ?14 and host_id is not null`;
const waitSql = `insert into turn_questions (turn, place, namespace_id, question_id, expires_at, content)
  select ?1, ?2, ?3, ?4, ?5, ?6 where exists (select 1 from turns where id = ?1 and status = 'waiting')`;
const closeSql = `update escalations set expires_at = ?1, closed = '{"reason":"turn_ended"}'
  where namespace_id = ?2 and execution_id = ?3 and requester || '' = ?4 and status = 'pending' and expires_at > ?1
    and not exists (select 1 from turn_questions where turn_questions.namespace_id = ?2
      and turn_questions.question_id = escalations.id)`;
const entrySql = "insert into turn_entries (turn, position, kind, sequence, content) values (?, ?, ?, ?, ?)";

export function beginValues(turn: NewTurn, hostId: number): unknown[] {
  const { id, namespace_id, actor, execution_id, fingerprint, is_async, heading, content } = turn;
  const key = [id, namespace_id, actor, execution_id, fingerprint, is_async];
  const { bytes, most } = turn;
  return [...key, hostId, heading, content, turn.started_at, turn.updated_at, bytes, most.turns, most.bytes];
}

/** INVARIANT: each turn still has to belong to its run, which the writing statement checks. */
export function turnSteps(turns: readonly TurnWrite[]): Step[] {
  return [
    { sql: progressSql, rows: turns.filter(({ stop }) => stop === undefined).map(updateValues), mustChange: true },
    { sql: stopSql, rows: turns.filter(({ stop }) => stop !== undefined).map(updateValues), mustChange: true },
    { sql: waitSql, rows: turns.flatMap(({ waits = [] }) => waits.map(waitValues)) },
    { sql: closeSql, rows: turns.flatMap(({ asker }) => (asker === undefined ? [] : [askerValues(asker)])) },
    {
      sql: entrySql,
      rows: turns.flatMap(({ entries }) =>
        entries.map(({ turn, position, kind, sequence, content }) => [turn, position, kind, sequence, content]),
      ),
    },
  ];
}

function updateValues({ id, run, progress, stop }: TurnWrite): unknown[] {
  const { steps, tool_calls, ran_ms, updated_at, entries, events } = progress;
  const counts = [steps, tool_calls, ran_ms, updated_at, entries, events];
  if (stop === undefined) return [...counts, id, run];
  const { status, waiting, result, completed_at, is_refused, bytes } = stop;
  return [...counts, status, waiting, result, completed_at, is_refused, bytes, id, run];
}

function askerValues({ ended_at, namespace_id, execution_id, actor }: TurnAsker): unknown[] {
  return [ended_at, namespace_id, execution_id, actor];
}

function waitValues(row: Schema["turn_questions"]): unknown[] {
  const { turn, place, namespace_id, question_id, expires_at, content } = row;
  return [turn, place, namespace_id, question_id, expires_at, content];
}
