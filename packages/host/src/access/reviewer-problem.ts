import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import { adminRoutes, CredentialAccessSchema, type DropReason } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { operatorScope } from "./operator.ts";

/** Why an answer that was given with a credential does not count in a tenant at an instant; undefined when it does. */
export async function reviewerProblem(
  db: Pick<Transaction<Schema>, "selectFrom">,
  credentialId: string,
  namespaceId: string,
  at: string,
): Promise<Exclude<DropReason, "takes_part"> | undefined> {
  const row = await db
    .selectFrom("credentials")
    .select(["access", "expires_at", "revoked_at"])
    .where("id", "=", columnText(credentialId))
    .executeTakeFirst();
  if (row === undefined) return "credential_unknown";
  if (row.revoked_at !== null) return "credential_revoked";
  if (row.expires_at !== null && Date.parse(row.expires_at) <= Date.parse(at)) return "credential_expired";
  const scope = operatorScope(CredentialAccessSchema.parse(JSON.parse(row.access)));
  const isReviewer = scope !== undefined && roles.includes(scope.role);
  return isReviewer && (scope.tenant ?? namespaceId) === namespaceId ? undefined : "not_a_reviewer";
}

/** An approval counts later only while its reviewer could still give it. */
const roles: readonly string[] = adminRoutes.approveEscalation.roles;
