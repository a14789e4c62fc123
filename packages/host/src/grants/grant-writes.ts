import { sql, type Kysely, type Transaction } from "kysely";
import type { Grant } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { ClosedEscalation } from "../admin-contract/index.ts";
import type { Revisions, Schema } from "../storage/index.ts";
import { requireInvariants } from "./check-invariants.ts";
import { storeMaker } from "./grant-makers.ts";
import { readContent, readContents } from "./grant-reads.ts";
import {
  endOf,
  endText,
  type GrantRow,
  keysOf,
  parseGrant,
  parseStored,
  revokedContent,
  rowOf,
} from "./stored-grant.ts";

/** How many rows one statement may hold on either database. */
const rowsAtOnce = 100;

/** When a grant is issued, and the credential of the operator who issues it. */
export interface Issuing {
  at: string;
  madeWith?: string | undefined;
}

/**
 * Stores a new grant in a transaction that ends a revision, and with which credential an operator issued it. Throws when it does
 * not fit, a `GrantIdTakenError`, a `MakerRevokedError`, or an `InvariantViolatedError`.
 */
export async function insertGrant(
  transaction: Transaction<Schema>,
  grant: Grant,
  { at, madeWith }: Issuing,
): Promise<void> {
  await insertRows(transaction, [rowOf(grant)], madeWith);
  await requireInvariants(transaction, grant.namespaceId, [grant], at);
}

async function insertRows(
  transaction: Transaction<Schema>,
  rows: readonly GrantRow[],
  madeWith: string | undefined,
): Promise<void> {
  const insert = transaction.insertInto("grants").values([...rows]);
  const inserted = await insert
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .execute();
  if (inserted.length < rows.length) throw new GrantIdTakenError("The id of a grant is unique in its tenant.");
  if (madeWith !== undefined) await storeMaker(transaction, rows, madeWith);
}

/** There is already a grant of that id. */
export class GrantIdTakenError extends Error {
  override readonly name = "GrantIdTakenError";
}

/** Revokes a grant in a transaction that ends the revision; false when there is none that could be revoked. */
export async function revokeGrant(
  transaction: Transaction<Schema>,
  namespaceId: string,
  grantId: string,
  at: string,
): Promise<boolean> {
  // A write locks the row of the revision first, so that two revocations come one after the other.
  const content = await readContent(transaction, namespaceId, grantId);
  if (content === undefined) return false;
  const revoked = revokedContent(content, at);
  if (revoked === undefined) return false;
  await transaction
    .updateTable("grants")
    .set({ content: revoked, ends_at: endText(parseGrant(revoked)) })
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(grantId))
    .execute();
  return true;
}

/** Grants of one tenant to issue, and ids of grants to revoke at an instant. */
export interface GrantChanges {
  issue: readonly Grant[];
  revoke: readonly string[];
  at: string;
  /** The credential of the operator who issues them. */
  madeWith?: string;
  /** Done in the same transaction, which closes the escalations that the revoked grants carried. */
  also?: AfterClosing;
}

/** What is done in a transaction that closes escalations, with those that it closed. */
export type AfterClosing = (transaction: Transaction<Schema>, closed: readonly ClosedEscalation[]) => Promise<unknown>;

/**
 * Issues and revokes in a transaction that ends the revision. Whatever is thrown undoes all of it. Rules are held against the grants as
 * they are after all of it.
 */
export async function changeGrants(
  transaction: Transaction<Schema>,
  namespaceId: string,
  { issue, revoke, at, madeWith }: GrantChanges,
  revision: number,
): Promise<void> {
  await requireRevision(transaction, revision);
  for (const rows of chunksOf(issue.map(rowOf), rowsAtOnce)) await insertRows(transaction, rows, madeWith);
  const contents = await readContents(transaction, namespaceId, revoke);
  if (contents.length < revoke.length) throw new Error("A grant to revoke is not there.");
  const revoked = contents.map((content): GrantRow => {
    const after = revokedContent(content, at);
    if (after === undefined) throw new Error("A grant to revoke is revoked already.");
    return { ...keysOf(parseGrant(after)), content: after };
  });
  for (const rows of chunksOf(revoked, rowsAtOnce)) {
    const insert = transaction.insertInto("grants").values(rows);
    await insert
      .onConflict((conflict) =>
        conflict.columns(["namespace_id", "id"]).doUpdateSet(({ ref }) => ({
          content: ref("excluded.content"),
          ends_at: ref("excluded.ends_at"),
        })),
      )
      .execute();
  }
  await requireInvariants(transaction, namespaceId, issue, at);
}

/** Throws a `RevisionPassedError` when anything was changed between this revision and the transaction, which ends one itself. */
export async function requireRevision(transaction: Transaction<Schema>, revision: number): Promise<void> {
  const { value } = await transaction.selectFrom("revision").select("value").executeTakeFirstOrThrow();
  // The transaction itself has made one more of it.
  if (value !== revision + 1) throw new RevisionPassedError("Something was changed meanwhile.");
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, place) =>
    items.slice(place * size, (place + 1) * size),
  );
}

/** Something was changed after the revision that a change rests on. */
export class RevisionPassedError extends Error {
  override readonly name = "RevisionPassedError";
}

/** The place of a grant among those of all tenants. */
export type GrantPlace = Pick<Schema["grants"], "namespace_id" | "id">;

/** How many rows were removed, and after which place the next step begins; undefined after the last. */
export interface Removed<Place> {
  removed: number;
  next?: Place;
}

/** Removes grants that ended before an instant, and their uses, among so many behind a place. */
export async function removeEnded(
  db: Kysely<Schema>,
  revisions: Revisions,
  { before, behind, most }: { before: Date; behind: GrantPlace | undefined; most: number },
): Promise<Removed<GrantPlace>> {
  let all = db.selectFrom("grants").select(["namespace_id", "id", "content"]);
  if (behind !== undefined) all = all.where(sql<boolean>`(namespace_id, id) > (${behind.namespace_id}, ${behind.id})`);
  const rows = await all.orderBy("namespace_id").orderBy("id").limit(most).execute();
  const ended = rows.filter(({ content }) => endOf(parseStored(content).grant) < before.getTime());
  if (ended.length > 0)
    await revisions.write(async (transaction) => {
      for (const tenant of new Set(ended.map(({ namespace_id }) => namespace_id))) {
        const ids = ended.flatMap(({ namespace_id, id }) => (namespace_id === tenant ? id : []));
        const grants = transaction.deleteFrom("grants").where("namespace_id", "=", tenant);
        await grants.where("id", "in", ids).execute();
        for (const table of ["uses", "grant_makers"] as const)
          await transaction.deleteFrom(table).where("namespace_id", "=", tenant).where("grant_id", "in", ids).execute();
      }
    });
  const last = rows.length === most ? rows.at(-1) : undefined;
  return { removed: ended.length, ...(last && { next: { namespace_id: last.namespace_id, id: last.id } }) };
}
