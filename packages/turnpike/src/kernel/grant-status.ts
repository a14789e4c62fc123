import type { CompiledGrant } from "./active.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import type { Instant } from "./active.ts";
import { isLive } from "./candidates.ts";
import { walkChain } from "./chain.ts";
import { checkUse } from "./spend.ts";

/** Why it is unknown whether a grant is valid. */
type Unknown = "authority_unavailable" | "usage_store_unavailable";

/** The live grants that are invalid, by a broken chain or without a use left, and those whose status is unknown now. */
export interface GrantStatus {
  invalid: ReadonlySet<CompiledGrant>;
  unknown: ReadonlyMap<CompiledGrant, Unknown>;
}

const noneInvalid: GrantStatus = { invalid: new Set(), unknown: new Map() };

/** True when every live grant is valid. */
export function areAllValid({ invalid, unknown }: GrantStatus): boolean {
  return invalid.size === 0 && unknown.size === 0;
}

/** Checks every live grant whose validity depends on more than the clock. */
export async function grantStatus(
  ports: Ports,
  view: AuthorityView,
  instant: Instant,
  signal: AbortSignal,
): Promise<GrantStatus> {
  const conditional = view.current.conditional.filter((grant) => isLive(grant, instant));
  if (conditional.length === 0) return noneInvalid;
  const verdicts = await Promise.all(conditional.map((grant) => judge(ports, grant, instant, signal)));
  const invalid = new Set<CompiledGrant>();
  const unknown = new Map<CompiledGrant, Unknown>();
  conditional.forEach((grant, place) => {
    const verdict = verdicts[place];
    if (verdict === "invalid") invalid.add(grant);
    else if (verdict !== undefined) unknown.set(grant, verdict);
  });
  return { invalid, unknown };
}

/** Undefined when the grant is valid. */
async function judge(
  ports: Ports,
  grant: CompiledGrant,
  instant: Instant,
  signal: AbortSignal,
): Promise<"invalid" | Unknown | undefined> {
  const chain = await walkChain(ports, grant, instant, signal);
  if (chain.kind !== "valid") return chain.kind === "unverified" ? "authority_unavailable" : "invalid";
  const refusal = grant.maxUses === undefined ? undefined : await checkUse(ports, grant, signal);
  if (refusal === "usage_store_unavailable") return refusal;
  return refusal === undefined ? undefined : "invalid";
}
