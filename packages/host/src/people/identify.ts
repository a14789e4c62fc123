import {
  IdentifierSchema,
  parsePrincipal,
  PathSegmentSchema,
  type Capability,
  type PrincipalRef,
} from "turnpike/contracts";
import { columnText, isPlainName } from "../shared/index.ts";
import { type CredentialAccess, operatorsTenant } from "../admin-contract/index.ts";
import {
  type OperatorRule,
  PersonTenantSchema,
  type PeopleConfig,
  type ProviderConfig,
  subjectStep,
} from "./sign-in-config.ts";

/** What an identity provider says of who signed in, once it is verified. */
export interface ProvedClaims {
  readonly iss: string;
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** As whom a user signs in. */
export type PersonKind = "person" | "operator";

/** A user whom a provider vouches for, as this host knows them. */
export interface Identity {
  kind: PersonKind;
  issuer: string;
  providerSubject: string;
  namespaceId: string;
  principal: PrincipalRef;
  name: string | undefined;
  /** What they may do. */
  access: CredentialAccess;
  /** What they are granted once, and by whom. */
  holds: { issuer: PrincipalRef; capabilities: readonly Capability[] } | undefined;
}

/** A user, or why this host lets no one in. */
export type Identified = { ok: true; identity: Identity } | { ok: false; reason: RefusedSignIn };

/** Why no one is let in whom the provider knows. */
export type RefusedSignIn =
  | "no_people"
  | "no_operator"
  | "no_subject"
  | "no_tenant"
  | "revoked"
  | "taken"
  | "breaks_rule"
  | "deleted_tenant";

/** Who signs in, by what their provider says of them. */
export function identify(config: ProviderConfig, kind: PersonKind, claims: ProvedClaims): Identified {
  const { people, operators = [], issuer } = config;
  const subject = subjectOf(people, claims);
  const principal = subject === undefined ? undefined : parsePrincipal(`human:${subject}`);
  if (subject === undefined || principal === undefined) return { ok: false, reason: "no_subject" };
  const who = { kind, issuer, providerSubject: claims.sub, principal, name: shownName(claims) };
  if (kind === "operator") {
    const rule = operators.find((one) => hasValue(claims[one.claim], one.value));
    if (rule === undefined) return { ok: false, reason: "no_operator" };
    const access = operatorAccess(principal, rule);
    return { ok: true, identity: { ...who, namespaceId: operatorsTenant, access, holds: undefined } };
  }
  if (people === undefined) return { ok: false, reason: "no_people" };
  const tenant = PersonTenantSchema.safeParse(
    typeof people.tenant === "string" ? people.tenant : claims[people.tenant.claim],
  );
  if (!tenant.success) return { ok: false, reason: "no_tenant" };
  const access = { actor: principal, owner: principal, purposes: [people.purpose], signedIn: true };
  return {
    ok: true,
    identity: { ...who, namespaceId: tenant.data, access, holds: holdsOf(people, subject) },
  };
}

/** The name of a user. It is a step of paths, such as that of their own files. */
function subjectOf(people: PeopleConfig | undefined, claims: ProvedClaims): string | undefined {
  const { claim, prefix } = people?.subject ?? { claim: "sub", prefix: "" };
  const said = claims[claim];
  if (typeof said !== "string" || said === "") return undefined;
  const name = `${prefix}${said}`;
  const isName = [PathSegmentSchema, IdentifierSchema].every((schema) => schema.safeParse(name).success);
  // A name that only looks like another one's would be taken for it wherever it is read.
  return isName && isPlainName(name) && columnText(name) === name ? name : undefined;
}

function operatorAccess(principal: PrincipalRef, { role, tenant }: OperatorRule): CredentialAccess {
  const scope = { admin: true, role, ...(tenant !== undefined && { tenant }) };
  return { actor: principal, owner: principal, purposes: ["operate"], signedIn: true, ...scope };
}

function holdsOf({ holds, issuer }: PeopleConfig, subject: string): Identity["holds"] {
  const grantor = parsePrincipal(issuer);
  if (grantor === undefined) throw new TypeError("The schema admits principals alone.");
  const capabilities = holds.map((hold) => {
    const path = hold.resource.path.map((step) => (step === subjectStep ? subject : step));
    return { ...hold, resource: { ...hold.resource, path } };
  });
  return { issuer: grantor, capabilities };
}

/** Whether a claim is a value, or has it among others. */
function hasValue(claim: unknown, value: string): boolean {
  return claim === value || (Array.isArray(claim) && claim.includes(value));
}

/** A name to show, which decides nothing. */
function shownName(claims: ProvedClaims): string | undefined {
  const said = [claims["name"], claims["preferred_username"], claims["email"]].find(
    (one) => typeof one === "string" && one !== "",
  ) as string | undefined;
  return said?.slice(0, 256);
}
