import { canonicalJson, parseInstant, type Grant } from "turnpike/contracts";
import type { GrantEntry } from "../admin-contract/index.ts";
import type { FileGrant } from "./grant-file.ts";

/** A grant that is to be issued. */
export type GrantDraft = Pick<Grant, "id" | "subject" | "issuer" | "capabilities" | "constraints" | "parentId">;

/** What makes the active grants of a tenant those of a file. */
export interface GrantDifference {
  /** Parents come before what is derived from them. */
  issue: GrantDraft[];
  /** Active grants that the file does not have. */
  revoke: Grant[];
  unchanged: number;
  /** Labels of grants of the file that are over, or are derived from one that is. */
  expired: string[];
}

/**
 * Compares a file with all grants of a tenant. A grant of the file is there already when one of the same content is: it retains
 * its id and its uses, also when they are all taken. Each one of the tenant matches one of the file.
 */
export function differenceOf(
  file: readonly FileGrant[],
  entries: readonly GrantEntry[],
  { now, makeId }: { now: string; makeId: () => string },
): GrantDifference {
  const matchable = entries.filter(({ state }) => matchableStates.has(state));
  const byContent = new Map<string, Grant[]>();
  for (const { grant } of matchable) {
    const key = contentKey(grant, grant.parentId);
    const same = byContent.get(key) ?? [];
    same.push(grant);
    byContent.set(key, same);
  }
  const labels = new Set(file.map(({ id }) => id));
  const taken = new Set(entries.map(({ grant }) => grant.id));
  const matched = new Set<string>();
  /** The id of the grant that matches each label; undefined for one that is over. */
  const idByLabel = new Map<string, string | undefined>();
  const difference: GrantDifference = { issue: [], revoke: [], unchanged: 0, expired: [] };

  const findSame = (grant: FileGrant, parentId: string | undefined): Grant | undefined => {
    const free = (byContent.get(contentKey(grant, parentId)) ?? []).filter(({ id }) => !matched.has(id));
    return free.find(({ id }) => id === grant.id) ?? free.find(({ id }) => !labels.has(id)) ?? free[0];
  };

  for (const grant of parentsFirst(file)) {
    const { id: label, parent, ...content } = grant;
    const parentId = parent === undefined ? undefined : idByLabel.get(parent);
    const isOrphan = parent !== undefined && parentId === undefined;
    const same = isOrphan ? undefined : findSame(grant, parentId);
    if (same !== undefined) {
      matched.add(same.id);
      idByLabel.set(label, same.id);
      difference.unchanged += 1;
    } else if (isOrphan || isOver(grant, now)) {
      idByLabel.set(label, undefined);
      difference.expired.push(label);
    } else {
      const id = taken.has(label) ? makeId() : label;
      taken.add(id);
      idByLabel.set(label, id);
      difference.issue.push({ id, ...content, ...(parentId !== undefined && { parentId }) });
    }
  }
  difference.revoke = matchable
    .filter(({ grant, state }) => activeStates.has(state) && !matched.has(grant.id))
    .map(({ grant }) => grant);
  return difference;
}

type State = GrantEntry["state"];

/** Those that allow something, now or later. */
export const activeStates: ReadonlySet<State> = new Set<State>(["live", "future"]);

/** Those that can match a grant of a file. One that was used up is not issued anew. */
const matchableStates: ReadonlySet<State> = new Set<State>(["live", "future", "exhausted", "expired"]);

function isOver({ constraints: { expiresAt } }: FileGrant, now: string): boolean {
  return expiresAt !== undefined && (parseInstant(expiresAt) ?? 0) <= (parseInstant(now) ?? 0);
}

/** Grants with every parent before what is derived from it. A file has no circles. */
function parentsFirst(grants: readonly FileGrant[]): FileGrant[] {
  const byLabel = new Map(grants.map((grant) => [grant.id, grant]));
  const ordered = new Set<FileGrant>();
  for (const grant of grants) {
    const above: FileGrant[] = [];
    for (let one: FileGrant | undefined = grant; one !== undefined && !ordered.has(one);) {
      above.push(one);
      one = one.parent === undefined ? undefined : byLabel.get(one.parent);
    }
    for (const one of above.toReversed()) ordered.add(one);
  }
  return [...ordered];
}

/** One text for grants that allow the same: the order of lists and the way of writing a time make no difference. */
function contentKey(
  { subject, issuer, capabilities, constraints }: Pick<Grant, "subject" | "issuer" | "capabilities" | "constraints">,
  parentId: string | undefined,
): string {
  const { purposes, notBefore, expiresAt, ...limits } = constraints;
  return canonicalJson({
    subject,
    issuer,
    capabilities: capabilities.map((one) => canonicalJson({ ...one, actions: setOf(one.actions) })).toSorted(),
    ...limits,
    ...(purposes && { purposes: setOf(purposes) }),
    ...(notBefore !== undefined && { notBefore: parseInstant(notBefore) }),
    ...(expiresAt !== undefined && { expiresAt: parseInstant(expiresAt) }),
    ...(parentId !== undefined && { parentId }),
  });
}

function setOf(words: readonly string[]): string[] {
  return [...new Set(words)].toSorted();
}
