import { samePrincipal, type DiscoveryContext, type ReachEntry, type ReachResult } from "../contracts/index.ts";
import { record, type AuditFacts } from "./audit.ts";
import type { Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import type { CompiledGrant } from "./active.ts";
import type { Moment } from "./active.ts";
import { isLive, momentOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import { standing } from "./standing.ts";

/** The operation `reach`: everywhere the context may act right now, or that it cannot be said. */
export async function reach(gate: Gate, context: DiscoveryContext, signal: AbortSignal): Promise<ReachResult> {
  signal.throwIfAborted();
  const trusted = acceptDiscovery(context);
  if (trusted === undefined) throw new KernelError("invalid_context");
  const result = await establishReach(gate, trusted, signal);
  const facts = (): AuditFacts => ({
    type: "reach.read",
    outcome: result.status === "computed" ? "succeeded" : "failed",
    ...(result.status === "unavailable" && { reason: result.reasonCode }),
  });
  const recorded = await record(gate.ports, trusted, facts, signal);
  // A reach result has no code for a sink that refuses, and what is not on the trail is not shown.
  return recorded ? result : { status: "unavailable", reasonCode: "authority_unavailable" };
}

/** Reach without its audit event, for callers that record something of their own. */
export async function establishReach(gate: Gate, context: DiscoveryContext, signal: AbortSignal): Promise<ReachResult> {
  const view = await gate.view(context, signal);
  if (view === undefined) return { status: "unavailable", reasonCode: "authority_unavailable" };
  const moment = momentOf(context);
  const { fallen, doubtful } = await standing(gate.ports, view, moment, signal);
  const [doubt] = doubtful.values();
  if (doubt !== undefined) return { status: "unavailable", reasonCode: doubt };
  const standingGrants = view.current.grants.filter((grant) => isLive(grant, moment) && !fallen.has(grant));
  return { status: "computed", reach: reachOf(standingGrants, moment) };
}

/** One entry per namespace, path and scope, with the union of what the grants allow there. */
function reachOf(grants: readonly CompiledGrant[], { owner }: Moment): ReachEntry[] {
  const entries = new Map<string, ReachEntry>();
  for (const { resource, actions, scope } of grants.flatMap(({ grant }) => grant.capabilities)) {
    if (resource.owner !== undefined && !samePrincipal(resource.owner, owner)) continue;
    const { namespace, path } = resource;
    const key = JSON.stringify([namespace, path, scope]);
    const known = entries.get(key)?.actions ?? [];
    entries.set(key, { namespace, path: [...path], actions: [...new Set([...known, ...actions])].toSorted(), scope });
  }
  return [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}
