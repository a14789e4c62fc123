import type { CompiledGrant } from "./active.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import type { Moment } from "./active.ts";
import { isLive } from "./candidates.ts";
import { walkChain } from "./chain.ts";
import { peek } from "./decide.ts";

/** Why it cannot be said whether a grant stands. */
type Doubt = "authority_unavailable" | "usage_store_unavailable";

/** Of the live grants: those that do not stand (a broken chain, no use left), and those nobody can tell about now. */
export interface Standing {
  fallen: ReadonlySet<CompiledGrant>;
  doubtful: ReadonlyMap<CompiledGrant, Doubt>;
}

const allStand: Standing = { fallen: new Set(), doubtful: new Map() };

/** Looks at every live grant that needs more than the clock. */
export async function standing(
  ports: Ports,
  view: AuthorityView,
  moment: Moment,
  signal: AbortSignal,
): Promise<Standing> {
  const conditional = view.current.conditional.filter((grant) => isLive(grant, moment));
  if (conditional.length === 0) return allStand;
  const verdicts = await Promise.all(conditional.map((grant) => judge(ports, grant, moment, signal)));
  const fallen = new Set<CompiledGrant>();
  const doubtful = new Map<CompiledGrant, Doubt>();
  conditional.forEach((grant, place) => {
    const verdict = verdicts[place];
    if (verdict === "fallen") fallen.add(grant);
    else if (verdict !== undefined) doubtful.set(grant, verdict);
  });
  return { fallen, doubtful };
}

/** Undefined when the grant stands. */
async function judge(
  ports: Ports,
  grant: CompiledGrant,
  moment: Moment,
  signal: AbortSignal,
): Promise<"fallen" | Doubt | undefined> {
  const chain = await walkChain(ports, grant, moment, signal);
  if (chain.kind !== "valid") return chain.kind === "unverified" ? "authority_unavailable" : "fallen";
  const refusal = grant.maxUses === undefined ? undefined : await peek(ports, grant, signal);
  if (refusal === "usage_store_unavailable") return refusal;
  return refusal === undefined ? undefined : "fallen";
}
