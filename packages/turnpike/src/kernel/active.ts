import { GrantSchema, type Grant, type PrincipalRef } from "../contracts/index.ts";
import { copyOf, deepFreeze, isAccepted, parseInstant } from "../internal/index.ts";
import { budgetsOf, type GrantBudget } from "./budgets.ts";

/** When a grant is live, in numbers. An invalid time is NaN, so that no instant is within the window. */
export interface Window {
  issuedAt: number;
  notBefore: number;
  expiresAt: number;
  revokedAt: number;
}

/** A grant that fits the contract, and what decisions compare of it. */
export class CompiledGrant {
  readonly grant: Grant;
  readonly maxUses: number | undefined;
  #budgets: readonly GrantBudget[] | undefined;
  #window: Window | undefined;

  constructor(grant: Grant, maxUses: number | undefined = grant.constraints.maxUses, budgets?: readonly GrantBudget[]) {
    this.grant = grant;
    this.maxUses = maxUses;
    this.#budgets = budgets;
  }

  /** Its own budgets, without those of the grants above it. */
  get budgets(): readonly GrantBudget[] {
    return (this.#budgets ??= budgetsOf(this.grant));
  }

  /** Computed at the first comparison, because a decision compares only the few grants of a large set that cover its request. */
  get window(): Window {
    return (this.#window ??= windowOf(this.grant));
  }
}

/** What a decision compares of its context. */
export interface Instant {
  owner: PrincipalRef;
  now: number;
  purpose: string;
}

/** The first condition in time or purpose that a grant fails. */
export type Inactivity = "not-issued" | "not-yet-valid" | "expired" | "revoked" | "purpose";

/** Why the grant is not live at this instant; undefined when it is. Without a purpose, the grant's purposes are not compared. */
export function inactivity(grant: CompiledGrant, now: number, purpose?: string): Inactivity | undefined {
  const { issuedAt, notBefore, expiresAt, revokedAt } = grant.window;
  if (!(now >= issuedAt)) return "not-issued";
  if (!(now >= notBefore)) return "not-yet-valid";
  if (!(now < expiresAt)) return "expired";
  if (!(now < revokedAt)) return "revoked";
  if (purpose !== undefined && grant.grant.constraints.purposes?.includes(purpose) === false) return "purpose";
  return undefined;
}

const compiled = new WeakMap<Grant, CompiledGrant>();

/**
 * Checks and compiles one grant; undefined when it does not fit the contract.
 * A frozen grant is a promise that it never changes; its parts are frozen too, so it is compiled once.
 */
export function compileGrant(grant: Grant): CompiledGrant | undefined {
  const known = compiled.get(grant);
  if (known !== undefined) return known;
  const fresh = compileOnce(grant);
  if (fresh !== undefined && Object.isFrozen(grant)) compiled.set(deepFreeze(grant), fresh);
  return fresh;
}

/** Like `compileGrant`, for a grant that is not expected again: to freeze and cache it would cost more than to compile it. */
export function compileOnce(grant: Grant): CompiledGrant | undefined {
  const known = compiled.get(grant);
  if (known !== undefined) return known;
  const copy = copyOf(GrantSchema, grant);
  return copy.ok ? new CompiledGrant(copy.value) : undefined;
}

/** Whether `compileGrant` costs nothing for this grant, because it was accepted or compiled before. */
export function isFixedGrant(grant: Grant | undefined): boolean {
  return grant !== undefined && (compiled.has(grant) || isAccepted(GrantSchema, grant));
}

/**
 * Checks and compiles a frozen grant ahead of the first decision that needs it, so that a host can spread the work of a
 * large set over time. A grant that does not fit the contract is refused by the decision, and not here.
 *
 * @example
 * import { prepareGrant } from "turnpike/kernel";
 *
 * prepareGrant(Object.freeze(grant));
 * console.log(Object.isFrozen(grant)); // true
 */
export function prepareGrant(grant: Grant): void {
  compileGrant(grant);
}

function windowOf({ issuedAt, revokedAt, constraints: { notBefore, expiresAt } }: Grant): Window {
  return {
    issuedAt: instant(issuedAt, Infinity),
    notBefore: instant(notBefore, -Infinity),
    expiresAt: instant(expiresAt, Infinity),
    revokedAt: instant(revokedAt, Infinity),
  };
}

function instant(timestamp: string | undefined, absent: number): number {
  return timestamp === undefined ? absent : (parseInstant(timestamp) ?? Number.NaN);
}
