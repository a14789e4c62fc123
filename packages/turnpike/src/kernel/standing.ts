import type { CompiledGrant } from "./active.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import type { Moment } from "./active.ts";
import { isLive } from "./candidates.ts";
import { walkChain } from "./chain.ts";
import { peek } from "./spend.ts";

/** Why it cannot be said whether a grant is valid. */
type Unknown = "authority_unavailable" | "usage_store_unavailable";

/** Of the live grants: those that are invalid (a broken chain, no use left), and those nobody can tell about now. */
export interface Standing {
  invalid: ReadonlySet<CompiledGrant>;
  unknown: ReadonlyMap<CompiledGrant, Unknown>;
}

const noneInvalid: Standing = { invalid: new Set(), unknown: new Map() };

/** True when every live grant is valid. */
export function areAllValid({ invalid, unknown }: Standing): boolean {
  return invalid.size === 0 && unknown.size === 0;
}

/** Looks at every live grant that needs more than the clock. */
export async function standing(
  ports: Ports,
  view: AuthorityView,
  moment: Moment,
  signal: AbortSignal,
): Promise<Standing> {
  const conditional = view.current.conditional.filter((grant) => isLive(grant, moment));
  if (conditional.length === 0) return noneInvalid;
  const verdicts = await Promise.all(conditional.map((grant) => judge(ports, grant, moment, signal)));
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
  moment: Moment,
  signal: AbortSignal,
): Promise<"invalid" | Unknown | undefined> {
  const chain = await walkChain(ports, grant, moment, signal);
  if (chain.kind !== "valid") return chain.kind === "unverified" ? "authority_unavailable" : "invalid";
  const refusal = grant.maxUses === undefined ? undefined : await peek.look(ports, grant, signal);
  if (refusal === "usage_store_unavailable") return refusal;
  return refusal === undefined ? undefined : "invalid";
}
