import {
  describeIssues,
  GrantSchema,
  parseInstant,
  principalKey,
  type Grant,
  type PrincipalRef,
} from "turnpike/contracts";
import { sql, type Kysely, type Transaction } from "kysely";
import { prepareGrant, type GrantSource } from "turnpike/kernel";
import { columnText, deepFreeze, mapInSlices, sha256 } from "../base/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";

/**
 * The grants of every tenant. A revoked grant stays revoked whatever a clock says: the kernel sees it as revoked since it
 * was issued, and operators see when it was revoked.
 */
export interface GrantStore extends GrantSource {
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** A grant as operators see it. */
  findKept(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Those of these grants that exist, by id, with few queries. */
  findAll(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** The same, as operators see them. */
  findAllKept(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** Stores a new grant. Throws when it does not fit the contract, or a `GrantIdTakenError`. */
  issue(grant: Grant): Promise<void>;
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

/** Where a grant stands among those of all tenants. */
export type GrantPlace = Pick<Schema["grants"], "namespace_id" | "id">;

/** How many rows went, and behind which place to go on; none behind the last. */
interface Removed<Place> {
  removed: number;
  next?: Place;
}

/** Grants of one tenant to issue, and ids of grants to revoke at an instant. */
export interface GrantChanges {
  issue: readonly Grant[];
  revoke: readonly string[];
  at: string;
}

/** How many ids one statement may hold on either database, and how many rows. */
const [idsAtOnce, rowsAtOnce] = [1000, 100];

/** Which grants to list. */
interface GrantFilter {
  subject?: PrincipalRef | undefined;
  issuer?: PrincipalRef | undefined;
  after?: string | undefined;
  limit: number;
}

/** Reads are cached and frozen, so that the kernel compiles a set of grants once for each revision. */
export function createGrantStore({ db, reports }: Database, cache: ReadCache, revisions: Revisions): GrantStore {
  return {
    load({ namespaceId, actor, authority }) {
      const subject = columnText(principalKey(actor));
      const issuer = authority && columnText(principalKey(authority));
      return cache.get(JSON.stringify(["grants", namespaceId, subject, issuer]), async () => {
        const all = db
          .selectFrom("grants")
          .select("content")
          .where("namespace_id", "=", columnText(namespaceId))
          .where("subject", "=", subject)
          // Not by the column itself: to save sorting a few, SQLite would read all grants of the tenant in its order.
          .orderBy(sql`id || ''`);
        const rows = await (issuer === undefined ? all : all.where("issuer", "=", issuer)).execute();
        return Object.freeze(await mapInSlices(rows, ({ content }) => prepared(parse(content))));
      });
    },
    find: (namespaceId, grantId) =>
      cache.get(JSON.stringify(["grant", namespaceId, grantId]), () => findGrant(db, namespaceId, grantId)),
    async findKept(namespaceId, grantId) {
      const content = await readContent(reports, namespaceId, grantId);
      return content === undefined ? undefined : parseGrant(content);
    },
    async findAll(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reports, namespaceId, grantIds), parse));
    },
    async findAllKept(namespaceId, grantIds) {
      return byId(await mapInSlices(await readContents(reports, namespaceId, grantIds), parseGrant));
    },
    issue: (grant) => revisions.write((transaction) => insertGrant(transaction, grant)),
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
    async list(namespaceId, { subject, issuer, after, limit }) {
      let all = reports
        .selectFrom("grants")
        .select("content")
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("id")
        .limit(limit);
      if (subject !== undefined) all = all.where("subject", "=", columnText(principalKey(subject)));
      if (issuer !== undefined) all = all.where("issuer", "=", columnText(principalKey(issuer)));
      if (after !== undefined) all = all.where("id", ">", columnText(after));
      return mapInSlices(await all.execute(), ({ content }) => parseGrant(content));
    },
    async removeEnded(before, behind, most) {
      let all = reports.selectFrom("grants").select(["namespace_id", "id", "content"]);
      if (behind !== undefined)
        all = all.where(sql<boolean>`(namespace_id, id) > (${behind.namespace_id}, ${behind.id})`);
      const rows = await all.orderBy("namespace_id").orderBy("id").limit(most).execute();
      const ended = rows.filter(({ content }) => endOf(parseKept(content).grant) < before.getTime());
      if (ended.length > 0)
        await revisions.write(async (transaction) => {
          for (const tenant of new Set(ended.map(({ namespace_id }) => namespace_id))) {
            const ids = ended.flatMap(({ namespace_id, id }) => (namespace_id === tenant ? id : []));
            const grants = transaction.deleteFrom("grants").where("namespace_id", "=", tenant);
            await grants.where("id", "in", ids).execute();
            const uses = transaction.deleteFrom("uses").where("namespace_id", "=", tenant);
            await uses.where("grant_id", "in", ids).execute();
          }
        });
      const last = rows.length === most ? rows.at(-1) : undefined;
      return { removed: ended.length, ...(last && { next: { namespace_id: last.namespace_id, id: last.id } }) };
    },
    async children(namespaceId, grantIds) {
      return mapInSlices(await readContents(reports, namespaceId, grantIds, "parent_id"), parseGrant);
    },
    async descendants(namespaceId, grantId, limit) {
      const found = new Map<string, Grant>();
      const parents = [grantId];
      for (const parent of parents) {
        const children = await readChildren(reports, namespaceId, parent, limit);
        for (const { content, isParent } of children) {
          const child = parseGrant(content);
          if (child.id === grantId || found.has(child.id)) continue;
          found.set(child.id, child);
          if (isParent) parents.push(child.id);
          if (found.size === limit) return [...found.values()];
        }
      }
      return [...found.values()];
    },
    revoke: (namespaceId, grantId, at) =>
      // A write locks the row of the revision first, so that two revocations come one after the other.
      revisions.write(async (transaction) => {
        const content = await readContent(transaction, namespaceId, grantId);
        if (content === undefined) return false;
        const revoked = revokedContent(content, at);
        if (revoked === undefined) return false;
        await transaction
          .updateTable("grants")
          .set({ content: revoked })
          .where("namespace_id", "=", columnText(namespaceId))
          .where("id", "=", columnText(grantId))
          .execute();
        return true;
      }),
  };
}

/** Stores a new grant in a transaction that ends a revision. Throws when it does not fit, or a `GrantIdTakenError`. */
export async function insertGrant(transaction: Transaction<Schema>, grant: Grant): Promise<void> {
  await insertRows(transaction, [rowOf(grant)]);
}

async function insertRows(transaction: Transaction<Schema>, rows: readonly GrantRow[]): Promise<void> {
  const insert = transaction.insertInto("grants").values([...rows]);
  const inserted = await insert
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .execute();
  if (inserted.length < rows.length) throw new GrantIdTakenError("The id of a grant is unique in its tenant.");
}

type GrantRow = Schema["grants"];

function rowOf(grant: Grant): GrantRow {
  const checked = GrantSchema.safeParse(grant);
  if (!checked.success)
    throw new TypeError(`The grant does not fit the contract: ${describeIssues(checked.error.issues)}`);
  return { ...keysOf(checked.data), content: JSON.stringify(checked.data) };
}

function keysOf({ namespaceId, id, subject, issuer, parentId }: Grant): Omit<GrantRow, "content"> {
  return {
    namespace_id: columnText(namespaceId),
    id: columnText(id),
    subject: columnText(principalKey(subject)),
    issuer: columnText(principalKey(issuer)),
    parent_id: parentId === undefined ? null : columnText(parentId),
  };
}

/** Issues and revokes in a transaction that ends the revision. Whatever is thrown undoes all of it. */
async function changeGrants(
  transaction: Transaction<Schema>,
  namespaceId: string,
  { issue, revoke, at }: GrantChanges,
  revision: number,
): Promise<void> {
  const { value } = await transaction.selectFrom("revision").select("value").executeTakeFirstOrThrow();
  // The transaction itself has made one more of it.
  if (value !== revision + 1) throw new RevisionPassedError("Something was changed meanwhile.");
  for (const rows of chunksOf(issue.map(rowOf), rowsAtOnce)) await insertRows(transaction, rows);
  const contents = await readContents(transaction, namespaceId, revoke);
  if (contents.length < revoke.length) throw new Error("A grant to revoke is not there.");
  const revoked = contents.map((content): GrantRow => {
    const after = revokedContent(content, at);
    if (after === undefined) throw new Error("A grant to revoke is revoked already.");
    return { ...keysOf(parseGrant(content)), content: after };
  });
  for (const rows of chunksOf(revoked, rowsAtOnce)) {
    const insert = transaction.insertInto("grants").values(rows);
    await insert
      .onConflict((conflict) =>
        conflict.columns(["namespace_id", "id"]).doUpdateSet(({ ref }) => ({ content: ref("excluded.content") })),
      )
      .execute();
  }
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, place) =>
    items.slice(place * size, (place + 1) * size),
  );
}

/** The content of a grant that is revoked at an instant; undefined when it was revoked by then. */
function revokedContent(content: string, at: string): string | undefined {
  const { grant, isRevoked } = parseKept(content);
  const isPast = isRevokedAt(grant, at);
  if (isRevoked && isPast) return undefined;
  return JSON.stringify({ ...grant, ...(!isPast && { revokedAt: at }), revoked: true });
}

/** Whether a revocation was acknowledged. */
function isMarkedRevoked(content: string): boolean {
  return (JSON.parse(content) as { revoked?: boolean }).revoked === true;
}

/** Something was changed after the revision that a change rests on. */
class RevisionPassedError extends Error {
  override readonly name = "RevisionPassedError";
}

/** A grant as the kernel sees it, as it is within a transaction. */
export async function findGrant(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  grantId: string,
): Promise<Grant | undefined> {
  const content = await readContent(db, namespaceId, grantId);
  return content === undefined ? undefined : parse(content);
}

/** There is already a grant of that id. */
export class GrantIdTakenError extends Error {
  override readonly name = "GrantIdTakenError";
}

/** Whether the grant was revoked by then. A revocation in the future can still be moved forward. */
function isRevokedAt({ revokedAt }: Grant, at: string): boolean {
  return revokedAt !== undefined && (parseInstant(revokedAt) ?? 0) <= (parseInstant(at) ?? 0);
}

/** When a grant ends: it expires, or is revoked. */
function endOf({ constraints, revokedAt }: Grant): number {
  const ends = [constraints.expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : parseInstant(time)));
  return Math.min(...ends.map((end) => end ?? Infinity), Infinity);
}

async function readContent(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  grantId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(grantId))
    .executeTakeFirst();
  return row?.content;
}

/** The grants that were derived from one directly, and whether others were derived from them. */
async function readChildren(
  db: Kysely<Schema>,
  namespaceId: string,
  parentId: string,
  limit: number,
): Promise<{ content: string; isParent: boolean }[]> {
  const rows = await db
    .selectFrom("grants as child")
    .select(({ exists, selectFrom }) => [
      "content",
      exists(
        selectFrom("grants")
          .select("grants.id")
          .whereRef("grants.namespace_id", "=", "child.namespace_id")
          .whereRef("grants.parent_id", "=", "child.id"),
      ).as("isParent"),
    ])
    .where("namespace_id", "=", columnText(namespaceId))
    .where("parent_id", "=", columnText(parentId))
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(({ content, isParent }) => ({ content, isParent: Boolean(isParent) }));
}

async function readContents(
  db: Pick<Kysely<Schema>, "selectFrom">,
  namespaceId: string,
  grantIds: readonly string[],
  column: "id" | "parent_id" = "id",
): Promise<string[]> {
  const contents: string[] = [];
  for (let start = 0; start < grantIds.length; start += idsAtOnce) {
    const rows = await db
      .selectFrom("grants")
      .select("content")
      .where("namespace_id", "=", columnText(namespaceId))
      .where(column, "in", grantIds.slice(start, start + idsAtOnce).map(columnText))
      .execute();
    contents.push(...rows.map(({ content }) => content));
  }
  return contents;
}

function byId(grants: readonly Grant[]): Map<string, Grant> {
  return new Map(grants.map((grant) => [grant.id, grant]));
}

/** A grant that the kernel need not compile any more: for a set of thousands that would take long in one go. */
function prepared(grant: Grant): Grant {
  prepareGrant(grant);
  return grant;
}

/** A grant as it is stored, and whether a revocation was acknowledged. A revocation in the future is not marked. */
function parseKept(content: string): { grant: Grant; isRevoked: boolean } {
  const { revoked: isRevoked = false, ...grant } = JSON.parse(content) as Grant & { revoked?: boolean };
  return { grant: deepFreeze(grant), isRevoked };
}

/** A grant as operators see it. */
function parseGrant(content: string): Grant {
  return parseKept(content).grant;
}

/** A grant as the kernel sees it. */
function parse(content: string): Grant {
  const { grant, isRevoked } = parseKept(content);
  return isRevoked ? asRevoked(grant) : grant;
}

/** A revoked grant as the kernel sees it. It ends when it begins, so that it is never live on any clock. */
export function asRevoked(grant: Grant): Grant {
  return Object.freeze({ ...grant, revokedAt: grant.issuedAt });
}
