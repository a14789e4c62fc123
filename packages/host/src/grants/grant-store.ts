import { parseInstant, principalKey, type Grant, type PrincipalRef } from "turnpike/contracts";
import { prepareGrant, type GrantScope, type GrantSource } from "turnpike/kernel";
import { columnText, mapInSlices, sha256, withBudget } from "../base/index.ts";
import type { Database, ReadCache, Revisions } from "../storage/index.ts";
import { findGrant, readContent, readContents, readDescendants, readHeld } from "./grant-reads.ts";
import {
  changeGrants,
  type GrantChanges,
  type GrantPlace,
  insertGrant,
  removeEnded,
  type Removed,
  revokeGrant,
  RevisionPassedError,
} from "./grant-writes.ts";
import { isMarkedRevoked, parseForKernel, parseGrant } from "./kept-grant.ts";

/**
 * The grants of every tenant. A revoked grant stays revoked whatever a clock says: the kernel sees it as revoked since it
 * was issued, and operators see when it was revoked.
 */
export interface GrantStore extends GrantSource<readonly Grant[]> {
  /** Grants as `load` finds them, but as they were at the scope's moment: one that was revoked since then counts. */
  loadKept(scope: GrantScope): Promise<readonly Grant[]>;
  /** Whether any tenant has a grant. */
  hasAny(): Promise<boolean>;
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** A grant as operators see it. */
  findKept(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Those of these grants that exist, by id, with few queries. */
  findAll(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** The same, as operators see them. */
  findAllKept(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /**
   * Stores a new grant, and with which credential an operator issued it, if one did. Throws when it does not fit the contract, or a
   * `GrantIdTakenError`.
   */
  issue(grant: Grant, madeWith?: string): Promise<void>;
  /** Revokes a grant at once and for good; false when there is none that could be revoked. */
  revoke(namespaceId: string, grantId: string, at: string): Promise<boolean>;
  /** Which grants of a tenant there are and are not revoked, and the revision at which that was so. */
  readState(namespaceId: string): Promise<{ state: string; revision: number }>;
  /**
   * Issues and revokes all of these grants of a tenant, or none of them; false when anything changed after the revision. Throws
   * like `issue`, and when a grant to revoke is not there or is revoked.
   */
  changeAll(namespaceId: string, changes: GrantChanges, revision: number): Promise<boolean>;
  /** Grants of a tenant as operators see them, by id, those after the grant `after`. */
  list(namespaceId: string, options: GrantFilter): Promise<Grant[]>;
  /** Removes grants that expired or were revoked before an instant, and their uses, among so many behind a place. */
  removeEnded(before: Date, behind: GrantPlace | undefined, most: number): Promise<Removed<GrantPlace>>;
  /** Grants that were derived directly from any of these, as operators see them, with few queries. */
  children(namespaceId: string, grantIds: readonly string[]): Promise<Grant[]>;
  /** Grants that were derived from this one, directly or through others, nearest first. */
  descendants(namespaceId: string, grantId: string, limit: number): Promise<Grant[]>;
}

/** Which grants to list. */
interface GrantFilter {
  /** The grant that they were derived directly from. */
  parent?: string | undefined;
  subject?: PrincipalRef | undefined;
  issuer?: PrincipalRef | undefined;
  after?: string | undefined;
  limit: number;
}

/**
 * Reads are cached and frozen, so that the kernel compiles a set of grants once for each revision. Of what an actor has ever
 * held, it gets what has not ended, and the little of the rest that explanations name.
 */
export function createGrantStore({ db, reports }: Database, cache: ReadCache, revisions: Revisions): GrantStore {
  const readSet = async (scope: GrantScope, moment: number, before: GrantSet | undefined): Promise<GrantSet> =>
    grantSet(await readHeld(db, scope, moment), moment, before);
  return {
    async hasAny() {
      return (await reports.selectFrom("grants").select("id").limit(1).executeTakeFirst()) !== undefined;
    },
    async load(scope) {
      const { namespaceId, actor, authority } = scope;
      const subject = columnText(principalKey(actor));
      const issuer = authority && columnText(principalKey(authority));
      const key = `grants ${subject}\0${issuer ?? ""}\0${namespaceId}`;
      const moment = momentOf(scope);
      // Never as of a moment to come: it would be of no use for the calls before it.
      const set = await cache.get<GrantSet>(key, (before) => readSet(scope, Math.min(moment, Date.now()), before));
      // What ended before the set was read had not ended yet for a clock that was put back.
      return (moment < set.since ? await readSet(scope, moment, set) : set).grants;
    },
    async loadKept(scope) {
      return mapInSlices(await readHeld(reports, scope, momentOf(scope)), parseGrant);
    },
    find: (namespaceId, grantId) =>
      cache.get(JSON.stringify(["grant", namespaceId, grantId]), () => findGrant(db, namespaceId, grantId)),
    async findKept(namespaceId, grantId) {
      const content = await readContent(reports, namespaceId, grantId);
      return content === undefined ? undefined : parseGrant(content);
    },
    async findAll(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reports, namespaceId, grantIds), parseForKernel));
    },
    async findAllKept(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reports, namespaceId, grantIds), parseGrant));
    },
    issue: (grant, madeWith) => revisions.write((transaction) => insertGrant(transaction, grant, madeWith)),
    async readState(namespaceId) {
      // The revision is read first: what comes behind it is at least as new.
      const { value } = await reports.selectFrom("revision").select("value").executeTakeFirstOrThrow();
      const all = reports.selectFrom("grants").select(["id", "content"]).orderBy("id");
      const rows = await all.where("namespace_id", "=", columnText(namespaceId)).execute();
      // A grant never changes but by its revocation.
      const kept = await mapInSlices(rows, ({ id, content }) => (isMarkedRevoked(content) ? [] : [id]));
      return { state: sha256(JSON.stringify(kept.flat())), revision: value };
    },
    async changeAll(namespaceId, changes, revision) {
      try {
        await revisions.write((transaction) => changeGrants(transaction, namespaceId, changes, revision));
        return true;
      } catch (error) {
        if (error instanceof RevisionPassedError) return false;
        throw error;
      }
    },
    async list(namespaceId, { parent, subject, issuer, after, limit }) {
      let all = reports
        .selectFrom("grants")
        .select("content")
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("id")
        .limit(limit);
      if (parent !== undefined) all = all.where("parent_id", "=", columnText(parent));
      if (subject !== undefined) all = all.where("subject", "=", columnText(principalKey(subject)));
      if (issuer !== undefined) all = all.where("issuer", "=", columnText(principalKey(issuer)));
      if (after !== undefined) all = all.where("id", ">", columnText(after));
      return mapInSlices(await all.execute(), ({ content }) => parseGrant(content));
    },
    removeEnded: (before, behind, most) => removeEnded(reports, revisions, { before, behind, most }),
    async children(namespaceId, grantIds) {
      return mapInSlices(await readContents(reports, namespaceId, grantIds, "parent_id"), parseGrant);
    },
    descendants: (namespaceId, grantId, limit) => readDescendants(reports, namespaceId, grantId, limit),
    revoke: (namespaceId, grantId, at) =>
      revisions.write((transaction) => revokeGrant(transaction, namespaceId, grantId, at)),
  };
}

/** Grants that were loaded together, also by what is kept of each. */
interface GrantSet {
  /** The moment as of which they were read: others may have counted before it. */
  readonly since: number;
  readonly grants: readonly Grant[];
  readonly byContent: ReadonlyMap<string, Grant>;
}

/** Of thousands of grants, a change leaves all but one as they were: they need not be read again, nor compiled. */
async function grantSet(contents: readonly string[], since: number, before: GrantSet | undefined): Promise<GrantSet> {
  const read = (content: string): Grant => before?.byContent.get(content) ?? prepared(parseForKernel(content));
  // Calls wait for a set as well, whoever asked for it first: it takes its time from no report's budget.
  const grants = await withBudget(undefined, () => mapInSlices(contents, read));
  const byContent = new Map(contents.map((content, place) => [content, grants[place] as Grant]));
  return { since, grants: Object.freeze(grants), byContent };
}

function momentOf({ now }: GrantScope): number {
  return parseInstant(now) ?? 0;
}

/** A grant that the kernel need not compile any more: for a set of thousands that would take long in one go. */
function prepared(grant: Grant): Grant {
  prepareGrant(grant);
  return grant;
}

function byId(grants: readonly Grant[]): Map<string, Grant> {
  return new Map(grants.map((grant) => [grant.id, grant]));
}
