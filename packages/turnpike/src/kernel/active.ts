import { GrantSchema, principalKey, type Grant, type PrincipalRef } from "../contracts/index.ts";
import { accept, deepFreeze, parseInstant } from "../internal/index.ts";

/** A grant with everything that a decision compares already turned into keys and numbers. */
export interface CompiledGrant {
  grant: Grant;
  subjectKey: string;
  issuerKey: string;
  issuedAt: number;
  notBefore: number;
  expiresAt: number;
  revokedAt: number;
  purposes: ReadonlySet<string> | undefined;
  maxUses: number | undefined;
}

/** What a decision compares of its context. */
export interface Moment {
  owner: PrincipalRef;
  now: number;
  purpose: string;
}

/** The first condition in time or purpose that a grant fails. */
export type Inactivity = "not-issued" | "not-yet-valid" | "expired" | "revoked" | "purpose";

/** Why the grant is not live at this instant for this purpose, or for any of its own; undefined when it is. */
export function inactivity(grant: CompiledGrant, now: number, purpose?: string): Inactivity | undefined {
  // Written so that a time that is no number is never within any window.
  if (!(now >= grant.issuedAt)) return "not-issued";
  if (!(now >= grant.notBefore)) return "not-yet-valid";
  if (!(now < grant.expiresAt)) return "expired";
  if (!(now < grant.revokedAt)) return "revoked";
  if (purpose !== undefined && grant.purposes?.has(purpose) === false) return "purpose";
  return undefined;
}

const compiled = new WeakMap<Grant, CompiledGrant>();

/**
 * Checks and compiles one grant; undefined when it does not fit the contract.
 * A frozen grant is a promise that it never changes; freezing what it holds keeps the promise, so it is compiled once.
 */
export function compileGrant(grant: Grant): CompiledGrant | undefined {
  const known = compiled.get(grant);
  if (known !== undefined) return known;
  const accepted = accept(GrantSchema, grant);
  if (!accepted.ok) return undefined;
  const fresh = compile(accepted.value);
  if (grant === accepted.value) compiled.set(grant, fresh);
  else if (Object.isFrozen(grant)) compiled.set(deepFreeze(grant), fresh);
  return fresh;
}

/**
 * Checks and compiles a frozen grant ahead of the first decision that needs it, so that a host can spread the work of a
 * large set over time. Whether the grant fits the contract is for the decision to say.
 */
export function prepareGrant(grant: Grant): void {
  compileGrant(grant);
}

function compile(grant: Grant): CompiledGrant {
  const { constraints } = grant;
  return {
    grant,
    subjectKey: principalKey(grant.subject),
    issuerKey: principalKey(grant.issuer),
    issuedAt: instant(grant.issuedAt, Infinity),
    notBefore: instant(constraints.notBefore, -Infinity),
    expiresAt: instant(constraints.expiresAt, Infinity),
    revokedAt: instant(grant.revokedAt, Infinity),
    purposes: constraints.purposes && new Set(constraints.purposes),
    maxUses: constraints.maxUses,
  };
}

function instant(timestamp: string | undefined, absent: number): number {
  return timestamp === undefined ? absent : (parseInstant(timestamp) ?? Number.NaN);
}
