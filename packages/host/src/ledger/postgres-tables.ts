import {
  OutdatedHostError,
  ownEpoch,
  requireEpochSql,
  type Database,
  type RunSteps,
  type Schema,
  type Step,
} from "../storage/index.ts";
import { origin, type TenantHead } from "./chain.ts";
import { actSteps } from "./postgres-acts.ts";
import {
  beginRow,
  beginTurns,
  insertEntries,
  closeEscalations,
  insertWaits,
  ownRunsSql,
  updateRow,
  updateTurns,
} from "./postgres-turns.ts";
import {
  fencedOf,
  nameOfRun,
  nameOfUse,
  type Claim,
  type CountedUse,
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
 * A row with an empty actor is from before actors were stored: its id is taken for every actor. The server could insert in any
 * order; with a fixed order hosts do not deadlock, and the first claim of a batch wins.
 */
const claimSql = `insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
  select namespace_id, actor, kind, scope, id, fingerprint, $2::integer, nonce
  from json_to_recordset($1::json) as wanted(${keyColumns}, fingerprint text, nonce text, place integer)
  where not exists (select 1 from replay as old where old.namespace_id = wanted.namespace_id and old.actor = ''
    and old.kind = wanted.kind and old.scope = wanted.scope and old.id = wanted.id)
    and ${requireEpochSql(ownEpoch, "place")}
  order by place on conflict do nothing returning claim`;
const takenSql = `select wanted.nonce, replay.* from json_to_recordset($1::json) as wanted(${keyColumns}, nonce text)
  join replay on replay.namespace_id = wanted.namespace_id and replay.actor in (wanted.actor, '')
    and replay.kind = wanted.kind and replay.scope = wanted.scope and replay.id = wanted.id`;
/** The row is made first, so that there is one to lock. */
const makeUsesSql = `insert into uses (namespace_id, grant_id, used)
  select namespace_id, grant_id, 0 from json_to_recordset($1::json) as wanted(namespace_id text, grant_id text)
  on conflict do nothing`;
const usedSql = `select namespace_id, grant_id, used from uses
  join json_to_recordset($1::json) as wanted(namespace_id text, grant_id text, place integer) using (namespace_id, grant_id)
  order by place for update of uses`;
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
/**
 * A claim is ended once: by the host that made it, or by another one that held that host for dead, which takes the nonce away. The
 * rows that a statement finds are those of claims that are still their host's.
 */
const isOwn = `replay.namespace_id = ended.namespace_id and replay.actor = ended.actor and replay.kind = ended.kind
  and replay.scope = ended.scope and replay.id = ended.id and replay.claim = ended.nonce`;
const finish = (
  rows: string,
  at: string,
): string => `update replay set finished_at = coalesce(replay.finished_at, ${at}::text),
    result = case when replay.finished_at is null then ended.result else replay.result end,
    is_read = case when replay.finished_at is null then ended.is_read else replay.is_read end
  from ${rows} where ${isOwn} returning ended.nonce`;
const finishSql = finish(
  `json_to_recordset($1::json) as ended(${keyColumns}, nonce text, result text, is_read integer)`,
  "$2",
);
const release = (rows: string): string =>
  `delete from replay using ${rows} where ${isOwn} and replay.finished_at is null`;
const releaseSql = release(`json_to_recordset($1::json) as ended(${keyColumns}, nonce text)`);

/** Rows of a batch. The limit is their number: without it the planner expects a hundred, and reads whole tables. */
const few = (rows: string, count: string, columns: string, name: string): string =>
  `(select * from json_to_recordset(${rows}::json) as given(${columns}) limit ${count}::integer) as ${name}`;

/** What only some batches write, and what has to be so after it. */
interface OptimisticPart {
  writes: string;
  isSo: string;
}

const countColumns = "namespace_id text, grant_id text, taken integer, used integer, place integer";
/**
 * Writes a whole batch at once. The statement checks what the decision assumed: a key that was not free, a head that has
 * moved, a use that another host took, another revision than the one that was read under, or an epoch that excludes this host, makes it
 * divide by zero, which rolls everything back. What it looks at first it writes first, and locks in the order in which `begin` does.
 */
const optimisticSql = (...parts: readonly OptimisticPart[]): string => `with
  claimed as (insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
    select namespace_id, actor, kind, scope, id, fingerprint, $3::integer, nonce
    from ${few("$1", "$2", `${keyColumns}, fingerprint text, nonce text, place integer`, "wanted")}
    where not exists (select 1 from replay as old where old.namespace_id = wanted.namespace_id and old.actor = ''
      and old.kind = wanted.kind and old.scope = wanted.scope and old.id = wanted.id)
      and ${requireEpochSql(ownEpoch, "place")}
    order by place on conflict do nothing returning 1),
  taken as (select 1 from ${few("$4", "$5", keyColumns, "wanted")}
    join replay on replay.namespace_id = wanted.namespace_id and replay.actor in (wanted.actor, '')
      and replay.kind = wanted.kind and replay.scope = wanted.scope and replay.id = wanted.id),
  moved as (update audit_heads set sequence = new.sequence, hash = new.hash
    from ${few("$6", "$7", `"namespaceId" text, strand integer, sequence bigint, hash text, "fromSequence" bigint, "fromHash" text`, "new")}
    where audit_heads.namespace_id = new."namespaceId" and audit_heads.strand = new.strand
      and audit_heads.sequence = new."fromSequence" and audit_heads.hash = new."fromHash" returning 1),
  kept as (${rowsSql.replace("$1", "$8")}),
  finished as (${finish(few("$10", "$11", `${keyColumns}, nonce text, result text, is_read integer`, "ended"), "$9")}),
  released as (${release(few("$12", "$13", `${keyColumns}, nonce text`, "ended"))})${parts.map((part) => part.writes).join("")}
  select 1 / (case when (select count(*) from claimed) = $2::integer and (select count(*) from taken) = 0
    and ${parts.map(({ isSo }) => `${isSo}\n    and `).join("")}(select count(*) from moved) = $7::integer
    and ($14::bigint is null or $14::bigint = (select value from revision)) then 1 else 0 end),
    (select json_agg(nonce) from finished) as own`;
const turnPart: OptimisticPart = {
  writes: `,
  begun as (${beginTurns("$15", "$16", "$3")}),
  written as (${updateTurns("$17", "$18")}),
  noted as (${insertEntries("$19")}),
  asked as (${insertWaits("$20", "written")}),
  closed as (${closeEscalations("$21")})`,
  isSo: "(select count(*) from begun) = $16::integer and (select count(*) from written) = $18::integer",
};
/** INVARIANT: a count that is not what the batch was decided on undoes it, also one of which the batch takes nothing. */
const usesPart = (rows: string, count: string): OptimisticPart => ({
  writes: `,
  counted as (insert into uses (namespace_id, grant_id, used)
    select namespace_id, grant_id, taken from ${few(rows, count, countColumns, "wanted")}
    order by place on conflict (namespace_id, grant_id) do update set used = uses.used + excluded.used
    returning namespace_id, grant_id, used)`,
  isSo: `(select count(*) from counted join ${few(rows, count, countColumns, "expected")} using (namespace_id, grant_id)
    where counted.used = expected.used) = ${count}::integer`,
});
/** A batch skips what only batches with turns, or with uses, need. */
const plainOptimisticSql = optimisticSql();
const usesOptimisticSql = optimisticSql(usesPart("$15", "$16"));
const turnOptimisticSql = optimisticSql(turnPart);
const wholeOptimisticSql = optimisticSql(turnPart, usesPart("$22", "$23"));
const beginTurnsSql = beginTurns("$1", "$2", "$3");
const updateTurnsSql = updateTurns("$1", "$2");
const waitsSql = insertWaits("$1", "turns");
const closeSql = closeEscalations("$1");
const entriesSql = insertEntries("$1");
const divisionByZero = "22012";

/** The ledger on PostgreSQL: one statement for each table and batch, whose rows are one JSON text. */
export function postgresTables({ transact, hostId }: Pick<Database, "transact" | "hostId">): LedgerTables {
  return {
    async commitOptimistic({ claims, begins, writes, before, revision }) {
      const { givenBack, uses, rows, heads, endings, turns, notices } = writes;
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
        revision,
      ];
      const turnValues =
        begins.length === 0 && turns.length === 0
          ? []
          : [
              ...counted(begins.map(beginRow)),
              ...counted(turns.map(updateRow)),
              JSON.stringify(turns.flatMap(({ entries }) => entries)),
              JSON.stringify(turns.flatMap(({ waits = [] }) => waits)),
              JSON.stringify(turns.flatMap(({ asker = [] }) => asker)),
            ];
      const useValues = uses.length === 0 ? [] : counted(uses.map(useRow));
      const [plain, withUses] =
        turnValues.length === 0 ? [plainOptimisticSql, usesOptimisticSql] : [turnOptimisticSql, wholeOptimisticSql];
      const sql = useValues.length === 0 ? plain : withUses;
      const step = { sql, rows: [[...values, ...turnValues, ...useValues]] };
      // Most batches have no notices, so the statement is a transaction by itself.
      const noted = notices.length === 0 ? [] : [{ sql: noticesSql, rows: [[JSON.stringify(notices)]] }];
      const steps = [step, ...noted, ...actSteps(writes)];
      try {
        const [written] = await transact((run) => run(steps, "commit"));
        const own = written?.rows[0]?.["own"] as readonly string[] | null | undefined;
        return fencedOf(endings, own ?? []);
      } catch (error) {
        if ((error as { code?: unknown }).code === divisionByZero) return undefined;
        throw error;
      }
    },
    async transact(work) {
      try {
        return await transact((run) =>
          work({ begin: (wanted) => begin(run, wanted), commit: (writes) => commit(run, writes) }),
        );
      } catch (cause) {
        throw (cause as { code?: unknown }).code === divisionByZero ? new OutdatedHostError({ cause }) : cause;
      }
    },
  };

  async function begin(run: RunSteps, { claims, begins, runs, uses, tenants, strand }: Wanted): Promise<Found> {
    const claimRows = claims.map(claimRow);
    const useRows = uses.map((use, place) => useRow({ ...use, used: 0, taken: 0 }, place));
    const newTurns = begins.length === 0 ? [] : [[JSON.stringify(begins.map(beginRow)), begins.length, hostId]];
    const [claimed, begun, owned, , used, heads] = await run([
      { sql: claimSql, rows: claims.length === 0 ? [] : [[JSON.stringify(claimRows), hostId]] },
      { sql: beginTurnsSql, rows: newTurns },
      { sql: ownRunsSql, rows: runs.length === 0 ? [] : [[runs.map(({ id }) => id)]] },
      ...[makeUsesSql, usedSql].map((sql) => ({ sql, rows: uses.length === 0 ? [] : [[JSON.stringify(useRows)]] })),
      { sql: headSql, rows: tenants.length === 0 ? [] : [[tenants, strand]] },
    ]);
    const firstOf = heads?.rows.length === tenants.length ? undefined : [...tenants];
    // The rows are made first, so that there are some to lock.
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

/** The names of the wanted items that were not found. */
function without<T>(wanted: readonly T[], nameOf: (each: T) => string, found: readonly string[]): Set<string> {
  const names = new Set(wanted.map(nameOf));
  for (const name of found) names.delete(name);
  return names;
}

function useRow({ namespaceId, grantId, used, taken }: CountedUse, place: number) {
  return { namespace_id: namespaceId, grant_id: grantId, used, taken, place };
}

function claimRow({ key, fingerprint, nonce }: Claim, place: number) {
  return { ...key, fingerprint, nonce, place };
}

async function commit(
  run: RunSteps,
  { givenBack, uses, rows, heads, endings, turns, notices, ...acts }: Writes,
): Promise<ReadonlySet<string>> {
  const step = (sql: string, values: readonly unknown[], ...rest: unknown[]): Step => ({
    sql,
    rows: values.length === 0 ? [] : [[JSON.stringify(values), ...rest]],
  });
  const counts = uses.filter(({ taken }) => taken !== 0).map(useRow);
  const written = await run(
    [
      step(updateTurnsSql, turns.map(updateRow), turns.length),
      step(
        waitsSql,
        turns.flatMap(({ waits = [] }) => waits),
      ),
      step(
        closeSql,
        turns.flatMap(({ asker = [] }) => asker),
      ),
      step(
        entriesSql,
        turns.flatMap(({ entries }) => entries),
      ),
      step(countSql, counts),
      step(rowsSql, rows),
      step(noticesSql, notices),
      ...actSteps(acts),
      step(newHeadsSql, heads),
      step(releaseSql, [...endings.flatMap(released), ...givenBack.map(({ key, nonce }) => ({ ...key, nonce }))]),
      step(finishSql, endings.flatMap(finished), new Date().toISOString()),
    ],
    "commit",
  );
  const own = (written.at(-1)?.rows ?? []).map(({ nonce }) => String(nonce));
  return fencedOf(endings, own);
}

function finished({ key, nonce, outcome }: Ending): object[] {
  if (outcome.kind === "released") return [];
  const [result, isRead] = outcome.kind === "finished" ? [outcome.result, outcome.isRead ? 1 : 0] : [null, 0];
  return [{ ...key, nonce, result, is_read: isRead }];
}

function released({ key, nonce, outcome }: Ending): object[] {
  return outcome.kind === "released" ? [{ ...key, nonce }] : [];
}
