import type { AuthorizationRequest, DiscoveryContext } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import { CompiledGrant, inactivity, type Instant } from "./active.ts";
import { exceedsBudgets, joined, narrowest } from "./budgets.ts";
import type { AdmittedAuthority, Authority, AuthorityView } from "./authority.ts";
import { lookUp, someWithin } from "./capability-index.ts";

/** The instant of an accepted context. */
export function instantOf({ owner, now, purpose }: DiscoveryContext): Instant {
  return { owner, now: parseInstant(now) ?? Number.NaN, purpose };
}

/** The live grants that each carry the request alone and by themselves, in the order in which they are tried. */
export function candidates(view: AuthorityView, request: AuthorizationRequest, instant: Instant): CompiledGrant[] {
  return candidatesIn(view, request, instant, false);
}

/** The live grants that each carry the request once a person has approved it, in the order in which they are tried. */
export function guardedCandidates(
  view: AuthorityView,
  request: AuthorizationRequest,
  instant: Instant,
): CompiledGrant[] {
  const { current, admitted } = view;
  if (current.guarded.size === 0 && (admitted === undefined || admitted.authority.guarded.size === 0)) return [];
  const byThemselves = new Set(candidates(view, request, instant).map(({ grant }) => grant.id));
  return candidatesIn(view, request, instant, true).filter(({ grant }) => !byThemselves.has(grant.id));
}

/** With `guarded`, those that need approval count too. */
function candidatesIn(
  { current, admitted }: AuthorityView,
  request: AuthorizationRequest,
  instant: Instant,
  guarded: boolean,
): CompiledGrant[] {
  const found = liveCovering(current, request, instant, guarded);
  return admitted === undefined ? found : asAdmitted({ current, admitted }, found, request, instant, guarded);
}

function liveCovering(
  { grants, index, guarded: needApproval }: Authority,
  request: AuthorizationRequest,
  instant: Instant,
  guarded: boolean,
): CompiledGrant[] {
  let positions = lookUp(index, request, instant.owner);
  if (guarded) {
    const all = new Set([...positions, ...lookUp(needApproval, request, instant.owner)]);
    positions = [...all].toSorted((one, other) => one - other);
  }
  // Mostly there is one position, for which no intermediate list is made.
  if (positions.length === 1) {
    const grant = grants[positions[0] as number] as CompiledGrant;
    return isLive(grant, instant) ? [grant] : [];
  }
  return positions.map((position) => grants[position] as CompiledGrant).filter((grant) => isLive(grant, instant));
}

/** Whether the grant, as it was at the admission, was live and valid then. */
function wasValid(grant: CompiledGrant, { instant, excluded }: AdmittedAuthority): boolean {
  return isLive(grant, instant) && !excluded.has(grant);
}

/** Inside a turn authority can only shrink: a grant counts only for what it covers now and covered at the admission. */
function asAdmitted(
  { current, admitted }: { current: Authority; admitted: AdmittedAuthority },
  found: CompiledGrant[],
  request: AuthorizationRequest,
  instant: Instant,
  guarded: boolean,
): CompiledGrant[] {
  if (current === admitted.authority) return found.filter((grant) => wasValid(grant, admitted));
  const before = new Map<string, CompiledGrant>();
  for (const grant of liveCovering(admitted.authority, request, instant, guarded)) {
    if (wasValid(grant, admitted)) before.set(grant.grant.id, grant);
  }
  return found.flatMap((grant) => {
    const then = before.get(grant.grant.id);
    if (then === undefined || then.grant.parentId !== grant.grant.parentId || !isLive(grant, admitted.instant))
      return [];
    const [maxUses, budgets] = [Math.min(grant.maxUses ?? Infinity, then.maxUses ?? Infinity), grant.budgets];
    const both = narrowest(joined(budgets, then.budgets));
    const isLooser =
      (grant.maxUses ?? Infinity) > maxUses || both.length > budgets.length || exceedsBudgets(budgets, both);
    return isLooser ? [new CompiledGrant(grant.grant, maxUses === Infinity ? undefined : maxUses, both)] : [grant];
  });
}

/**
 * True when a live grant that `counts` covers some place at or below the ceiling, with or without approval. Inside a turn it has
 * to cover a place at the admission and now.
 */
export function coversWithin(
  { current, admitted }: AuthorityView,
  ceiling: AuthorizationRequest,
  instant: Instant,
  counts: (grant: CompiledGrant) => boolean = () => true,
): boolean {
  const isAmong = ({ grants, index, guarded }: Authority, holds: (grant: CompiledGrant) => boolean): boolean => {
    const isOne = (position: number): boolean => {
      const grant = grants[position];
      return grant !== undefined && isLive(grant, instant) && holds(grant);
    };
    const { owner } = instant;
    return someWithin(index, ceiling, owner, isOne) || someWithin(guarded, ceiling, owner, isOne);
  };
  if (admitted === undefined) return isAmong(current, counts);
  if (current === admitted.authority) return isAmong(current, (grant) => counts(grant) && wasValid(grant, admitted));
  const validThen = new Set<string>();
  isAmong(admitted.authority, (grant) => {
    if (wasValid(grant, admitted)) validThen.add(grant.grant.id);
    return false;
  });
  return isAmong(current, (grant) => counts(grant) && validThen.has(grant.grant.id));
}

/** True when the grant is live at this instant. */
export function isLive(grant: CompiledGrant, { now, purpose }: Instant): boolean {
  return inactivity(grant, now, purpose) === undefined;
}
