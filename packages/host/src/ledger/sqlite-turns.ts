import type { Step } from "../storage/index.ts";
import type { NewTurn, TurnWrite } from "./submission.ts";

/** A row whose actor is empty is from before actors were kept: its id is taken, whoever asks. */
export const beginSql = `insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, host_id, run,
    heading, content, steps, tool_calls, ran_ms, entries, events, started_at, updated_at)
  select ?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, 1, ?8, ?9, 0, 0, 0, 0, 0, ?10, ?11 where not exists (select 1 from turns
    where namespace_id = ?2 and execution_id = ?4 and actor = '')
  on conflict do nothing`;
export const runSql = "select 1 from turns where id = ? and run = ? and host_id is not null";
/** Two statements: one that only counts touches no index. */
const progressSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?
  where id = ? and run = ? and host_id is not null`;
/** One that somebody cancelled meanwhile does not wait: whoever takes it ends it. */
const stopSql = `update turns set steps = ?, tool_calls = ?, ran_ms = ?, updated_at = ?, entries = ?, events = ?,
    status = case when ?7 = 'waiting' and is_cancelled = 1 then 'running' else ?7 end, host_id = null,
    question_id = case when is_cancelled = 0 then ?8 end, question_expires_at = case when is_cancelled = 0 then ?9 end,
    waiting = case when is_cancelled = 0 then ?10 end, result = ?11, completed_at = ?12, is_refused = ?13
  where id = ?14 and run = ?15 and host_id is not null`;
const entrySql = "insert into turn_entries (turn, position, kind, sequence, content) values (?, ?, ?, ?, ?)";

export function beginValues(turn: NewTurn, hostId: number): unknown[] {
  const { id, namespace_id, actor, execution_id, fingerprint, is_async, heading, content } = turn;
  const key = [id, namespace_id, actor, execution_id, fingerprint, is_async];
  return [...key, hostId, heading, content, turn.started_at, turn.updated_at];
}

/** INVARIANT: each turn has to be its run's still, which is looked at by the statement that writes. */
export function turnSteps(turns: readonly TurnWrite[]): Step[] {
  return [
    { sql: progressSql, rows: turns.filter(({ stop }) => stop === undefined).map(updateValues), mustChange: true },
    { sql: stopSql, rows: turns.filter(({ stop }) => stop !== undefined).map(updateValues), mustChange: true },
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
  const { status, question_id, question_expires_at, waiting, result, completed_at, is_refused } = stop;
  return [...counts, status, question_id, question_expires_at, waiting, result, completed_at, is_refused, id, run];
}
