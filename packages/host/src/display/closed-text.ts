import { nameText } from "./names.ts";

/** What an escalation ended with, as its record says it. */
interface Closed {
  reason:
    | "credential_revoked"
    | "credential_expired"
    | "grant_revoked"
    | "grant_expired"
    | "turn_cancelled"
    | "turn_ended";
  credential?: string | undefined;
  grantId?: string | undefined;
}

/** Why an escalation cannot be answered any more: `its grant pay-bob was revoked`. */
export function closedText({ reason, credential, grantId }: Closed): string {
  const ofCredential = `the credential${credential === undefined ? "" : ` ${nameText(credential)}`} that it was asked with`;
  const ofGrant = `its grant${grantId === undefined ? "" : ` ${nameText(grantId)}`}`;
  switch (reason) {
    case "credential_revoked":
      return `${ofCredential} was revoked`;
    case "credential_expired":
      return `${ofCredential} has expired`;
    case "grant_revoked":
      return `${ofGrant} was revoked`;
    case "grant_expired":
      return `${ofGrant} has expired`;
    case "turn_cancelled":
      return "its turn was cancelled";
    case "turn_ended":
      return "its turn has ended";
  }
}
