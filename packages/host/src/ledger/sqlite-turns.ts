import type { Schema, Step } from "../storage/index.ts";
import type { NewTurn, TurnWrite } from "./submission.ts";

/**
 * A row whose actor is empty is from before actors were kept: its id is taken, whoever asks. INVARIANT: an actor's turns that
 * have not ended are never more than may be.
 */
export const beginSql = `insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, host_id, run,
    heading, content, steps, tool_calls, ran_ms, entries, events, started_at, updated_at, bytes)
  select ?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, 1, ?8, ?9, 0, 0, 0, 0, 0, ?10, ?11, ?12
  where not exists (select 1 from turns where namespace_id = ?2 and execution_id = ?4 and actor = '')
    and (select count(*) < ?13 and coalesce(sum(bytes), 0) + ?12 <= ?14 from turns
      where namespace_id = ?2 and actor = ?3 and completed_at is null)
  on conflict do nothing`;
export const runSql = "select 1 from turns where id = ? and run = ? and host_id is not null";
/** Two statements: one that only counts touches no index. */
const progressSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?
  where id = ? and run = ? and host_id is not null`;
/** One that somebody cancelled meanwhile does not wait: whoever takes it ends it. */
const stopSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?,
    status = case when ?7 = 'waiting' and is_cancelled = 1 then 'running' else ?7 end, host_id = null,
    waiting = case when is_cancelled = 0 then ?8 end, result = ?9, completed_at = ?10, is_refused = ?11, bytes = ?12
  where id = ?13 and run = ?14 and host_id is not null`;
const questionSql = `insert into turn_questions (turn, place, namespace_id, question_id, expires_at, content)
  select ?1, ?2, ?3, ?4, ?5, ?6 where exists (select 1 from turns where id = ?1 and status = 'waiting')`;
const entrySql = "insert into turn_entries (turn, position, kind, sequence, content) values (?, ?, ?, ?, ?)";

export function beginValues(turn: NewTurn, hostId: number): unknown[] {
  const { id, namespace_id, actor, execution_id, fingerprint, is_async, heading, content } = turn;
  const key = [id, namespace_id, actor, execution_id, fingerprint, is_async];
  const { bytes, most } = turn;
  return [...key, hostId, heading, content, turn.started_at, turn.updated_at, bytes, most.turns, most.bytes];
}

/** INVARIANT: each turn has to be its run's still, which is looked at by the statement that writes. */
export function turnSteps(turns: readonly TurnWrite[]): Step[] {
  return [
    { sql: progressSql, rows: turns.filter(({ stop }) => stop === undefined).map(updateValues), mustChange: true },
    { sql: stopSql, rows: turns.filter(({ stop }) => stop !== undefined).map(updateValues), mustChange: true },
    { sql: questionSql, rows: turns.flatMap(({ questions = [] }) => questions.map(questionValues)) },
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

function questionValues(row: Schema["turn_questions"]): unknown[] {
  const { turn, place, namespace_id, question_id, expires_at, content } = row;
  return [turn, place, namespace_id, question_id, expires_at, content];
}
