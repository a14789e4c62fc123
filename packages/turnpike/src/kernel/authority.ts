import { samePrincipal, type DiscoveryContext, type Grant, type PrincipalRef } from "../contracts/index.ts";
import { KnownAnswers, orAbort } from "../internal/index.ts";
import { compileGrant, compileOnce, isFixedGrant, type CompiledGrant, type Instant } from "./active.ts";
import { indexCapabilities, type CapabilityIndex } from "./capability-index.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import type { GrantScope, GrantSource, VersionedGrants } from "./ports.ts";
import { VersionCache } from "./versioned-grants.ts";

const maxGrants = 16_384;

/** The grants that count: those in force now. Inside a turn they count only as far as they did at its admission. */
export interface AuthorityView {
  current: Authority;
  admitted?: AdmittedAuthority;
}

/** What a turn was admitted with. */
export interface AdmittedAuthority {
  authority: Authority;
  instant: Instant;
  /** Grants that were live but invalid, or whose validity was unknown. */
  excluded: ReadonlySet<CompiledGrant>;
}

/** A checked set of grants, ready for decisions. */
export interface Authority {
  /** In the order in which they are tried: those without budgets first, of these those without counted uses, else as loaded. */
  grants: readonly CompiledGrant[];
  /** The capabilities that carry an act without an approval. */
  index: CapabilityIndex;
  /** The capabilities that carry an act after a person has approved it; mostly empty. */
  guarded: CapabilityIndex;
  /** Grants whose validity depends on more than the clock: derived ones and those with counted uses. */
  conditional: readonly CompiledGrant[];
  /** The subject of these grants, with the issuer if all have the same one. Absent for an empty set. */
  holder: { namespaceId: string; subject: PrincipalRef; issuer: PrincipalRef | undefined } | undefined;
}

const compiledSets = new WeakMap<readonly Grant[], Authority>();

/** Spares awaiting a source that returns the same promise of the same frozen array again. */
const answers = new KnownAnswers<Authority>();

/**
 * The grants that the context exercises, or undefined when they cannot be read or cannot be trusted: too many, one
 * that does not fit the contract, one of another subject. A superset is never filtered.
 */
export function loadAuthority(
  ports: Ports,
  context: DiscoveryContext,
  signal: AbortSignal,
): AuthorityView | undefined | Promise<AuthorityView | undefined> {
  const loading = load(ports, context, signal);
  const known = answers.of(loading);
  return known !== undefined && holds(known, context)
    ? { current: known }
    : readAuthority(ports, context, loading, signal);
}

type Loading = ReturnType<GrantSource["load"]>;

function load({ grants }: Ports, context: DiscoveryContext, signal: AbortSignal): Loading {
  try {
    return grants.load(scopeOf(context), signal);
  } catch (error) {
    return Promise.reject(error);
  }
}

async function readAuthority(
  ports: Ports,
  context: DiscoveryContext,
  loading: Loading,
  signal: AbortSignal,
): Promise<AuthorityView | undefined> {
  try {
    const answer = await orAbort(loading, signal);
    const authority = isVersioned(answer)
      ? authorityOfVersion(ports.grants, scopeOf(context), answer)
      : compileAuthority(answer);
    if (!holds(authority, context))
      throw new Error("The grant source returned a grant outside the scope it was asked for.");
    signal.throwIfAborted();
    if (!isVersioned(answer) && compiledSets.has(answer)) answers.remember(loading, authority);
    return { current: authority };
  } catch (error) {
    signal.throwIfAborted();
    reportPortError(ports, error, { port: "grants" });
    return undefined;
  }
}

function isVersioned(answer: readonly Grant[] | VersionedGrants): answer is VersionedGrants {
  return typeof answer === "object" && answer !== null && "version" in answer;
}

const versions = new WeakMap<GrantSource, VersionCache<Authority>>();

function authorityOfVersion(source: GrantSource, scope: GrantScope, { version, grants }: VersionedGrants): Authority {
  if (typeof version !== "string" || version === "")
    throw new TypeError("The grant source returned a version that is no text, or an empty one.");
  let cache = versions.get(source);
  if (cache === undefined) versions.set(source, (cache = new VersionCache()));
  let authority = cache.get(scope, version);
  if (authority === undefined) cache.add(scope, version, (authority = compileAuthority(grants)));
  return authority;
}

function scopeOf({ namespaceId, actor, authority, owner, purpose, now, traceId }: DiscoveryContext): GrantScope {
  const scope: GrantScope = { namespaceId, actor, owner, purpose, now, traceId };
  if (authority !== undefined) scope.authority = authority;
  return scope;
}

/**
 * Compiles a set of grants. Throws when the set cannot be trusted. A frozen array that comes again costs nothing, from the third
 * time on at the latest.
 */
export function compileAuthority(grants: readonly Grant[]): Authority {
  const known = compiledSets.get(grants);
  if (known !== undefined) return known;
  if (!Array.isArray(grants)) throw new TypeError("The grant source returned something that is no array.");
  if (grants.length > maxGrants) throw new RangeError(`The grant source returned more than ${maxGrants} grants.`);
  if (!isWorthRemembering(grants)) return compileSet(grants, compileOnce);
  if (!Object.isFrozen(grants)) return compileSet(grants, compileGrant);
  const fresh = compileSet(grants, (grant) => compileGrant(Object.freeze(grant)));
  compiledSets.set(grants, fresh);
  return fresh;
}

const seen = new WeakSet<object>();

/**
 * Whether to cache a compiled set. Grants that a source makes anew for each call are not cached: to freeze and cache them would
 * double the cost for nothing. The first grant decides for the set.
 */
function isWorthRemembering(grants: readonly Grant[]): boolean {
  return isFixedGrant(grants[0]) || [grants, grants[0]].some(wasSeen);
}

/** Whether a frozen value was passed to this function before. */
function wasSeen(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !Object.isFrozen(value)) return false;
  if (seen.has(value)) return true;
  seen.add(value);
  return false;
}

function compileSet(grants: readonly Grant[], compile: (grant: Grant) => CompiledGrant | undefined): Authority {
  const compiled: CompiledGrant[] = [];
  // By place, because a loop by element leaves out holes, and a hole fits no contract.
  for (let place = 0; place < grants.length; place += 1) {
    const one = compile(grants[place] as Grant);
    if (one === undefined) throw new TypeError(`Grant ${place} of the grant source does not fit the contract.`);
    compiled.push(one);
  }
  const ordered = compiled.every(isFree) ? compiled : compiled.toSorted((one, other) => rankOf(one) - rankOf(other));
  return {
    grants: ordered,
    ...indexCapabilities(ordered),
    conditional: ordered.filter((grant) => !isUnbounded(grant) || grant.grant.parentId !== undefined),
    holder: commonHolder(compiled),
  };
}

function isUnbounded(grant: CompiledGrant): boolean {
  return grant.maxUses === undefined;
}

function isFree(grant: CompiledGrant): boolean {
  return isUnbounded(grant) && grant.budgets.length === 0;
}

/** Nothing is taken where nothing has to be: a grant that takes less is tried first. */
function rankOf(grant: CompiledGrant): number {
  return (grant.budgets.length === 0 ? 0 : 2) + (isUnbounded(grant) ? 0 : 1);
}

function commonHolder(grants: readonly CompiledGrant[]): Authority["holder"] {
  const [first] = grants;
  if (first === undefined) return undefined;
  const { namespaceId, subject, issuer } = first.grant;
  if (!grants.every(({ grant }) => grant.namespaceId === namespaceId && samePrincipal(grant.subject, subject))) {
    throw new Error("The grant source returned grants of several holders.");
  }
  const hasOneIssuer = grants.every(({ grant }) => samePrincipal(grant.issuer, issuer));
  return { namespaceId, subject, issuer: hasOneIssuer ? issuer : undefined };
}

function holds({ holder }: Authority, context: DiscoveryContext): boolean {
  if (holder === undefined) return true;
  if (holder.namespaceId !== context.namespaceId || !samePrincipal(holder.subject, context.actor)) return false;
  return (
    context.authority === undefined || (holder.issuer !== undefined && samePrincipal(holder.issuer, context.authority))
  );
}
