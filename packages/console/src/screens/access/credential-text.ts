import type { CredentialRecord } from "turnpike-host/admin-contract";
import { principalText } from "../../shared/words.ts";

/** The tenant of the operators' own credentials. */
export const operatorsTenant = "operators";

/** The state of a credential. */
export type CredentialState = "live" | "expired" | "revoked";

export function stateOf({ expiresAt, revokedAt }: CredentialRecord, now: Date): CredentialState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime() ? "expired" : "live";
}

/** Whether it belongs to an admin of all tenants: the host refuses to revoke the last of them. */
export function isAdminOfAll({ access: { admin, role = "admin", tenant } }: CredentialRecord): boolean {
  return admin === true && role === "admin" && tenant === undefined;
}

/** What an operator may do, and where. */
export function operatorText({ access: { role = "admin", tenant } }: CredentialRecord): string {
  return `${role} ${tenant === undefined ? "of all tenants" : `of ${tenant}`}`;
}

/** What it may be used for. */
export function purposesText({ purposes, evaluates }: CredentialRecord["access"]): string {
  return `${purposes.join(", ")}${evaluates === true ? " (may ask about others)" : ""}`;
}

/** Whose resources are in scope, and whose grants are exercised where that is another principal. */
export function ownerText({ owner, authority = owner }: CredentialRecord["access"]): string {
  const [whose, by] = [principalText(owner), principalText(authority)];
  return whose === by ? whose : `${whose}, with the authority of ${by}`;
}

/** Whose messages it may start turns with. */
export function sendersText({ senders }: CredentialRecord["access"]): string {
  return senders?.map(principalText).join(", ") ?? "everyone";
}

/** What revoking it means, for an operator who is about to. */
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
