import type { Transaction } from "kysely";
import { principalKey } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import { type CredentialAccess, CredentialAccessSchema } from "../admin-contract/index.ts";
import { freshId, freshSecret, secretHashOf } from "./secrets.ts";

/** A credential as a caller presented it: once it is rotated, its secret has another hash. */
export interface PresentedCredential {
  id: string;
  secretHash: string;
}

/** What a token presents. A malformed token presents a credential that does not exist. */
export function presentedBy(token: string): PresentedCredential {
  const [, id = "", secret = ""] = /^tp_([0-9a-f]{16})_([0-9a-f]{64})$/.exec(token) ?? [];
  return { id, secretHash: secretHashOf(secret) };
}

/** The token of a credential, which is shown once. */
export function tokenOf(id: string, secret: string): string {
  return `tp_${id}_${secret}`;
}

/** What a new credential is stored with. */
interface NewCredential {
  id: string;
  secret: string;
  namespaceId: string;
  access: CredentialAccess;
  expiresAt?: string | undefined;
  /** When its token ends; as late as the credential unless given. */
  tokenExpiresAt?: string | undefined;
  isTokenNeeded?: boolean | undefined;
}

/** Stores a new credential in a transaction that ends a revision. */
export async function insertCredential(transaction: Transaction<Schema>, made: NewCredential): Promise<void> {
  const { id, secret, namespaceId, access, expiresAt, tokenExpiresAt, isTokenNeeded = false } = made;
  if (!isStorable(namespaceId)) throw new TypeError("The name of the tenant cannot be stored as it is.");
  const row = {
    id,
    namespace_id: namespaceId,
    secret_hash: secretHashOf(secret),
    access: JSON.stringify(CredentialAccessSchema.parse(access)),
    actor: columnText(principalKey(access.actor)),
    certificate: isTokenNeeded ? null : (access.certificate ?? null),
    created_at: new Date().toISOString(),
    expires_at: expiresAt ?? null,
    revoked_at: null,
    token_expires_at: tokenExpiresAt ?? null,
    last_used_at: null,
  };
  await transaction.insertInto("credentials").values(row).execute();
}

/**
 * Makes the credential of a user who signs in, in a transaction that ends a revision. INVARIANT: no one learns its token, so only
 * sessions and codes that this host begins are admitted with it.
 */
export async function createSignedIn(
  transaction: Transaction<Schema>,
  made: Pick<NewCredential, "namespaceId" | "access">,
): Promise<PresentedCredential> {
  const [id, secret] = [freshId(), freshSecret()];
  await insertCredential(transaction, { id, secret, ...made });
  return presentedBy(tokenOf(id, secret));
}

/**
 * The credential of a user who signs in again, with what they may do now, in a transaction that ends a revision; undefined when
 * it was revoked.
 */
export async function renewSignedIn(
  transaction: Transaction<Schema>,
  id: string,
  access: CredentialAccess,
): Promise<PresentedCredential | undefined> {
  const changed = await transaction
    .updateTable("credentials")
    .set({
      access: JSON.stringify(CredentialAccessSchema.parse(access)),
      actor: columnText(principalKey(access.actor)),
    })
    .where("id", "=", columnText(id))
    .where("revoked_at", "is", null)
    .returning("secret_hash")
    .executeTakeFirst();
  return changed && { id, secretHash: changed.secret_hash };
}

/** A token that ends before its credential, in a transaction that ends a revision: another one takes its place. */
export async function createWithShortToken(
  transaction: Transaction<Schema>,
  made: Pick<NewCredential, "namespaceId" | "access"> & { tokenExpiresAt: string },
): Promise<{ id: string; token: string }> {
  const [id, secret] = [freshId(), freshSecret()];
  await insertCredential(transaction, { id, secret, ...made });
  return { id, token: tokenOf(id, secret) };
}

/**
 * Gives such a credential its next token, in a transaction that ends a revision; the one before is invalid at once. Undefined for a
 * credential that was revoked.
 */
export async function renewShortToken(
  transaction: Transaction<Schema>,
  id: string,
  tokenExpiresAt: string,
): Promise<string | undefined> {
  const secret = freshSecret();
  const { numUpdatedRows } = await transaction
    .updateTable("credentials")
    .set({ secret_hash: secretHashOf(secret), token_expires_at: tokenExpiresAt })
    .where("id", "=", columnText(id))
    .where("revoked_at", "is", null)
    .where("token_expires_at", "is not", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n ? tokenOf(id, secret) : undefined;
}

/** Revokes a credential in a transaction that ends a revision; false when there is none to revoke. */
export async function revokeCredential(transaction: Transaction<Schema>, id: string, at: string): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("credentials")
    .set({ revoked_at: at })
    .where("id", "=", columnText(id))
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Whether a column can store a name unchanged, which the tenant of a credential has to be. */
export function isStorable(name: string): boolean {
  return columnText(name) === name;
}
