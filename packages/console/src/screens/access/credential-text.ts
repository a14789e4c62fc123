import type { CredentialRecord } from "turnpike-host/management";

/** The tenant of the operators' own credentials. */
export const operatorsTenant = "operators";

/** How a credential stands. */
export type CredentialState = "live" | "expired" | "revoked";

export function stateOf({ expiresAt, revokedAt }: CredentialRecord, now: Date): CredentialState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime() ? "expired" : "live";
}

/** Whether it is an operator's who may do everything everywhere: the host keeps the last of them. */
export function isAdminOfAll({ access: { admin, role = "admin", tenant } }: CredentialRecord): boolean {
  return admin === true && role === "admin" && tenant === undefined;
}

/** What an operator may do, and where. */
export function operatorText({ access: { role = "admin", tenant } }: CredentialRecord): string {
  return `${role} ${tenant === undefined ? "of all tenants" : `of ${tenant}`}`;
}

/** What revoking it means, for somebody who is about to. */
export function revocationText(credential: CredentialRecord, isOwn: boolean): string[] {
  const isOperator = credential.access.admin === true;
  return [
    "Its token is refused from the next request on. That cannot be taken back.",
    isOperator
      ? "Their sessions of this page end with it."
      : "Turns that run with it go no further. Grants of the actor stay.",
    ...(isOwn ? ["You are signed in with it: you are signed out at once."] : []),
  ];
}
