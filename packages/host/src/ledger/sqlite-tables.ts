import {
  NothingChangedError,
  type Database,
  type RunSteps,
  type Schema,
  type Step,
  type StepResult,
} from "../storage/index.ts";
import type { TenantHead } from "./chain.ts";
import { actSteps } from "./sqlite-acts.ts";
import { beginSql, beginValues, runSql, turnSteps } from "./sqlite-turns.ts";
import {
  fencedOf,
  nameOfRun,
  nameOfUse,
  type Claim,
  type CountedUse,
  type Ending,
  type Found,
  type LedgerTables,
  type Notice,
  type ReplayRow,
  type Wanted,
  type Writes,
} from "./submission.ts";

/** One host has a file, and assumes no revision. Where several are simulated on one, they do. */
const sameRevisionSql = "update revision set value = value where value = ?";
/** A row with an empty actor is from before actors were stored: its id is taken for every actor. */
const claimSql = `insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
  select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 where not exists (select 1 from replay
    where namespace_id = ?1 and actor = '' and kind = ?3 and scope = ?4 and id = ?5)
  on conflict do nothing`;
const takenSql = `select * from replay where namespace_id = ? and actor in (?, '') and kind = ? and scope = ? and id = ?`;
const usedSql = "select namespace_id, grant_id, used from uses where namespace_id = ? and grant_id = ?";
const countSql = `insert into uses (namespace_id, grant_id, used) values (?, ?, ?)
  on conflict (namespace_id, grant_id) do update set used = excluded.used`;
/** Changes nothing when the count is another one than what was decided on. */
const takeSql = `insert into uses (namespace_id, grant_id, used) select ?1, ?2, ?3
  where coalesce((select used from uses where namespace_id = ?1 and grant_id = ?2), 0) = ?4
  on conflict (namespace_id, grant_id) do update set used = excluded.used`;
const headSql = `select namespace_id as "namespaceId", strand, sequence, hash from audit_heads
  where namespace_id = ? and strand = ?`;
const rowSql = `insert into audit (namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const newHeadSql = `insert into audit_heads (namespace_id, strand, sequence, hash) values (?, ?, ?, ?)
  on conflict do update set sequence = excluded.sequence, hash = excluded.hash`;
const moveHeadSql = `update audit_heads set sequence = ?, hash = ?
  where namespace_id = ? and strand = ? and sequence = ? and hash = ?`;
/** Changes nothing when another host has ended the claim: the nonce is gone. A claim is ended once. */
const finishSql = `update replay set result = case when finished_at is null then ?1 else result end,
    is_read = case when finished_at is null then ?2 else is_read end, finished_at = coalesce(finished_at, ?3)
  where namespace_id = ?4 and actor = ?5 and kind = ?6 and scope = ?7 and id = ?8 and claim = ?9`;
const releaseSql = `delete from replay where namespace_id = ? and actor = ? and kind = ? and scope = ? and id = ?
  and claim = ? and finished_at is null`;

const noticeSql = `insert into outbox (webhook, message, namespace_id, type, content, created_at, due_at)
  values (?, ?, ?, ?, ?, ?, ?)`;

/** The ledger on SQLite: each statement is run for every row, in two messages to the thread that writes. */
export function sqliteTables({ transact, hostId }: Pick<Database, "transact" | "hostId">): LedgerTables {
  const claimRow = ({ key, fingerprint, nonce }: Claim): unknown[] => [...keyOf(key), fingerprint, hostId, nonce];
  return {
    async commitOptimistic({ claims, begins, writes, before, revision }) {
      const { givenBack, uses, rows, heads, endings, turns, notices } = writes;
      const steps: Step[] = [
        { sql: sameRevisionSql, rows: revision === undefined ? [] : [[revision]], mustChange: true },
        { sql: claimSql, rows: [...claims, ...givenBack].map(claimRow), mustChange: true },
        { sql: beginSql, rows: begins.map((turn) => beginValues(turn, hostId)), mustChange: true },
        ...turnSteps(turns),
        { sql: takeSql, rows: uses.map((use) => [...countValues(use), use.used - use.taken]), mustChange: true },
        // Before the rows, so that a moved head is reported as such, and not as a duplicate row.
        { sql: moveHeadSql, rows: heads.map((head) => moveOf(head, before.get(head.namespaceId))), mustChange: true },
        { sql: rowSql, rows: rows.map(valuesOf) },
        { sql: noticeSql, rows: notices.map(noticeValues) },
        ...actSteps(writes),
        ...endingSteps(endings, givenBack),
      ];
      try {
        return fencedIn(endings, await transact((run) => runAll(run, steps)));
      } catch (error) {
        if (error instanceof NothingChangedError) return undefined;
        throw error;
      }
    },
    transact: (work) =>
      transact((run) => work({ begin: (wanted) => begin(run, wanted), commit: (writes) => commit(run, writes) })),
  };

  async function begin(run: RunSteps, { claims, begins, runs, uses, tenants, strand }: Wanted): Promise<Found> {
    const [claimed, begun, used, heads, ...owned] = await run([
      { sql: claimSql, rows: claims.map(claimRow) },
      { sql: beginSql, rows: begins.map((turn) => beginValues(turn, hostId)) },
      { sql: usedSql, rows: uses.map(({ namespaceId, grantId }) => [namespaceId, grantId]) },
      { sql: headSql, rows: tenants.map((tenant) => [tenant, strand]) },
      ...runs.map(({ id, run: number }) => ({ sql: runSql, rows: [[id, number]] })),
    ]);
    const refused = claims.filter((_claim, place) => claimed?.changes[place] === 0);
    const taken =
      refused.length === 0 ? [] : await run(refused.map(({ key }) => ({ sql: takenSql, rows: [keyOf(key)] })));
    return {
      taken: new Map(refused.map(({ nonce }, place) => [nonce, taken[place]?.rows[0] as unknown as ReplayRow])),
      known: new Set(begins.flatMap(({ id }, place) => (begun?.changes[place] === 0 ? [id] : []))),
      lost: new Set(runs.flatMap((each, place) => (owned[place]?.rows.length === 0 ? [nameOfRun(each)] : []))),
      used: new Map(
        ((used?.rows ?? []) as unknown as Schema["uses"][]).map((row) => [
          nameOfUse({ namespaceId: row.namespace_id, grantId: row.grant_id }),
          row.used,
        ]),
      ),
      heads: new Map(((heads?.rows ?? []) as unknown as TenantHead[]).map((head) => [head.namespaceId, head])),
    };
  }
}

async function commit(
  run: RunSteps,
  { givenBack, uses, rows, heads, endings, turns, notices, ...acts }: Writes,
): Promise<ReadonlySet<string>> {
  const steps: Step[] = [
    ...turnSteps(turns),
    { sql: countSql, rows: uses.filter(({ taken }) => taken !== 0).map(countValues) },
    { sql: rowSql, rows: rows.map(valuesOf) },
    { sql: noticeSql, rows: notices.map(noticeValues) },
    {
      sql: newHeadSql,
      rows: heads.map(({ namespaceId, strand, sequence, hash }) => [namespaceId, strand, sequence, hash]),
    },
    ...actSteps(acts),
    ...endingSteps(endings, givenBack),
  ];
  return fencedIn(endings, await runAll(run, steps));
}

/** Runs and commits the steps that have rows. Returns the result of the last step. */
async function runAll(run: RunSteps, steps: readonly Step[]): Promise<StepResult | undefined> {
  const results = await run(
    steps.filter((step) => step.rows.length > 0),
    "commit",
  );
  return steps.at(-1)?.rows.length === 0 ? undefined : results.at(-1);
}

function fencedIn(endings: readonly Ending[], finished: StepResult | undefined): ReadonlySet<string> {
  const stored = endings.filter(({ outcome }) => outcome.kind !== "released");
  return fencedOf(
    endings,
    stored.flatMap(({ nonce }, place) => (finished?.changes[place] === 0 ? [] : [nonce])),
  );
}

function countValues({ namespaceId, grantId, used }: CountedUse): unknown[] {
  return [namespaceId, grantId, used];
}

function valuesOf(row: Schema["audit"]): unknown[] {
  const { namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash } = row;
  return [namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash];
}

function noticeValues({ webhook, message, namespace_id, type, content, created_at, due_at }: Notice): string[] {
  return [webhook, message, namespace_id, type, content, created_at, due_at];
}

function moveOf({ namespaceId, strand, sequence, hash }: TenantHead, from: TenantHead | undefined): unknown[] {
  return [sequence, hash, namespaceId, strand, from?.sequence, from?.hash];
}

/** Writes the outcomes of claims. Each statement finds its claim by the nonce, so their order does not matter. */
function endingSteps(endings: readonly Ending[], givenBack: readonly Claim[]): Step[] {
  const now = new Date().toISOString();
  const released = endings.filter(({ outcome }) => outcome.kind === "released");
  return [
    { sql: releaseSql, rows: [...released, ...givenBack].map(({ key, nonce }) => [...keyOf(key), nonce]) },
    { sql: finishSql, rows: endings.flatMap((ending) => finishValues(ending, now)) },
  ];
}

function finishValues({ key, nonce, outcome }: Ending, now: string): unknown[][] {
  if (outcome.kind === "released") return [];
  const [result, isRead] = outcome.kind === "finished" ? [outcome.result, outcome.isRead ? 1 : 0] : [null, 0];
  return [[result, isRead, now, ...keyOf(key), nonce]];
}

function keyOf({ namespace_id, actor, kind, scope, id }: Claim["key"]): string[] {
  return [namespace_id, actor, kind, scope, id];
}
