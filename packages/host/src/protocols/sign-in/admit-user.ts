import { type Grant, principalKey } from "turnpike/contracts";
import { createOperator, type PresentedCredential } from "../../access/index.ts";
import type { Identity, IdentityProvider, RefusedSignIn } from "../../people/index.ts";
import type { SignInServices } from "./sign-in-services.ts";

/** The provider knows a user whom this host does not let in. */
export class NotLetInError extends Error {
  override readonly name = "NotLetInError";
  readonly reason: RefusedSignIn;
  constructor(reason: RefusedSignIn) {
    super(`No one was let in: ${reason}.`);
    this.reason = reason;
  }
}

/** Lets a user in, and records it. What they are granted at their first sign-in is in the same transaction, and in the audit log. */
export async function admitUser(
  { people, ports, isDeleted }: SignInServices,
  provider: IdentityProvider,
  identity: Identity,
  requestId: string,
): Promise<PresentedCredential> {
  const { namespaceId, principal, kind, access } = identity;
  if (await isDeleted(namespaceId)) throw new NotLetInError("deleted_tenant");
  const who = { id: "sign-in", actor: principal, role: access.role ?? "reviewer", requestId };
  const self = createOperator(who, ports.audit, (error) => ports.onAuditError(error));
  const { role, tenant } = access;
  const metadata = {
    provider: provider.name,
    ...(kind === "operator" && { role: role ?? "admin", ...(tenant !== undefined && { tenant }) }),
  };
  const change = { namespaceId, action: `${kind}.sign-in`, receiver: principal, metadata };
  const entered = await self.change(change, async () => {
    const made = await people.enter(identity, ports.clock().toISOString());
    if (made.kind !== "entered") throw new NotLetInError(made.kind);
    return made;
  });
  await self.recordMade(entered.grants.map(changeOfHold));
  return entered.presented;
}

function changeOfHold({ namespaceId, id, subject, issuer }: Grant) {
  return {
    namespaceId,
    action: "grant.create",
    grantId: id,
    receiver: subject,
    metadata: { issuer: principalKey(issuer) },
  };
}
