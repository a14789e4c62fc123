import type { Transaction } from "kysely";
import { parseInstant, principalKey, type Grant, type PrincipalRef } from "turnpike/contracts";
import { prepareGrant, type GrantScope, type GrantSource } from "turnpike/kernel";
import { columnText, mapInSlices, sha256, withBudget } from "../shared/index.ts";
import type { ClosedEscalation } from "../admin-contract/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";
import { findMaker, type MadeGrants, readMade } from "./grant-makers.ts";
import { findGrant, readContent, readContents, readDescendants, readHeld, readUnended } from "./grant-reads.ts";
import {
  type AfterClosing,
  changeGrants,
  type GrantChanges,
  type GrantPlace,
  insertGrant,
  removeEnded,
  type Removed,
  revokeGrant,
  RevisionPassedError,
} from "./grant-writes.ts";
import { isMarkedRevoked, parseForKernel, parseGrant } from "./stored-grant.ts";

/**
 * The grants of every tenant. A revoked grant stays revoked whatever a clock says: the kernel sees it as revoked since it
 * was issued, and operators see when it was revoked.
 */
export interface GrantStore extends GrantSource<readonly Grant[]> {
  /** Grants as `load` finds them, but as they were at the scope's instant: one that was revoked since then counts. */
  loadStored(scope: GrantScope): Promise<readonly Grant[]>;
  /** All grants of a tenant that have not ended at an instant, as the kernel sees them. */
  readUnended(namespaceId: string, at: string): Promise<readonly Grant[]>;
  /** Whether any tenant has a grant. */
  hasAny(): Promise<boolean>;
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** A grant as operators see it. */
  findStored(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Those of these grants that exist, by id, with few queries. */
  findAll(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** The same, as operators see them. */
  findAllStored(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /**
   * Stores a new grant, and with which credential an operator issued it, if one did. Throws when it does not fit the contract, a
   * `GrantIdTakenError`, a `MakerRevokedError`, or an `InvariantViolatedError`: what it allows from `at` on breaks a rule.
   */
  issue(grant: Grant, madeWith?: string, at?: string): Promise<void>;
  /** The credential that a grant was made with, as far as that was recorded. */
  findMaker(namespaceId: string, grantId: string): Promise<string | undefined>;
  /** The grants that were made with a credential and have not ended, as operators see them, among so many behind a place. */
  listMade(
    credentialId: string,
    at: string,
    page: { after?: GrantPlace | undefined; limit: number },
  ): Promise<MadeGrants>;
  /** Revokes a grant at once and for good; false when there is none that could be revoked. `also` is done with it. */
  revoke(namespaceId: string, grantId: string, at: string, also?: AfterClosing): Promise<boolean>;
  /** Revokes some grants of any tenants together, for good; returns those that were not revoked before. */
  revokeAll(grants: readonly Grant[], at: string, also?: AfterClosing): Promise<Grant[]>;
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

export interface GrantStoreOptions {
  /** Called with revoked grants, in the transaction that revokes them; closes the escalations that rest on them. */
  onRevoked?: (
    transaction: Transaction<Schema>,
    namespaceId: string,
    grantIds: readonly string[],
    at: string,
  ) => Promise<readonly ClosedEscalation[]>;
}

/**
 * Reads are cached and frozen, so that the kernel compiles a set of grants once for each revision. The kernel gets an actor's grants
 * that have not ended, and a few that have ended, for explanations of denials.
 */
export function createGrantStore(
  { db, reporting }: Database,
  cache: ReadCache,
  revisions: Revisions,
  { onRevoked = () => Promise.resolve([]) }: GrantStoreOptions = {},
): GrantStore {
  const readSet = async (scope: GrantScope, instant: number, before: GrantSet | undefined): Promise<GrantSet> =>
    grantSet(await readHeld(db, scope, instant), instant, before);
  return {
    async hasAny() {
      return (await reporting.selectFrom("grants").select("id").limit(1).executeTakeFirst()) !== undefined;
    },
    async load(scope) {
      const { namespaceId, actor, authority } = scope;
      const subject = columnText(principalKey(actor));
      const issuer = authority && columnText(principalKey(authority));
      const key = `grants ${subject}\0${issuer ?? ""}\0${namespaceId}`;
      const instant = instantOf(scope);
      // A set that was read as of a future instant could not serve the calls before that instant.
      const set = await cache.get<GrantSet>(key, (before) => readSet(scope, Math.min(instant, Date.now()), before));
      // If the clock was set back, grants that the cached set left out as ended have not ended yet, so the set is read again.
      return (instant < set.since ? await readSet(scope, instant, set) : set).grants;
    },
    async loadStored(scope) {
      return mapInSlices(await readHeld(reporting, scope, instantOf(scope)), parseGrant);
    },
    readUnended: (namespaceId, at) => readUnended(reporting, namespaceId, at),
    find: (namespaceId, grantId) =>
      cache.get(JSON.stringify(["grant", namespaceId, grantId]), () => findGrant(db, namespaceId, grantId)),
    async findStored(namespaceId, grantId) {
      const content = await readContent(reporting, namespaceId, grantId);
      return content === undefined ? undefined : parseGrant(content);
    },
    async findAll(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reporting, namespaceId, grantIds), parseForKernel));
    },
    async findAllStored(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reporting, namespaceId, grantIds), parseGrant));
    },
    issue: (grant, madeWith, at = new Date().toISOString()) =>
      revisions.write((transaction) => insertGrant(transaction, grant, { at, madeWith })),
    findMaker: (namespaceId, grantId) => findMaker(reporting, namespaceId, grantId),
    listMade: (credentialId, at, page) => readMade(reporting, credentialId, at, page),
    revokeAll: (grants, at, also) =>
      revisions.write(async (transaction) => {
        const revoked: Grant[] = [];
        for (const grant of grants)
          if (await revokeGrant(transaction, grant.namespaceId, grant.id, at)) revoked.push(grant);
        const closed: ClosedEscalation[] = [];
        for (const tenant of new Set(revoked.map(({ namespaceId }) => namespaceId))) {
          const ids = revoked.flatMap(({ namespaceId, id }) => (namespaceId === tenant ? id : []));
          closed.push(...(await onRevoked(transaction, tenant, ids, at)));
        }
        await also?.(transaction, closed);
        return revoked;
      }),
    async readState(namespaceId) {
      // The revision is read first: what comes behind it is at least as new.
      const { value } = await reporting.selectFrom("revision").select("value").executeTakeFirstOrThrow();
      const all = reporting.selectFrom("grants").select(["id", "content"]).orderBy("id");
      const rows = await all.where("namespace_id", "=", columnText(namespaceId)).execute();
      // A grant never changes but by its revocation.
      const unrevoked = await mapInSlices(rows, ({ id, content }) => (isMarkedRevoked(content) ? [] : [id]));
      return { state: sha256(JSON.stringify(unrevoked.flat())), revision: value };
    },
    async changeAll(namespaceId, changes, revision) {
      try {
        await revisions.write(async (transaction) => {
          await changeGrants(transaction, namespaceId, changes, revision);
          const { revoke, at, also } = changes;
          const closed = revoke.length === 0 ? [] : await onRevoked(transaction, namespaceId, revoke, at);
          await also?.(transaction, closed);
        });
        return true;
      } catch (error) {
        if (error instanceof RevisionPassedError) return false;
        throw error;
      }
    },
    async list(namespaceId, { parent, subject, issuer, after, limit }) {
      let all = reporting
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
    removeEnded: (before, behind, most) => removeEnded(reporting, revisions, { before, behind, most }),
    async children(namespaceId, grantIds) {
      return mapInSlices(await readContents(reporting, namespaceId, grantIds, "parent_id"), parseGrant);
    },
    descendants: (namespaceId, grantId, limit) => readDescendants(reporting, namespaceId, grantId, limit),
    revoke: (namespaceId, grantId, at, also) =>
      revisions.write(async (transaction) => {
        if (!(await revokeGrant(transaction, namespaceId, grantId, at))) return false;
        const closed = await onRevoked(transaction, namespaceId, [grantId], at);
        await also?.(transaction, closed);
        return true;
      }),
  };
}

/** Grants that were loaded together. */
interface GrantSet {
  /** The instant as of which they were read. At an earlier one, grants that are not in this set may have been live. */
  readonly since: number;
  readonly grants: readonly Grant[];
  readonly byContent: ReadonlyMap<string, Grant>;
}

/** Makes a set of the stored contents. Grants whose content is in the set before are not parsed and compiled again. */
async function grantSet(contents: readonly string[], since: number, before: GrantSet | undefined): Promise<GrantSet> {
  const read = (content: string): Grant => before?.byContent.get(content) ?? prepared(parseForKernel(content));
  // Calls wait for a set as well, even when a report asked for it first: it does not count against a report's budget.
  const grants = await withBudget(undefined, () => mapInSlices(contents, read));
  const byContent = new Map(contents.map((content, place) => [content, grants[place] as Grant]));
  return { since, grants: Object.freeze(grants), byContent };
}

function instantOf({ now }: GrantScope): number {
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
