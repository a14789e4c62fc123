import { parseInstant, type AuthorizationRequest, type DiscoveryContext } from "../contracts/index.ts";
import { inactivity, type CompiledGrant, type Moment } from "./active.ts";
import type { AdmittedAuthority, Authority, AuthorityView } from "./authority.ts";
import { lookUp, someWithin } from "./capability-index.ts";

/** Reads the moment off an accepted context. */
export function momentOf({ owner, now, purpose }: DiscoveryContext): Moment {
  return { owner, now: parseInstant(now) ?? Number.NaN, purpose };
}

/** The live grants that each cover the request alone, in the order in which they are tried. */
export function candidates(view: AuthorityView, request: AuthorizationRequest, moment: Moment): CompiledGrant[] {
  const found = liveCovering(view.current, request, moment);
  return view.admitted === undefined ? found : asAdmitted(found, view.admitted, request, moment);
}

function liveCovering({ grants, index }: Authority, request: AuthorizationRequest, moment: Moment): CompiledGrant[] {
  const found: CompiledGrant[] = [];
  for (const position of lookUp(index, request, moment.owner)) {
    const grant = grants[position];
    if (grant !== undefined && isLive(grant, moment)) found.push(grant);
  }
  return found;
}

/** Inside a turn authority can only shrink: a grant counts as it was admitted, and no further than it goes now. */
function asAdmitted(
  found: readonly CompiledGrant[],
  { authority, moment: admission, excluded }: AdmittedAuthority,
  request: AuthorizationRequest,
  moment: Moment,
): CompiledGrant[] {
  const before = new Map<string, CompiledGrant>();
  for (const grant of liveCovering(authority, request, moment)) {
    if (isLive(grant, admission) && !excluded.has(grant)) before.set(grant.grant.id, grant);
  }
  return found.flatMap((grant) => {
    const admitted = before.get(grant.grant.id);
    if (admitted === undefined || admitted.grant.parentId !== grant.grant.parentId || !isLive(grant, admission))
      return [];
    const isLooser = (grant.maxUses ?? Infinity) > (admitted.maxUses ?? Infinity);
    return isLooser ? [{ ...grant, maxUses: admitted.maxUses }] : [grant];
  });
}

/** True when a live grant that `counts` covers some place at or below the ceiling. */
export function coversWithin(
  { current, admitted }: AuthorityView,
  ceiling: AuthorizationRequest,
  moment: Moment,
  counts: (grant: CompiledGrant) => boolean = () => true,
): boolean {
  const isAmong = ({ grants, index }: Authority, holds: (grant: CompiledGrant) => boolean): boolean =>
    someWithin(index, ceiling, moment.owner, (position) => {
      const grant = grants[position];
      return grant !== undefined && isLive(grant, moment) && holds(grant);
    });
  if (!isAmong(current, counts)) return false;
  return (
    admitted === undefined ||
    isAmong(admitted.authority, (grant) => isLive(grant, admitted.moment) && !admitted.excluded.has(grant))
  );
}

/** True when the grant is live at this moment. */
export function isLive(grant: CompiledGrant, { now, purpose }: Moment): boolean {
  return inactivity(grant, now, purpose) === undefined;
}
