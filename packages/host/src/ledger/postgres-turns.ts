import { ownEpoch, requireEpochSql } from "../storage/index.ts";
import type { NewTurn, TurnWrite } from "./submission.ts";

const beginColumns = `id text, namespace_id text, actor text, execution_id text, fingerprint text, is_async integer,
  heading text, content text, started_at text, updated_at text, bytes bigint, most_turns bigint, most_bytes bigint`;
const updateColumns = `id text, run integer, steps integer, tool_calls integer, ran_ms bigint, updated_at text,
  entries integer, events integer, is_stop boolean, status text, waiting text, result text, completed_at text, is_refused integer,
  bytes bigint`;

/**
 * A row with an empty actor is from before actors were stored: its id is taken for every actor. With a fixed order hosts do not
 * deadlock, and the first turn of a batch wins. INVARIANT: the open turns of an actor never exceed the limit: `open_turns_of`
 * lets one transaction at a time begin turns of an actor, and counts under its lock. A turn begins only if there is room for it
 * after all earlier turns of the actor in the batch.
 */
export const beginTurns = (rows: string, count: string, hostId: string): string =>
  `with given as materialized (select * from json_to_recordset(${rows}::json) as given(${beginColumns}, place integer)
    limit ${count}::integer),
  held as materialized (select starters.*, open.turn_count, open.byte_count
    from (select distinct namespace_id, actor from given order by namespace_id, actor) as starters
    cross join lateral open_turns_of(starters.namespace_id, starters.actor) as open)
  insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, host_id, run, heading, content,
    steps, tool_calls, ran_ms, entries, events, started_at, updated_at, bytes)
  select id, namespace_id, actor, execution_id, fingerprint, is_async, 'running', ${hostId}::integer, 1, heading, content,
    0, 0, 0, 0, 0, started_at, updated_at, bytes
  from (select given.*, row_number() over mine as turns_of_batch, sum(bytes) over mine as bytes_of_batch from given
    window mine as (partition by namespace_id, actor order by place)) as new
  join held using (namespace_id, actor)
  where not exists (select 1 from turns as old where old.namespace_id = new.namespace_id
    and old.execution_id = new.execution_id and old.actor = '')
    and turn_count + turns_of_batch <= most_turns and byte_count + bytes_of_batch <= most_bytes
    and ${requireEpochSql(ownEpoch, "place")}
  order by place on conflict do nothing returning id`;

/** The runs of a batch that may write, locked. */
export const ownRunsSql = `select id, run from turns where id = any($1::text[]) and host_id is not null
  order by id for update`;

/**
 * INVARIANT: each turn still has to belong to its run, which the writing statement checks. A turn that was cancelled meanwhile
 * does not begin to wait: the next host that takes it ends it.
 */
export const updateTurns = (rows: string, count: string): string =>
  `update turns set steps = new.steps, tool_calls = new.tool_calls, ran_ms = new.ran_ms, updated_at = new.updated_at,
    entries = new.entries, events = new.events,
    status = case when not new.is_stop or (new.status = 'waiting' and turns.is_cancelled = 1) then 'running'
      else new.status end,
    host_id = case when new.is_stop then null else turns.host_id end,
    waiting = case when turns.is_cancelled = 0 then new.waiting end, result = new.result,
    completed_at = new.completed_at, is_refused = new.is_refused,
    bytes = case when new.is_stop then new.bytes else turns.bytes end
  from (select * from json_to_recordset(${rows}::json) as given(${updateColumns}) limit ${count}::integer) as new
  where turns.id = new.id and turns.run = new.run and turns.host_id is not null returning turns.id, turns.status`;

/** Inserts the escalations that turns wait for, if the turn does wait. */
export const insertWaits = (rows: string, waiting: string): string =>
  `insert into turn_questions (turn, place, namespace_id, question_id, expires_at, content)
  select new.turn, new.place, new.namespace_id, new.question_id, new.expires_at, new.content
  from json_to_recordset(${rows}::json) as new(turn text, place integer, namespace_id text, question_id text,
    expires_at text, content text)
  join ${waiting} as stopped on stopped.id = new.turn where stopped.status = 'waiting'`;

/**
 * Lets the open escalations of a turn expire with its end. The task that marks expired escalations announces them. Each turn has
 * a lookup of its own, so that its escalations are found by their index.
 */
export const closeEscalations = (rows: string): string =>
  `update escalations set expires_at = found.ended_at, closed = '{"reason":"turn_ended"}'
  from (select asked.*, ended.ended_at
    from json_to_recordset(${rows}::json) as ended(namespace_id text, execution_id text, actor text, ended_at text)
    cross join lateral (select namespace_id, id from escalations as asked where asked.namespace_id = ended.namespace_id
      and asked.execution_id = ended.execution_id and asked.requester = ended.actor and asked.status = 'pending'
      and asked.expires_at > ended.ended_at and not exists (select 1 from turn_questions
        where turn_questions.namespace_id = asked.namespace_id and turn_questions.question_id = asked.id)
      offset 0) as asked) as found
  where escalations.namespace_id = found.namespace_id and escalations.id = found.id and escalations.status || '' = 'pending'`;

export const insertEntries = (rows: string): string =>
  `insert into turn_entries (turn, position, kind, sequence, content) select turn, position, kind, sequence, content
  from json_to_recordset(${rows}::json) as new(turn text, position integer, kind text, sequence integer, content text)`;

export function beginRow({ most, ...turn }: NewTurn, place: number): object {
  return { ...turn, most_turns: most.turns, most_bytes: most.bytes, place };
}

export function updateRow({ id, run, progress, stop }: TurnWrite): object {
  return { id, run, ...progress, is_refused: 0, ...stop, is_stop: stop !== undefined };
}
