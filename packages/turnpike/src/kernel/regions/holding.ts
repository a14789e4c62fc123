import type { Grant } from "../../contracts/index.ts";
import { compileOnce, type CompiledGrant } from "../active.ts";
import { exceedsBudgets, joined, type GrantBudget } from "../budgets.ts";
import { brokenLink, maxDelegationLinks } from "../chain.ts";

/** A grant whose chain holds, and when it counts: its own window, while everything above it is in force. */
export interface GrantSpan {
  grant: Grant;
  /** The first instant, in milliseconds since 1970. */
  from: number;
  /** The instant at which it ends; `Infinity` when it does not. */
  until: number;
}

/** A grant that can count, with its chain. */
export interface Holding extends GrantSpan {
  /** How many grants are above it. */
  links: number;
  /** Its budgets, and those of the grants above it. */
  budgets: readonly GrantBudget[];
}

/**
 * The grants of a tenant that can ever count, and when. Chains are walked within the list. Throws a `TypeError` for grants of several
 * tenants, or that do not fit the contract.
 *
 * @example
 * import { grantSpans } from "turnpike/kernel";
 *
 * console.log(grantSpans([grant]).map(({ until }) => until)); // [ Infinity ]
 */
export function grantSpans(grants: readonly Grant[]): GrantSpan[] {
  if (!Array.isArray(grants)) throw new TypeError("Expected a list of grants.");
  const steps = holdingsOf(grants, grants[0]?.namespaceId);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value.map(({ grant, from, until }) => ({ grant, from, until }));
  }
}

/** The grants of a list that can count, each with its chain. Throws a `TypeError` for a list that is not of the tenant. */
export function* holdingsOf(grants: readonly Grant[], tenant: string | undefined): Generator<undefined, Holding[]> {
  if (!Array.isArray(grants)) throw new TypeError("Expected a list of grants.");
  const byId = new Map<string, CompiledGrant>();
  for (let place = 0; place < grants.length; place += 1) {
    yield;
    const compiled = compileOnce(grants[place] as Grant);
    if (compiled === undefined) throw new TypeError(`Grant ${place} of the list does not fit the contract.`);
    const { id, namespaceId } = compiled.grant;
    if (namespaceId !== tenant) throw new TypeError("Expected grants of one tenant.");
    if (byId.has(id)) throw new TypeError(`Two grants of the list have the id ${JSON.stringify(id)}.`);
    byId.set(id, compiled);
  }
  const holdings: Holding[] = [];
  for (const compiled of byId.values()) {
    yield;
    const holding = foldChain(compiled, byId);
    if (holding !== undefined) holdings.push(holding);
  }
  return holdings;
}

/**
 * The grant with its chain folded in; undefined when it never counts. The rules of a link hold always or never, so that in time
 * only the windows of those above it matter.
 */
function foldChain(compiled: CompiledGrant, byId: ReadonlyMap<string, CompiledGrant>): Holding | undefined {
  let { from, until } = spanOf(compiled);
  let child = compiled;
  let { budgets } = compiled;
  let links = 0;
  for (; child.grant.parentId !== undefined; links += 1) {
    if (links === maxDelegationLinks) return undefined;
    const parent = byId.get(child.grant.parentId);
    if (parent === undefined || brokenLink(child, parent) !== undefined) return undefined;
    if (exceedsBudgets(budgets, parent.budgets)) return undefined;
    budgets = joined(budgets, parent.budgets);
    const span = spanOf(parent);
    from = Math.max(from, span.from);
    until = Math.min(until, span.until);
    child = parent;
  }
  return from < until ? { grant: compiled.grant, from, until, links, budgets } : undefined;
}

function spanOf({ window }: CompiledGrant): { from: number; until: number } {
  return {
    from: Math.max(window.issuedAt, window.notBefore),
    until: Math.min(window.expiresAt, window.revokedAt),
  };
}
