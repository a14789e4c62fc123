import type { CredentialAccess, OperatorRole } from "turnpike-host/admin-contract";
import type { PrincipalRef } from "turnpike/contracts";
import { endOf } from "../../shared/instants.ts";
import { principalOf } from "../../shared/words.ts";

/** What the operator typed to make a credential. */
export interface CredentialDraft {
  actor: string;
  owner: string;
  authority: string;
  /** One on each line, the first is the default. */
  purposes: string;
  /** One on each line. Empty for any sender. */
  senders: string;
  evaluates: boolean;
  role: OperatorRole;
  /** Of an operator: the one tenant, or all with an empty text. */
  tenant: string;
  /** A span such as `30d`, empty for never, or `at`. */
  expires: string;
  expiresAt: string;
}

export const emptyDraft: CredentialDraft = {
  actor: "",
  owner: "",
  authority: "",
  purposes: "",
  senders: "",
  evaluates: false,
  role: "reviewer",
  tenant: "",
  expires: "90d",
  expiresAt: "",
};

/** An error with a message for the operator who fills the form. */
export class DraftError extends Error {
  override readonly name = "DraftError";
}

/** What the bearer of a credential may do, as the API takes it. Owner and authority are the actor's own unless given. */
export function accessOf(draft: CredentialDraft): CredentialAccess {
  const actor = principalIn("Actor", draft.actor);
  const owner = draft.owner.trim() === "" ? actor : principalIn("Owner", draft.owner);
  const authority = draft.authority.trim() === "" ? owner : principalIn("Authority", draft.authority);
  const purposes = linesOf(draft.purposes);
  if (purposes.length === 0) throw new DraftError("Purposes: name one at least.");
  const senders = linesOf(draft.senders).map((line) => principalIn("Senders", line));
  return {
    actor,
    owner,
    authority,
    purposes,
    ...(senders.length > 0 && { senders }),
    ...(draft.evaluates && { evaluates: true }),
  };
}

/** The same of an operator. */
export function operatorAccessOf({ actor: name, role, tenant }: CredentialDraft): CredentialAccess {
  const actor = principalIn("Name", name);
  const limit = tenant.trim() === "" ? {} : { tenant: tenant.trim() };
  return { actor, owner: actor, purposes: ["operate"], admin: true, role, ...limit };
}

/** When the credential ends, as the API takes it; undefined for never. */
export function expiryOf({ expires, expiresAt }: CredentialDraft, now: Date): string | undefined {
  if (expires === "") return undefined;
  const at = endOf(expires === "at" ? expiresAt : expires, now.getTime());
  if (at === undefined || Date.parse(at) <= now.getTime())
    throw new DraftError("Ends: choose a time that is still to come.");
  return at;
}

function principalIn(field: string, text: string): PrincipalRef {
  const principal = principalOf(text);
  if (principal === undefined) throw new DraftError(`${field}: write kind:id, such as human:alice.`);
  return principal;
}

function linesOf(text: string): string[] {
  return [...new Set(text.split("\n").map((line) => line.trim()))].filter((line) => line !== "");
}
