import { sql, type Kysely, type Transaction } from "kysely";
import { parseInstant, principalKey, type Grant } from "turnpike/contracts";
import { type GrantScope, maxDelegationLinks } from "turnpike/kernel";
import { columnText, mapInSlices } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import { endOf, parseForKernel, parseGrant } from "./stored-grant.ts";

type Reader = Pick<Transaction<Schema>, "selectFrom">;

/** How many ids one statement may hold on either database. */
const idsAtOnce = 1000;

/** How many grants that ended are read with those that have not: a denied caller is told that a grant was revoked. */
const endedAtMost = 50;

/** The stored content of the grants that a scope asks for, by id: those that had not ended at an instant, and the last that had. */
export async function readHeld(db: Kysely<Schema>, scope: GrantScope, instant: number): Promise<string[]> {
  const { namespaceId, actor, authority } = scope;
  const ofActor = sql`namespace_id = ${columnText(namespaceId)} and subject = ${columnText(principalKey(actor))}`;
  const at = new Date(instant).toISOString();
  if (authority === undefined) {
    // A caller who lists tools has no authority yet, and needs no explanation.
    const { rows } = await sql<{ content: string }>`select content from grants where ${ofActor} and ends_at > ${at}
      ${inOrder}`.execute(db);
    return rows.map(({ content }) => content);
  }
  const held = sql`${ofActor} and issuer = ${columnText(principalKey(authority))}`;
  const { rows } = await sql<{ content: string }>`select content from (
    select id, content from grants where ${held} and ends_at > ${at}
    union all select id, content from (select id, content from grants where ${held} and ends_at <= ${at}
      order by ends_at desc limit ${sql.lit(endedAtMost)}) as ended) as held ${inOrder}`.execute(db);
  return rows.map(({ content }) => content);
}

/** All grants of a tenant that have not ended at an instant, as the kernel sees them. */
export async function readUnended(db: Kysely<Schema>, namespaceId: string, at: string): Promise<Grant[]> {
  const rows = await db
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("ends_at", ">", at)
    .orderBy("id")
    .execute();
  return mapInSlices(rows, ({ content }) => parseForKernel(content));
}

/** Not by the column itself: to save sorting a few, SQLite would read all grants of the tenant in its order. */
const inOrder = sql`order by id || ''`;

/** A grant as the kernel sees it, as it is within a transaction. */
export async function findGrant(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  grantId: string,
): Promise<Grant | undefined> {
  const content = await readContent(db, namespaceId, grantId);
  return content === undefined ? undefined : parseForKernel(content);
}

/** The first end among a grant and those that it was derived from: when, of which grant, and how. Undefined when none ends. */
export async function findGrantEnd(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  grantId: string,
): Promise<{ at: string; grantId: string; isRevoked: boolean } | undefined> {
  let first: { ms: number; grant: Grant } | undefined;
  const seen = new Set<string>();
  for (let id: string | undefined = grantId; id !== undefined && !seen.has(id);) {
    seen.add(id);
    const grant: Grant | undefined = await findGrant(db, namespaceId, id);
    if (grant === undefined) break;
    const ms = endOf(grant);
    if (ms < (first?.ms ?? Infinity)) first = { ms, grant };
    id = grant.parentId;
  }
  if (first === undefined) return undefined;
  const { revokedAt } = first.grant;
  return {
    at: new Date(first.ms).toISOString(),
    grantId: first.grant.id,
    isRevoked: revokedAt !== undefined && parseInstant(revokedAt) === first.ms,
  };
}

/** The stored content of one grant. */
export async function readContent(
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

/** The stored content of those of these grants that exist, or of the children of these. */
export async function readContents(
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

/**
 * The grants that decide whether these break a rule: they, those above and below them, and for rules about two acts, whatever else
 * their subjects hold. A grant may be below a new one, when the one that had its id was removed.
 */
export async function readInvolved(
  reader: Reader,
  namespaceId: string,
  issued: ReadonlySet<string>,
  { at, withPeers }: { at: string; withPeers: boolean },
): Promise<Grant[]> {
  const found = new Map<string, Grant>();
  const add = (contents: readonly string[]): Grant[] => {
    const fresh = contents.map(parseForKernel).filter(({ id }) => !found.has(id));
    for (const grant of fresh) found.set(grant.id, grant);
    return fresh;
  };
  let below = add(await readContents(reader, namespaceId, [...issued]));
  while (below.length > 0)
    below = add(
      await readContents(
        reader,
        namespaceId,
        below.map(({ id }) => id),
        "parent_id",
      ),
    );
  if (withPeers) {
    const subjects = new Set([...found.values()].map(({ subject }) => principalKey(subject)));
    for (const subject of subjects) add(await readHeldBy(reader, namespaceId, subject, at));
  }
  let above = [...found.values()];
  for (let link = 0; link < maxDelegationLinks && above.length > 0; link += 1) {
    const ids = new Set(
      above.flatMap(({ parentId }) => (parentId === undefined || found.has(parentId) ? [] : parentId)),
    );
    above = add(await readContents(reader, namespaceId, [...ids]));
  }
  return [...found.values()];
}

/** The stored content of what a principal holds and that has not ended. */
async function readHeldBy(reader: Reader, namespaceId: string, subject: string, at: string): Promise<string[]> {
  const rows = await reader
    .selectFrom("grants")
    .select("content")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("subject", "=", columnText(subject))
    .where("ends_at", ">", at)
    .execute();
  return rows.map(({ content }) => content);
}

/** Grants that were derived from one, directly or through others, nearest first. */
export async function readDescendants(
  db: Kysely<Schema>,
  namespaceId: string,
  grantId: string,
  limit: number,
): Promise<Grant[]> {
  const found = new Map<string, Grant>();
  const parents = [grantId];
  for (const parent of parents) {
    const children = await readChildren(db, namespaceId, parent, limit);
    for (const { content, isParent } of children) {
      const child = parseGrant(content);
      if (child.id === grantId || found.has(child.id)) continue;
      found.set(child.id, child);
      if (isParent) parents.push(child.id);
      if (found.size === limit) return [...found.values()];
    }
  }
  return [...found.values()];
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
