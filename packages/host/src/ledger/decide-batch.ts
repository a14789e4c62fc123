import { origin, rowBehind, type TenantHead } from "./chain.ts";
import {
  nameOfKey,
  nameOfUse,
  type Alternative,
  type Found,
  type Outcome,
  type Submission,
  type Use,
  type Wanted,
  type Writes,
} from "./submission.ts";

/** What a batch has to know; in an order that is the same for all hosts, so that none waits for another in a circle. */
export function wantedBy(batch: readonly Submission[], strand: number): Wanted {
  const alternatives = batch.flatMap((submission) => submission.alternatives ?? []);
  const uses = new Map(alternatives.flatMap(({ use }) => (use ? [[nameOfUse(use), use]] : [])));
  return {
    claims: batch
      .flatMap(({ claim }) => claim ?? [])
      .toSorted((one, other) => compare(nameOfKey(one.key), nameOfKey(other.key))),
    uses: [...uses.values()].toSorted((one, other) => compare(nameOfUse(one), nameOfUse(other))),
    tenants: [...new Set(alternatives.flatMap(({ entries }) => entries.map((entry) => entry.namespace_id)))].toSorted(),
    strand,
  };
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Decides a batch, one submission after the other: what becomes of each, and what is written. */
export function decideBatch(
  batch: readonly Submission[],
  { taken, used: usedBefore, heads: headsBefore }: Found,
  strand: number,
): { outcomes: Outcome[]; writes: Writes } {
  const used = new Map(usedBefore);
  const counted = new Map<string, Use>();
  const heads = new Map<string, TenantHead>();
  const writes: Writes = { uses: [], rows: [], heads: [], endings: [] };

  const isLeft = ({ use }: Alternative): boolean => use === undefined || (used.get(nameOfUse(use)) ?? 0) < use.maxUses;
  const take = ({ use, entries }: Alternative): void => {
    if (use !== undefined) {
      const name = nameOfUse(use);
      used.set(name, (used.get(name) ?? 0) + 1);
      counted.set(name, use);
    }
    for (const entry of entries) {
      const namespaceId = entry.namespace_id;
      const head = heads.get(namespaceId) ?? headsBefore.get(namespaceId) ?? { sequence: 0, hash: origin };
      const row = rowBehind(head, strand, entry);
      writes.rows.push(row);
      heads.set(namespaceId, { namespaceId, strand, sequence: row.sequence, hash: row.hash });
    }
  };
  const decide = ({ claim, alternatives = [], ending }: Submission): Outcome => {
    if (claim !== undefined && taken.has(claim.nonce)) return { kind: "taken", by: taken.get(claim.nonce) };
    const alternative = alternatives.findIndex(isLeft);
    const chosen = alternatives[alternative];
    if (chosen !== undefined) take(chosen);
    const isRefused = alternatives.length > 0 && (chosen === undefined || chosen.isRefusal === true);
    if (claim !== undefined && isRefused) writes.endings.push({ ...claim, outcome: { kind: "released" } });
    if (ending !== undefined) writes.endings.push(ending);
    return { kind: "kept", alternative };
  };

  const outcomes = batch.map(decide);
  writes.uses = Array.from(counted, ([name, { namespaceId, grantId }]) => ({
    namespaceId,
    grantId,
    used: used.get(name) ?? 0,
  }));
  writes.heads = [...heads.values()];
  return { outcomes, writes };
}
