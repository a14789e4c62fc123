import type { Transaction } from "kysely";
import { freshId, freshSecret, isSameHash, type PresentedCredential, secretHashOf } from "../access/index.ts";
import { type CredentialAccess, CredentialAccessSchema } from "../admin-contract/index.ts";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";

/** What a client asks a person for. */
export interface AuthorizationRequest {
  clientId: string;
  clientName: string;
  redirectUri: string;
  state?: string | undefined;
  /** The hash of what the client will show when it exchanges its code. */
  challenge: string;
  /** What the tokens are for. */
  resource: string;
  scope: string;
}

/** What a client asks, and whom. */
export interface PendingRequest {
  id: string;
  request: AuthorizationRequest;
  namespaceId: string;
  credentialId: string;
  presented: PresentedCredential;
  access: CredentialAccess;
}

/** How long a person may take to answer. */
export const answerMs = 20 * 60_000;

type Reader = Pick<Transaction<Schema>, "selectFrom">;

/** Stores what a client asks a person who has just signed in; undefined when their sign-in was used before. */
export async function beginRequest(
  transaction: Transaction<Schema>,
  request: AuthorizationRequest,
  { namespaceId, presented, codeId }: { namespaceId: string; presented: PresentedCredential; codeId: string },
  now: Date,
): Promise<{ id: string; secret: string } | undefined> {
  const used = await transaction
    .updateTable("one_time_codes")
    .set({ used_at: now.toISOString() })
    .where("id", "=", codeId)
    .where("used_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  if (used === undefined) return undefined;
  const [id, secret] = [freshId(), freshSecret()];
  const row = {
    id,
    namespace_id: columnText(namespaceId),
    secret_hash: secretHashOf(secret),
    credential_id: presented.id,
    credential_hash: presented.secretHash,
    content: JSON.stringify(request),
    expires_at: new Date(now.getTime() + answerMs).toISOString(),
  };
  await transaction.insertInto("authorization_requests").values(row).execute();
  return { id, secret };
}

/** What a client asks, for the browser that holds the secret of it; undefined when it is over, or the person is not let in any more. */
export async function findRequest(
  db: Reader,
  id: string,
  secret: string,
  now: Date,
): Promise<PendingRequest | undefined> {
  const row = await db.selectFrom("authorization_requests").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined || !isSameHash(secretHashOf(secret), row.secret_hash)) return undefined;
  if (row.expires_at <= now.toISOString()) return undefined;
  const access = await readPresented(db, row);
  if (access === undefined) return undefined;
  return {
    id,
    request: JSON.parse(row.content) as AuthorizationRequest,
    namespaceId: row.namespace_id,
    credentialId: row.credential_id,
    presented: { id: row.credential_id, secretHash: row.credential_hash },
    access,
  };
}

/** What the person may do who was asked; undefined once their credential is revoked or has changed. */
export async function readPresented(
  db: Reader,
  { credential_id, credential_hash }: Pick<Schema["authorization_requests"], "credential_id" | "credential_hash">,
): Promise<CredentialAccess | undefined> {
  const credential = await db
    .selectFrom("credentials")
    .select("access")
    .where("id", "=", credential_id)
    .where("secret_hash", "=", credential_hash)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return credential && CredentialAccessSchema.parse(JSON.parse(credential.access));
}
