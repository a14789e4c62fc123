import {
  samePrincipal,
  type DiscoveryContext,
  type PrincipalRef,
  type ReachEntry,
  type ReachResult,
  type ResourceRef,
} from "../contracts/index.ts";
import { deepFreeze } from "../internal/index.ts";
import { record, type AuditFacts } from "./audit.ts";
import type { Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import type { CompiledGrant, Moment } from "./active.ts";
import type { Authority, AuthorityView } from "./authority.ts";
import { isLive, momentOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import { areAllValid, standing, type Standing } from "./standing.ts";

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

async function establishReach(gate: Gate, context: DiscoveryContext, signal: AbortSignal): Promise<ReachResult> {
  const counting = await countingGrants(gate, context, signal);
  return "reasonCode" in counting ? counting : computed(counting.grants, momentOf(context));
}

/** That reach cannot be said, and why. */
export type UnavailableReach = Extract<ReachResult, { status: "unavailable" }>;

/** The grants that count now, of which reach is made, or that they cannot be told. */
export async function countingGrants(
  gate: Gate,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<Counting | UnavailableReach> {
  const view = await gate.view(context, signal);
  if (view === undefined) return { status: "unavailable", reasonCode: "authority_unavailable" };
  const moment = momentOf(context);
  return countingOf(view, moment, await standing(gate.ports, view, moment, signal));
}

interface Counting {
  grants: readonly CompiledGrant[];
}

/** The grants that count as they stand. */
function countingOf(
  { current }: AuthorityView,
  moment: Moment,
  { invalid, unknown }: Standing,
): Counting | UnavailableReach {
  const [reasonCode] = unknown.values();
  if (reasonCode !== undefined) return { status: "unavailable", reasonCode };
  return { grants: current.grants.filter((grant) => isLive(grant, moment) && !invalid.has(grant)) };
}

function computed(grants: readonly CompiledGrant[], moment: Moment): ReachResult {
  return { status: "computed", reach: entriesOf(grants, moment) };
}

/** The reach of sets of which every grant counts, for the owner it was last asked for. */
const wholeReach = new WeakMap<Authority, { owner: PrincipalRef; result: ReachResult }>();

/** Reach for turns, frozen to its last leaf. One set of grants admits many turns, and mostly reaches equally far. */
export function frozenReachOf(view: AuthorityView, moment: Moment, judged: Standing): ReachResult {
  const { current } = view;
  const isWhole = areAllValid(judged) && current.grants.every((grant) => isLive(grant, moment));
  const known = isWhole ? wholeReach.get(current) : undefined;
  if (known !== undefined && samePrincipal(known.owner, moment.owner)) return known.result;
  const counting = countingOf(view, moment, judged);
  const result = deepFreeze("reasonCode" in counting ? counting : computed(counting.grants, moment));
  if (isWhole) wholeReach.set(current, { owner: moment.owner, result });
  return result;
}

/** One entry per namespace, path and scope, with the union of what the grants allow there right now: without asking. */
function entriesOf(grants: readonly CompiledGrant[], { owner }: Moment): ReachEntry[] {
  const entries = new Map<string, ReachEntry>();
  for (const { resource, actions, scope, approval } of grants.flatMap(({ grant }) => grant.capabilities)) {
    if (approval !== undefined) continue;
    if (!isOwnedBy(resource, owner)) continue;
    const { namespace, path } = resource;
    const key = JSON.stringify([namespace, path, scope]);
    const known = entries.get(key)?.actions ?? [];
    entries.set(key, { namespace, path: [...path], actions: [...new Set([...known, ...actions])].toSorted(), scope });
  }
  return [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

/** Whether a capability for this resource counts for what is the owner's; one that names nobody does for everybody's. */
export function isOwnedBy(resource: ResourceRef, owner: PrincipalRef): boolean {
  return resource.owner === undefined || samePrincipal(resource.owner, owner);
}
