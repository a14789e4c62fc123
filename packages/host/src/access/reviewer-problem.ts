import type { Transaction } from "kysely";
import { samePrincipal, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import { adminRoutes, CredentialAccessSchema, type DropReason } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { operatorScope } from "./operator.ts";

/** Who answers an escalation: the person whose authority it would use, or a reviewer of the host. */
export type Answerer = "authority" | "reviewers";

/** Whose answer it is about: the tenant of the escalation, and whose authority it would use. */
interface AboutAnswer {
  namespaceId: string;
  authority: PrincipalRef;
}

/** Why an answer that was given with a credential does not count at an instant; undefined when it does. */
export async function reviewerProblem(
  db: Pick<Transaction<Schema>, "selectFrom">,
  credentialId: string,
  { namespaceId, authority }: AboutAnswer,
  at: string,
  answeredBy: readonly Answerer[] = ["authority", "reviewers"],
): Promise<Exclude<DropReason, "takes_part"> | undefined> {
  const row = await db
    .selectFrom("credentials")
    .select(["namespace_id", "access", "expires_at", "revoked_at"])
    .where("id", "=", columnText(credentialId))
    .executeTakeFirst();
  if (row === undefined) return "credential_unknown";
  if (row.revoked_at !== null) return "credential_revoked";
  if (row.expires_at !== null && Date.parse(row.expires_at) <= Date.parse(at)) return "credential_expired";
  const access = CredentialAccessSchema.parse(JSON.parse(row.access));
  const scope = operatorScope(access);
  const isReviewer = scope !== undefined && roles.includes(scope.role) && (scope.tenant ?? namespaceId) === namespaceId;
  // INVARIANT: no agent answers, and no token of anyone's: only a person who has signed in, about their own authority.
  const isOwn =
    scope === undefined &&
    access.signedIn === true &&
    access.actor.kind === "human" &&
    row.namespace_id === columnText(namespaceId) &&
    samePrincipal(access.actor, authority);
  const counts = (isReviewer && answeredBy.includes("reviewers")) || (isOwn && answeredBy.includes("authority"));
  return counts ? undefined : "not_a_reviewer";
}

/** An approval counts later only while its reviewer could still give it. */
const roles: readonly string[] = adminRoutes.approveEscalation.roles;
