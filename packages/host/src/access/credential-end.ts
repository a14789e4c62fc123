import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";

/**
 * When a credential ends, and how; undefined when it does not, or is unknown here. A revoked one has ended
 * on every clock.
 */
export async function findCredentialEnd(
  db: Pick<Transaction<Schema>, "selectFrom">,
  credentialId: string,
): Promise<{ at: string; isRevoked: boolean } | undefined> {
  const row = await db
    .selectFrom("credentials")
    .select(["expires_at", "revoked_at"])
    .where("id", "=", columnText(credentialId))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.revoked_at !== null) return { at: new Date(0).toISOString(), isRevoked: true };
  return row.expires_at === null ? undefined : { at: new Date(row.expires_at).toISOString(), isRevoked: false };
}
