import { origin, rowBehind, type TenantHead } from "./chain.ts";
import type { KnownUses } from "./known-uses.ts";
import {
  nameOfRun,
  nameOfUse,
  type Alternative,
  type Claim,
  type CountedUse,
  type Found,
  type OptimisticBatch,
  type KeyColumns,
  type NewTurn,
  type Outcome,
  type Submission,
  type TurnRun,
  type TurnWrite,
  type Use,
  type Wanted,
  type Writes,
} from "./submission.ts";

/** What a batch has to read, in an order that is the same for all hosts, so that they do not deadlock. */
export function wantedBy(batch: readonly Submission[], strand: number): Wanted {
  const claims: Claim[] = [];
  const begins: NewTurn[] = [];
  const runs = new Map<string, TurnRun>();
  const uses = new Map<string, Use>();
  const tenants = new Set<string>();
  for (const { claim, begins: begun, turn, alternatives = [] } of batch) {
    if (claim !== undefined) claims.push(claim);
    if (begun !== undefined) begins.push(begun);
    if (turn !== undefined) runs.set(nameOfRun(turn), turn);
    for (const { uses: taken = [], left = [], entries, ended } of alternatives) {
      const { uses: returned = [], permit } = ended?.returned ?? {};
      for (const use of [...taken, ...left, ...returned, ...(permit ? [permit.permit] : [])])
        uses.set(nameOfUse(use), use);
      for (const entry of entries) tenants.add(entry.namespace_id);
    }
  }
  return {
    claims: claims.toSorted((one, other) => compareKeys(one.key, other.key)),
    begins: begins.toSorted((one, other) => compareTurns(one, other)),
    runs: [...runs.values()].toSorted((one, other) => compare(one.id, other.id)),
    uses: [...uses].toSorted(([one], [other]) => compare(one, other)).map(([, use]) => use),
    tenants: [...tenants].toSorted(),
    strand,
  };
}

/** Claims of the same key stay in their order. */
function compareKeys(one: KeyColumns, other: KeyColumns): number {
  return (
    compare(one.id, other.id) ||
    compare(one.scope, other.scope) ||
    compare(one.actor, other.actor) ||
    compare(one.kind, other.kind) ||
    compare(one.namespace_id, other.namespace_id)
  );
}

function compareTurns(one: NewTurn, other: NewTurn): number {
  return (
    compare(one.execution_id, other.execution_id) ||
    compare(one.actor, other.actor) ||
    compare(one.namespace_id, other.namespace_id)
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Decides a batch as if every key is free, and heads and uses are what this host knows; undefined when it has to read first. */
export function decideOptimistically(
  batch: readonly Submission[],
  { claims, begins, uses, tenants, strand }: Wanted,
  known: { heads: ReadonlyMap<string, TenantHead>; uses: KnownUses },
  revision?: number,
): (OptimisticBatch & { outcomes: Outcome[] }) | undefined {
  const { heads } = known;
  if (known.uses.areContested(uses) || !tenants.every((tenant) => heads.has(tenant))) return undefined;
  const used = known.uses.counts;
  const found = { taken: new Map(), known: new Set<string>(), lost: new Set<string>(), used, heads };
  const { outcomes, writes } = decideBatch(batch, found, strand);
  const givenBack = new Set(writes.givenBack);
  return { outcomes, writes, begins, before: heads, revision, claims: claims.filter((claim) => !givenBack.has(claim)) };
}

/** Decides a batch, one submission after the other: the outcome of each, and what is written. */
export function decideBatch(
  batch: readonly Submission[],
  { taken, known, lost, used: usedBefore, heads: headsBefore }: Found,
  strand: number,
): { outcomes: Outcome[]; writes: Writes } {
  /** The uses that something was decided on. */
  const counted = new Map<string, CountedUse>();
  const heads = new Map<string, TenantHead>();
  const writes: Writes = {
    givenBack: [],
    uses: [],
    rows: [],
    heads: [],
    endings: [],
    turns: [],
    notices: [],
    begunActs: [],
    waitingActs: [],
    endedActs: [],
  };
  const turns = new Map<string, TurnWrite>();

  const countOf = ({ namespaceId, grantId }: Use): CountedUse => {
    const name = nameOfUse({ namespaceId, grantId });
    const before = counted.get(name);
    if (before !== undefined) return before;
    const count = { namespaceId, grantId, used: usedBefore.get(name) ?? 0, taken: 0 };
    counted.set(name, count);
    return count;
  };
  const isAvailable = (use: Use): boolean => countOf(use).used < use.maxUses;
  const isLeft = ({ uses, left }: Alternative): boolean =>
    uses?.every(isAvailable) !== false && left?.every(isAvailable) !== false;
  const change = (use: Use, by: 1 | -1): void => {
    const count = countOf(use);
    const used = Math.max(0, count.used + by);
    count.taken += used - count.used;
    count.used = used;
  };
  const take = ({ uses = [], entries, begun, waiting, ended }: Alternative): void => {
    for (const use of uses) change(use, 1);
    // A permit comes back where the database says that it still counts.
    for (const use of ended?.returned?.uses ?? []) change(use, -1);
    if (begun !== undefined) writes.begunActs.push(begun);
    if (waiting !== undefined) writes.waitingActs.push(waiting);
    if (ended !== undefined) writes.endedActs.push(ended);
    for (const entry of entries) {
      const namespaceId = entry.namespace_id;
      const head = heads.get(namespaceId) ?? headsBefore.get(namespaceId) ?? { sequence: 0, hash: origin };
      const row = rowBehind(head, strand, entry);
      writes.rows.push(row);
      heads.set(namespaceId, { namespaceId, strand, sequence: row.sequence, hash: row.hash });
    }
  };
  const decide = ({ claim, begins, turn, alternatives = [], ending }: Submission): Outcome => {
    if (claim !== undefined && taken.has(claim.nonce)) return { kind: "taken", by: taken.get(claim.nonce) };
    if (begins !== undefined && known.has(begins.id)) return { kind: "known" };
    if (turn !== undefined && lost.has(nameOfRun(turn))) return { kind: "lost" };
    const alternative = alternatives.findIndex(isLeft);
    const chosen = alternatives[alternative];
    if (chosen !== undefined) take(chosen);
    const isRefused = alternatives.length > 0 && (chosen === undefined || chosen.isRefusal === true);
    if (turn !== undefined) {
      const written = isRefused ? { ...turn, entries: [] } : turn;
      turns.set(nameOfRun(turn), behind(turns.get(nameOfRun(turn)), written));
    }
    if (claim !== undefined && isRefused) writes.givenBack.push(claim);
    if (ending !== undefined) writes.endings.push(ending);
    return { kind: "written", alternative };
  };

  const outcomes = batch.map(decide);
  writes.uses = [...counted].toSorted(([one], [other]) => compare(one, other)).map(([, count]) => count);
  writes.heads = [...heads.values()];
  writes.turns = [...turns.values()];
  return { outcomes, writes };
}

/** Merges what one run writes in two submissions of a batch. */
function behind(first: TurnWrite | undefined, next: TurnWrite): TurnWrite {
  if (first === undefined) return next;
  const [stop, waits] = [next.stop ?? first.stop, next.waits ?? first.waits];
  const asker = next.asker ?? first.asker;
  return { ...next, entries: [...first.entries, ...next.entries], stop, waits, asker };
}
