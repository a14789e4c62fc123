import { sql, type Kysely, type Transaction } from "kysely";
import type { Grant } from "turnpike/contracts";
import { columnText, mapInSlices } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import { parseGrant } from "./stored-grant.ts";

type GrantPlace = Pick<Schema["grants"], "namespace_id" | "id">;

/** Some of the grants that were made with a credential, and after which place the next page begins; undefined after the last. */
export interface MadeGrants {
  grants: Grant[];
  next?: GrantPlace;
}

/** The credential that a grant is to be made with was revoked. */
export class MakerRevokedError extends Error {
  override readonly name = "MakerRevokedError";
}

/**
 * Records which credential grants were made with. Throws a `MakerRevokedError` for one that was revoked: the request that makes
 * them was admitted before that. INVARIANT: nothing is made with a credential after the transaction that revokes it.
 */
export async function storeMaker(
  transaction: Transaction<Schema>,
  grants: readonly GrantPlace[],
  madeWith: string,
): Promise<void> {
  const maker = columnText(madeWith);
  const row = await transaction
    .selectFrom("credentials")
    .select("revoked_at")
    .where("id", "=", maker)
    .executeTakeFirst();
  if (row !== undefined && row.revoked_at !== null) throw new MakerRevokedError("The credential was revoked.");
  const makers = grants.map(({ namespace_id, id }) => ({ namespace_id, grant_id: id, credential_id: maker }));
  await transaction.insertInto("grant_makers").values(makers).execute();
}

/** The credential that a grant was made with, as far as that was recorded. */
export async function findMaker(db: Kysely<Schema>, namespaceId: string, grantId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("grant_makers")
    .select("credential_id")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("grant_id", "=", columnText(grantId))
    .executeTakeFirst();
  return row?.credential_id;
}

/** The grants that were made with a credential and have not ended, among so many behind a place. */
export async function readMade(
  db: Kysely<Schema>,
  credentialId: string,
  at: string,
  { after, limit }: { after?: GrantPlace | undefined; limit: number },
): Promise<MadeGrants> {
  let made = db
    .selectFrom("grant_makers")
    .select(["namespace_id", "grant_id as id"])
    .where("credential_id", "=", columnText(credentialId));
  if (after !== undefined)
    made = made.where(sql<boolean>`(namespace_id, grant_id) > (${after.namespace_id}, ${after.id})`);
  const places = await made
    .orderBy("namespace_id")
    .orderBy("grant_id")
    .limit(limit + 1)
    .execute();
  const page = places.slice(0, limit);
  const contents = await readLive(db, page, at);
  const last = places.length > limit ? page.at(-1) : undefined;
  return { grants: await mapInSlices(contents, parseGrant), ...(last && { next: last }) };
}

/** The stored content of those of these grants that have not ended, in their order. */
async function readLive(db: Kysely<Schema>, places: readonly GrantPlace[], at: string): Promise<string[]> {
  const contents: string[] = [];
  for (const tenant of new Set(places.map(({ namespace_id }) => namespace_id))) {
    const ids = places.flatMap(({ namespace_id, id }) => (namespace_id === tenant ? id : []));
    const rows = await db
      .selectFrom("grants")
      .select("content")
      .where("namespace_id", "=", tenant)
      .where("id", "in", ids)
      .where("ends_at", ">", at)
      .orderBy("id")
      .execute();
    contents.push(...rows.map(({ content }) => content));
  }
  return contents;
}
