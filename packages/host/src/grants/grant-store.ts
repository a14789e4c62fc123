import {
  check,
  deepFreeze,
  GrantSchema,
  parseInstant,
  principalKey,
  type Grant,
  type PrincipalRef,
} from "turnpike/contracts";
import type { Kysely, Transaction } from "kysely";
import type { GrantSource } from "turnpike/kernel";
import { columnText } from "../base/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";

/**
 * The grants of every tenant. What was revoked stays revoked whatever a clock says: the kernel gets such a grant as one that
 * was revoked when it was issued, operators see when it was.
 */
export interface GrantStore extends GrantSource {
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** A grant as operators see it. */
  findKept(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Those of these grants that there are, by id, in a query for many of them. */
  findAll(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** The same, as operators see them. */
  findAllKept(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, Grant>>;
  /** Keeps a new grant. Throws when it does not fit the contract or its id is taken. */
  issue(grant: Grant): Promise<void>;
  /** Revokes a grant at once and for good; false when there is none that could be revoked. */
  revoke(namespaceId: string, grantId: string, at: string): Promise<boolean>;
  /** Grants of a tenant as operators see them, by id, those after the grant `after`. */
  list(namespaceId: string, options: GrantFilter): Promise<Grant[]>;
  /** Every grant that was derived from this one, directly or through others. */
  descendants(namespaceId: string, grantId: string): Promise<Grant[]>;
}

/** A statement has room for so many ids on either database. */
const idsAtOnce = 1000;

/** Which grants to list. */
interface GrantFilter {
  subject?: PrincipalRef | undefined;
  issuer?: PrincipalRef | undefined;
  after?: string | undefined;
  limit: number;
}

/** Reads are cached and frozen, so that the kernel compiles a set once a revision. */
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
          .orderBy("id");
        const rows = await (issuer === undefined ? all : all.where("issuer", "=", issuer)).execute();
        return Object.freeze(rows.map(({ content }) => parse(content)));
      });
    },
    find: (namespaceId, grantId) =>
      cache.get(JSON.stringify(["grant", namespaceId, grantId]), async () => {
        const content = await readContent(db, namespaceId, grantId);
        return content === undefined ? undefined : parse(content);
      }),
    async findKept(namespaceId, grantId) {
      const content = await readContent(db, namespaceId, grantId);
      return content === undefined ? undefined : parseKept(content).grant;
    },
    async findAll(namespaceId, grantIds) {
      return byId((await readContents(db, namespaceId, grantIds)).map(parse));
    },
    async findAllKept(namespaceId, grantIds) {
      return byId((await readContents(db, namespaceId, grantIds)).map((content) => parseKept(content).grant));
    },
    issue: (grant) => revisions.write((transaction) => insertGrant(transaction, grant)),
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
      return (await all.execute()).map(({ content }) => parseKept(content).grant);
    },
    async descendants(namespaceId, grantId) {
      const derived = await reports
        .selectFrom("grants")
        .select("content")
        .where("namespace_id", "=", columnText(namespaceId))
        .where("content", "like", '%"parentId":%')
        .orderBy("id")
        .execute();
      return below(
        grantId,
        derived.map(({ content }) => parseKept(content).grant),
      );
    },
    revoke: (namespaceId, grantId, at) =>
      // The write's own revision row is locked first, so that two revocations come one after the other.
      revisions.write(async (transaction) => {
        const content = await readContent(transaction, namespaceId, grantId);
        if (content === undefined) return false;
        const { grant, isRevoked } = parseKept(content);
        const isPast = isRevokedAt(grant, at);
        if (isRevoked && isPast) return false;
        const revoked = { ...grant, ...(!isPast && { revokedAt: at }), revoked: true };
        await transaction
          .updateTable("grants")
          .set({ content: JSON.stringify(revoked) })
          .where("namespace_id", "=", columnText(namespaceId))
          .where("id", "=", columnText(grantId))
          .execute();
        return true;
      }),
  };
}

/** Keeps a new grant within a transaction that ends a revision. Throws when it does not fit or its id is taken. */
export async function insertGrant(transaction: Transaction<Schema>, grant: Grant): Promise<void> {
  const checked = check(GrantSchema, grant);
  if (!checked.ok) throw new TypeError(`The grant does not fit the contract: ${checked.message}`);
  const { namespaceId, id, subject, issuer } = checked.value;
  const inserted = await transaction
    .insertInto("grants")
    .values({
      namespace_id: columnText(namespaceId),
      id: columnText(id),
      subject: columnText(principalKey(subject)),
      issuer: columnText(principalKey(issuer)),
      content: JSON.stringify(checked.value),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (inserted === undefined) throw new GrantIdTaken("The id of a grant is unique in its tenant.");
}

/** Somebody else issued a grant of that id. */
export class GrantIdTaken extends Error {
  override readonly name = "GrantIdTaken";
}

/** A revocation that is still to come can be moved forward. */
function isRevokedAt({ revokedAt }: Grant, at: string): boolean {
  return revokedAt !== undefined && (parseInstant(revokedAt) ?? 0) <= (parseInstant(at) ?? 0);
}

/** Those of the derived grants that stand on one, nearest first. */
function below(grantId: string, derived: readonly Grant[]): Grant[] {
  const found = new Map<string, Grant>();
  const parents = [grantId];
  for (const parent of parents) {
    for (const child of derived) {
      if (child.parentId !== parent || child.id === grantId || found.has(child.id)) continue;
      found.set(child.id, child);
      parents.push(child.id);
    }
  }
  return [...found.values()];
}

async function readContent(db: Kysely<Schema>, namespaceId: string, grantId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(grantId))
    .executeTakeFirst();
  return row?.content;
}

async function readContents(db: Kysely<Schema>, namespaceId: string, grantIds: readonly string[]): Promise<string[]> {
  const contents: string[] = [];
  for (let start = 0; start < grantIds.length; start += idsAtOnce) {
    const rows = await db
      .selectFrom("grants")
      .select("content")
      .where("namespace_id", "=", columnText(namespaceId))
      .where("id", "in", grantIds.slice(start, start + idsAtOnce).map(columnText))
      .execute();
    contents.push(...rows.map(({ content }) => content));
  }
  return contents;
}

function byId(grants: readonly Grant[]): Map<string, Grant> {
  return new Map(grants.map((grant) => [grant.id, grant]));
}

/** A grant as it is kept, with a mark that its revocation was acknowledged. One that is still to come has no mark. */
function parseKept(content: string): { grant: Grant; isRevoked: boolean } {
  const { revoked: isRevoked = false, ...grant } = JSON.parse(content) as Grant & { revoked?: boolean };
  return { grant: deepFreeze(grant), isRevoked };
}

/** A grant as it counts. A revoked one ends at the moment it begins, so that it is live at no time of any clock. */
function parse(content: string): Grant {
  const { grant, isRevoked } = parseKept(content);
  return isRevoked ? deepFreeze({ ...grant, revokedAt: grant.issuedAt }) : grant;
}
