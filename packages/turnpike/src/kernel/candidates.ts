import type { AuthorizationRequest, DiscoveryContext } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import { CompiledGrant, inactivity, type Moment } from "./active.ts";
import type { AdmittedAuthority, Authority, AuthorityView } from "./authority.ts";
import { lookUp, someWithin } from "./capability-index.ts";

/** Reads the moment off an accepted context. */
export function momentOf({ owner, now, purpose }: DiscoveryContext): Moment {
  return { owner, now: parseInstant(now) ?? Number.NaN, purpose };
}

/** The live grants that each carry the request alone and by themselves, in the order in which they are tried. */
export function candidates(view: AuthorityView, request: AuthorizationRequest, moment: Moment): CompiledGrant[] {
  return candidatesIn(view, request, moment, false);
}

/** The live grants that each carry the request once a person said yes to it, in the order in which they are tried. */
export function guardedCandidates(view: AuthorityView, request: AuthorizationRequest, moment: Moment): CompiledGrant[] {
  const { current, admitted } = view;
  if (current.guarded.size === 0 && (admitted === undefined || admitted.authority.guarded.size === 0)) return [];
  const byThemselves = new Set(candidates(view, request, moment).map(({ grant }) => grant.id));
  return candidatesIn(view, request, moment, true).filter(({ grant }) => !byThemselves.has(grant.id));
}

/** With `guarded`, those that need approval count too. */
function candidatesIn(
  { current, admitted }: AuthorityView,
  request: AuthorizationRequest,
  moment: Moment,
  guarded: boolean,
): CompiledGrant[] {
  const found = liveCovering(current, request, moment, guarded);
  return admitted === undefined ? found : asAdmitted({ current, admitted }, found, request, moment, guarded);
}

function liveCovering(
  { grants, index, guarded: needApproval }: Authority,
  request: AuthorizationRequest,
  moment: Moment,
  guarded: boolean,
): CompiledGrant[] {
  let positions = lookUp(index, request, moment.owner);
  if (guarded) {
    const all = new Set([...positions, ...lookUp(needApproval, request, moment.owner)]);
    positions = [...all].toSorted((one, other) => one - other);
  }
  // Mostly it is one, which needs no list in between.
  if (positions.length === 1) {
    const grant = grants[positions[0] as number] as CompiledGrant;
    return isLive(grant, moment) ? [grant] : [];
  }
  return positions.map((position) => grants[position] as CompiledGrant).filter((grant) => isLive(grant, moment));
}

/** Whether the grant, as it was at admission, carried anything then. */
function stood(grant: CompiledGrant, { moment, excluded }: AdmittedAuthority): boolean {
  return isLive(grant, moment) && !excluded.has(grant);
}

/** Inside a turn authority can only shrink: a grant counts as it was admitted, and no further than it goes now. */
function asAdmitted(
  { current, admitted }: { current: Authority; admitted: AdmittedAuthority },
  found: CompiledGrant[],
  request: AuthorizationRequest,
  moment: Moment,
  guarded: boolean,
): CompiledGrant[] {
  if (current === admitted.authority) return found.filter((grant) => stood(grant, admitted));
  const before = new Map<string, CompiledGrant>();
  for (const grant of liveCovering(admitted.authority, request, moment, guarded)) {
    if (stood(grant, admitted)) before.set(grant.grant.id, grant);
  }
  return found.flatMap((grant) => {
    const then = before.get(grant.grant.id);
    if (then === undefined || then.grant.parentId !== grant.grant.parentId || !isLive(grant, admitted.moment))
      return [];
    const isLooser = (grant.maxUses ?? Infinity) > (then.maxUses ?? Infinity);
    return isLooser ? [new CompiledGrant(grant.grant, then.maxUses)] : [grant];
  });
}

/**
 * True when a live grant that `counts` covers some place at or below the ceiling, with or without approval; inside a turn,
 * then as now.
 */
export function coversWithin(
  { current, admitted }: AuthorityView,
  ceiling: AuthorizationRequest,
  moment: Moment,
  counts: (grant: CompiledGrant) => boolean = () => true,
): boolean {
  const isAmong = ({ grants, index, guarded }: Authority, holds: (grant: CompiledGrant) => boolean): boolean => {
    const isOne = (position: number): boolean => {
      const grant = grants[position];
      return grant !== undefined && isLive(grant, moment) && holds(grant);
    };
    const { owner } = moment;
    return someWithin(index, ceiling, owner, isOne) || someWithin(guarded, ceiling, owner, isOne);
  };
  if (admitted === undefined) return isAmong(current, counts);
  if (current === admitted.authority) return isAmong(current, (grant) => counts(grant) && stood(grant, admitted));
  const stoodThen = new Set<string>();
  isAmong(admitted.authority, (grant) => {
    if (stood(grant, admitted)) stoodThen.add(grant.grant.id);
    return false;
  });
  return isAmong(current, (grant) => counts(grant) && stoodThen.has(grant.grant.id));
}

/** True when the grant is live at this moment. */
export function isLive(grant: CompiledGrant, { now, purpose }: Moment): boolean {
  return inactivity(grant, now, purpose) === undefined;
}
