import type { Database, RunSteps, Schema, Step } from "../storage/index.ts";
import { origin, type TenantHead } from "./chain.ts";
import {
  beginRow,
  beginTurns,
  insertEntries,
  insertQuestions,
  ownRunsSql,
  updateRow,
  updateTurns,
} from "./postgres-turns.ts";
import {
  nameOfRun,
  nameOfUse,
  type Claim,
  type Ending,
  type Found,
  type LedgerTables,
  type ReplayRow,
  type TurnRun,
  type Wanted,
  type Writes,
} from "./submission.ts";

const keyColumns = "namespace_id text, actor text, kind text, scope text, id text";

/**
 * A row whose actor is empty is from before actors were kept: its id is taken, whoever asks. The server would insert in
 * any order; in the one that is asked for, hosts do not wait for each other in a circle, and the first of a batch wins.
 */
const claimSql = `insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
  select namespace_id, actor, kind, scope, id, fingerprint, $2::integer, nonce
  from json_to_recordset($1::json) as wanted(${keyColumns}, fingerprint text, nonce text, place integer)
  where not exists (select 1 from replay as old where old.namespace_id = wanted.namespace_id and old.actor = ''
    and old.kind = wanted.kind and old.scope = wanted.scope and old.id = wanted.id)
  order by place on conflict do nothing returning claim`;
const takenSql = `select wanted.nonce, replay.* from json_to_recordset($1::json) as wanted(${keyColumns}, nonce text)
  join replay on replay.namespace_id = wanted.namespace_id and replay.actor in (wanted.actor, '')
    and replay.kind = wanted.kind and replay.scope = wanted.scope and replay.id = wanted.id`;
/** The row is made first, so that there is one to wait for. */
const makeUsesSql = `insert into uses (namespace_id, grant_id, used)
  select namespace_id, grant_id, 0 from json_to_recordset($1::json) as wanted(namespace_id text, grant_id text)
  on conflict do nothing`;
const usedSql = `select namespace_id, grant_id, used from uses
  where (namespace_id, grant_id) in (select namespace_id, grant_id
    from json_to_recordset($1::json) as wanted(namespace_id text, grant_id text))
  order by namespace_id, grant_id for update`;
const countSql = `update uses set used = wanted.used
  from json_to_recordset($1::json) as wanted(namespace_id text, grant_id text, used integer)
  where uses.namespace_id = wanted.namespace_id and uses.grant_id = wanted.grant_id`;
const headSql = `select namespace_id as "namespaceId", strand, sequence, hash from audit_heads
  where namespace_id = any($1::text[]) and strand = $2::integer order by namespace_id for update`;
const makeHeadsSql = `insert into audit_heads (namespace_id, strand, sequence, hash)
  select wanted, $2::integer, 0, $3::text from unnest($1::text[]) as wanted on conflict do nothing`;
const rowsSql = `insert into audit (namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash)
  select namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash
  from json_to_recordset($1::json) as new(namespace_id text, strand integer, sequence bigint, id text, type text,
    outcome text, at text, actor text, trace_id text, content text, hash text)`;
const newHeadsSql = `insert into audit_heads (namespace_id, strand, sequence, hash)
  select "namespaceId", strand, sequence, hash
  from json_to_recordset($1::json) as new("namespaceId" text, strand integer, sequence bigint, hash text)
  on conflict (namespace_id, strand) do update set sequence = excluded.sequence, hash = excluded.hash`;
const noticesSql = `insert into outbox (webhook, message, namespace_id, type, content, created_at, due_at)
  select webhook, message, namespace_id, type, content, created_at, due_at
  from json_to_recordset($1::json) as new(webhook text, message text, namespace_id text, type text, content text,
    created_at text, due_at text)`;
/** A claim ends once, by whoever made it. */
const isEnded = `replay.namespace_id = ended.namespace_id and replay.actor = ended.actor and replay.kind = ended.kind
  and replay.scope = ended.scope and replay.id = ended.id and replay.claim = ended.nonce and replay.finished_at is null`;
const finishSql = `update replay set result = ended.result, is_read = ended.is_read, finished_at = $2::text
  from json_to_recordset($1::json) as ended(${keyColumns}, nonce text, result text, is_read integer)
  where ${isEnded}`;
const releaseSql = `delete from replay using json_to_recordset($1::json) as ended(${keyColumns}, nonce text)
  where ${isEnded}`;

/** Rows of a batch. The limit is how many there are: without it the planner counts on a hundred, and reads whole tables. */
const few = (rows: string, count: string, columns: string, name: string): string =>
  `(select * from json_to_recordset(${rows}::json) as given(${columns}) limit ${count}::integer) as ${name}`;

/**
 * All of a batch at once. What it was decided upon is checked in the same statement: a key that was not free, or a head that
 * was moved, makes it divide by zero, which undoes everything.
 */
const guessSql = (turns = "", isSo = "true"): string => `with
  claimed as (insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
    select namespace_id, actor, kind, scope, id, fingerprint, $3::integer, nonce
    from ${few("$1", "$2", `${keyColumns}, fingerprint text, nonce text, place integer`, "wanted")}
    where not exists (select 1 from replay as old where old.namespace_id = wanted.namespace_id and old.actor = ''
      and old.kind = wanted.kind and old.scope = wanted.scope and old.id = wanted.id)
    order by place on conflict do nothing returning 1),
  taken as (select 1 from ${few("$4", "$5", keyColumns, "wanted")}
    join replay on replay.namespace_id = wanted.namespace_id and replay.actor in (wanted.actor, '')
      and replay.kind = wanted.kind and replay.scope = wanted.scope and replay.id = wanted.id),
  moved as (update audit_heads set sequence = new.sequence, hash = new.hash
    from ${few("$6", "$7", `"namespaceId" text, strand integer, sequence bigint, hash text, "fromSequence" bigint, "fromHash" text`, "new")}
    where audit_heads.namespace_id = new."namespaceId" and audit_heads.strand = new.strand
      and audit_heads.sequence = new."fromSequence" and audit_heads.hash = new."fromHash" returning 1),
  kept as (${rowsSql.replace("$1", "$8")}),
  finished as (update replay set result = ended.result, is_read = ended.is_read, finished_at = $9::text
    from ${few("$10", "$11", `${keyColumns}, nonce text, result text, is_read integer`, "ended")} where ${isEnded}),
  released as (delete from replay using ${few("$12", "$13", `${keyColumns}, nonce text`, "ended")} where ${isEnded})${turns}
  select 1 / (case when (select count(*) from claimed) = $2::integer and (select count(*) from taken) = 0
    and (select count(*) from moved) = $7::integer and ${isSo} then 1 else 0 end)`;
/** A batch without a turn does not pay for what only turns need. */
const plainGuessSql = guessSql();
const turnGuessSql = guessSql(
  `,
  begun as (${beginTurns("$14", "$15", "$3")}),
  written as (${updateTurns("$16", "$17")}),
  noted as (${insertEntries("$18")}),
  asked as (${insertQuestions("$19", "written")})`,
  "(select count(*) from begun) = $15::integer and (select count(*) from written) = $17::integer",
);
const beginTurnsSql = beginTurns("$1", "$2", "$3");
const updateTurnsSql = updateTurns("$1", "$2");
const questionsSql = insertQuestions("$1", "turns");
const entriesSql = insertEntries("$1");
const divisionByZero = "22012";

/** The ledger on PostgreSQL: one statement for each table and batch, whose rows are one JSON text. */
export function postgresTables({ transact, hostId }: Pick<Database, "transact" | "hostId">): LedgerTables {
  return {
    async commitGuess({ claims, begins, writes, before }) {
      const { givenBack, rows, heads, endings, turns, notices } = writes;
      const moves = heads.map((head) => {
        const from = before.get(head.namespaceId);
        return { ...head, fromSequence: from?.sequence, fromHash: from?.hash };
      });
      const [done, free] = [endings.flatMap(finished), endings.flatMap(released)];
      const counted = (values: readonly unknown[]): unknown[] => [JSON.stringify(values), values.length];
      const values = [
        ...counted(claims.map(claimRow)),
        hostId,
        ...counted(givenBack.map(({ key }) => key)),
        ...counted(moves),
        JSON.stringify(rows),
        new Date().toISOString(),
        ...counted(done),
        ...counted(free),
      ];
      const isWithTurns = begins.length > 0 || turns.length > 0;
      const turnValues = [
        ...counted(begins.map(beginRow)),
        ...counted(turns.map(updateRow)),
        JSON.stringify(turns.flatMap(({ entries }) => entries)),
        JSON.stringify(turns.flatMap(({ questions = [] }) => questions)),
      ];
      const step = isWithTurns
        ? { sql: turnGuessSql, rows: [[...values, ...turnValues]] }
        : { sql: plainGuessSql, rows: [values] };
      // Alone it is a transaction by itself, which most batches are.
      const steps = notices.length === 0 ? [step] : [step, { sql: noticesSql, rows: [[JSON.stringify(notices)]] }];
      try {
        await transact((run) => run(steps, "commit"));
        return true;
      } catch (error) {
        if ((error as { code?: unknown }).code === divisionByZero) return false;
        throw error;
      }
    },
    transact: (work) =>
      transact((run) => work({ begin: (wanted) => begin(run, wanted), commit: (writes) => commit(run, writes) })),
  };

  async function begin(run: RunSteps, { claims, begins, runs, uses, tenants, strand }: Wanted): Promise<Found> {
    const claimRows = claims.map(claimRow);
    const useRows = uses.map(({ namespaceId, grantId }) => ({ namespace_id: namespaceId, grant_id: grantId }));
    const newTurns = begins.length === 0 ? [] : [[JSON.stringify(begins.map(beginRow)), begins.length, hostId]];
    const [claimed, begun, owned, , used, heads] = await run([
      { sql: claimSql, rows: claims.length === 0 ? [] : [[JSON.stringify(claimRows), hostId]] },
      { sql: beginTurnsSql, rows: newTurns },
      { sql: ownRunsSql, rows: runs.length === 0 ? [] : [[runs.map(({ id }) => id)]] },
      ...[makeUsesSql, usedSql].map((sql) => ({ sql, rows: uses.length === 0 ? [] : [[JSON.stringify(useRows)]] })),
      { sql: headSql, rows: tenants.length === 0 ? [] : [[tenants, strand]] },
    ]);
    const firstOf = heads?.rows.length === tenants.length ? undefined : [...tenants];
    // The rows are made first, so that there are some to wait for.
    const [, madeHeads] = firstOf
      ? await run([
          { sql: makeHeadsSql, rows: [[firstOf, strand, origin]] },
          { sql: headSql, rows: [[firstOf, strand]] },
        ])
      : [];
    const made = new Set(claimed?.rows.map(({ claim }) => claim));
    const refused = claimRows.filter(({ nonce }) => !made.has(nonce));
    const taken =
      refused.length === 0 ? undefined : (await run([{ sql: takenSql, rows: [[JSON.stringify(refused)]] }]))[0];
    const takenBy = new Map(
      ((taken?.rows ?? []) as unknown as (ReplayRow & { nonce: string })[]).map((row) => [row.nonce, row]),
    );
    return {
      taken: new Map(refused.map(({ nonce }) => [nonce, takenBy.get(nonce)])),
      known: without(
        begins,
        ({ id }) => id,
        (begun?.rows ?? []).map(({ id }) => String(id)),
      ),
      lost: without(runs, nameOfRun, ((owned?.rows ?? []) as unknown as TurnRun[]).map(nameOfRun)),
      used: new Map(
        ((used?.rows ?? []) as unknown as Schema["uses"][]).map((row) => [
          nameOfUse({ namespaceId: row.namespace_id, grantId: row.grant_id }),
          row.used,
        ]),
      ),
      heads: new Map(
        (((madeHeads ?? heads)?.rows ?? []) as unknown as TenantHead[]).map((head) => [head.namespaceId, head]),
      ),
    };
  }
}

/** The names of those that were not found. */
function without<T>(wanted: readonly T[], nameOf: (each: T) => string, found: readonly string[]): Set<string> {
  const names = new Set(wanted.map(nameOf));
  for (const name of found) names.delete(name);
  return names;
}

function claimRow({ key, fingerprint, nonce }: Claim, place: number) {
  return { ...key, fingerprint, nonce, place };
}

async function commit(run: RunSteps, { givenBack, uses, rows, heads, endings, turns, notices }: Writes): Promise<void> {
  const step = (sql: string, values: readonly unknown[], ...rest: unknown[]): Step => ({
    sql,
    rows: values.length === 0 ? [] : [[JSON.stringify(values), ...rest]],
  });
  const counts = uses.map(({ namespaceId, grantId, used }) => ({ namespace_id: namespaceId, grant_id: grantId, used }));
  await run(
    [
      step(updateTurnsSql, turns.map(updateRow), turns.length),
      step(
        questionsSql,
        turns.flatMap(({ questions = [] }) => questions),
      ),
      step(
        entriesSql,
        turns.flatMap(({ entries }) => entries),
      ),
      step(countSql, counts),
      step(rowsSql, rows),
      step(noticesSql, notices),
      step(newHeadsSql, heads),
      step(finishSql, endings.flatMap(finished), new Date().toISOString()),
      step(releaseSql, [...endings.flatMap(released), ...givenBack.map(({ key, nonce }) => ({ ...key, nonce }))]),
    ],
    "commit",
  );
}

function finished({ key, nonce, outcome }: Ending): object[] {
  if (outcome.kind === "released") return [];
  const [result, isRead] = outcome.kind === "finished" ? [outcome.result, outcome.isRead ? 1 : 0] : [null, 0];
  return [{ ...key, nonce, result, is_read: isRead }];
}

function released({ key, nonce, outcome }: Ending): object[] {
  return outcome.kind === "released" ? [{ ...key, nonce }] : [];
}
