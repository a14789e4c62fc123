import type { Transaction } from "kysely";
import { parsePrincipal, principalKey, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";

/** A client that acts for a person. */
export interface Connection {
  id: string;
  namespaceId: string;
  principal: PrincipalRef;
  /** What the person signs in with. */
  credentialId: string;
  clientId: string;
  clientName: string;
  /** Where the client is answered; on this machine without its port. */
  redirect: string;
  purpose: string;
  createdAt: string;
  /** When the person last changed what it may do. */
  changedAt: string;
  endedAt?: string;
}

/** A connection, and when it was last used. */
export interface KnownConnection extends Connection {
  /** To the minute; absent when it was never used, or has ended. */
  lastUsedAt?: string;
}

/** Who a connection is as an actor. */
export function subjectOf({ id }: Pick<Connection, "id">): PrincipalRef {
  return { kind: "agent", agentId: id };
}

export function connectionOf(row: Schema["connections"]): Connection {
  const principal = parsePrincipal(row.principal);
  if (principal === undefined) throw new TypeError("Only principals that a column can store have connections.");
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    principal,
    credentialId: row.credential_id,
    clientId: row.client_id,
    clientName: row.client_name,
    redirect: row.redirect,
    purpose: row.purpose,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  };
}

/** What ends together with a connection. */
export interface EndingPorts {
  /** Revokes a credential in a transaction that ends a revision. */
  revokeCredential(transaction: Transaction<Schema>, id: string, at: string): Promise<unknown>;
  /** Revokes grants of a tenant in such a transaction. */
  revokeGrants(
    transaction: Transaction<Schema>,
    namespaceId: string,
    ids: readonly string[],
    at: string,
  ): Promise<unknown>;
}

/**
 * Ends a connection for good, in a transaction that ends a revision: its tokens, and what the person granted it. False when it has
 * ended before.
 */
export async function endConnection(
  transaction: Transaction<Schema>,
  connection: Pick<Connection, "id" | "namespaceId" | "principal">,
  { revokeCredential, revokeGrants }: EndingPorts,
  at: string,
): Promise<boolean> {
  const { id, namespaceId, principal } = connection;
  const { numUpdatedRows } = await transaction
    .updateTable("connections")
    .set({ ended_at: at })
    .where("id", "=", id)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const tokens = await transaction
    .deleteFrom("connection_tokens")
    .where("connection_id", "=", id)
    .returning("credential_id")
    .execute();
  for (const { credential_id } of tokens) await revokeCredential(transaction, credential_id, at);
  const grants = await transaction
    .selectFrom("grants")
    .select("id")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("subject", "=", columnText(principalKey(subjectOf(connection))))
    .where("issuer", "=", columnText(principalKey(principal)))
    .where("ends_at", ">", at)
    .execute();
  const ids = grants.map((grant) => grant.id);
  if (ids.length > 0) await revokeGrants(transaction, namespaceId, ids, at);
  return true;
}

/** Whether the person of a connection may still sign in. INVARIANT: no one acts for a person who may not act themselves. */
export async function isPersonLetIn(
  transaction: Transaction<Schema>,
  { credentialId }: Pick<Connection, "credentialId">,
): Promise<boolean> {
  const credential = await transaction
    .selectFrom("credentials")
    .select("id")
    .where("id", "=", credentialId)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return credential !== undefined;
}
