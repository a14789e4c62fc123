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
import type { CompiledGrant, Instant } from "./active.ts";
import type { Authority, AuthorityView } from "./authority.ts";
import { isLive, instantOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import { areAllValid, grantStatus, type GrantStatus } from "./grant-status.ts";

/** The operation `reach`: all places where the context may act right now, or that they are unknown. */
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
  // Reach that could not be recorded is not shown. Its result has no code of its own for that.
  return recorded ? result : { status: "unavailable", reasonCode: "authority_unavailable" };
}

async function establishReach(gate: Gate, context: DiscoveryContext, signal: AbortSignal): Promise<ReachResult> {
  const counting = await countingGrants(gate, context, signal);
  return "reasonCode" in counting ? counting : computed(counting.grants, instantOf(context));
}

/** Why the reach is unknown. */
export type UnavailableReach = Extract<ReachResult, { status: "unavailable" }>;

/** The grants that count now, from which reach is computed, or that they are unknown. */
export async function countingGrants(
  gate: Gate,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<Counting | UnavailableReach> {
  const view = await gate.view(context, signal);
  if (view === undefined) return { status: "unavailable", reasonCode: "authority_unavailable" };
  const instant = instantOf(context);
  return countingOf(view, instant, await grantStatus(gate.ports, view, instant, signal));
}

interface Counting {
  grants: readonly CompiledGrant[];
}

/** The grants that count without further checks. */
function countingOf(
  { current }: AuthorityView,
  instant: Instant,
  { invalid, unknown }: GrantStatus,
): Counting | UnavailableReach {
  const [reasonCode] = unknown.values();
  if (reasonCode !== undefined) return { status: "unavailable", reasonCode };
  return { grants: current.grants.filter((grant) => isLive(grant, instant) && !invalid.has(grant)) };
}

function computed(grants: readonly CompiledGrant[], instant: Instant): ReachResult {
  return { status: "computed", reach: entriesOf(grants, instant) };
}

/** The reach of sets whose grants all count, for the owner of the last call. */
const wholeReach = new WeakMap<Authority, { owner: PrincipalRef; result: ReachResult }>();

/** Reach for turns, deeply frozen. It is cached, because one set of grants admits many turns that mostly have the same reach. */
export function frozenReachOf(view: AuthorityView, instant: Instant, judged: GrantStatus): ReachResult {
  const { current } = view;
  const isWhole = areAllValid(judged) && current.grants.every((grant) => isLive(grant, instant));
  const known = isWhole ? wholeReach.get(current) : undefined;
  if (known !== undefined && samePrincipal(known.owner, instant.owner)) return known.result;
  const counting = countingOf(view, instant, judged);
  const result = deepFreeze("reasonCode" in counting ? counting : computed(counting.grants, instant));
  if (isWhole) wholeReach.set(current, { owner: instant.owner, result });
  return result;
}

/** One entry per namespace, path and scope, with all actions that the grants allow there right now without approval. */
function entriesOf(grants: readonly CompiledGrant[], { owner }: Instant): ReachEntry[] {
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

/** Whether a capability for this resource covers resources of the owner. One that names no owner covers those of every owner. */
export function isOwnedBy(resource: ResourceRef, owner: PrincipalRef): boolean {
  return resource.owner === undefined || samePrincipal(resource.owner, owner);
}
