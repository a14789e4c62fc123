import type { DiscoveryContext, ToolDescriptor } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import { record, type AuditFacts } from "./audit.ts";
import { namesContextOwner, type Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import type { Authority, AuthorityView } from "./authority.ts";
import type { Instant } from "./active.ts";
import { coversWithin, instantOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import type { CallOptions } from "./ports.ts";
import { grantStatus, type GrantStatus } from "./grant-status.ts";
import { resolveCatalog, type Tool, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";

/** Why a tool cannot be used. The caller is never told which of these it is. */
export type Hidden = "not-registered" | "namespace-disabled" | "not-granted";

/** How a list of descriptors was made. */
export interface Listing {
  context: DiscoveryContext;
  catalog: ToolCatalog;
  authority: Authority;
}

/** How each list was made. With it, a turn that gets such a list neither asks the providers nor checks each tool again. */
export type Listings = WeakMap<readonly ToolDescriptor[], Listing>;

/** Why the context may not see the tool; undefined when it may. Two gates: the namespace, and a grant within the ceiling. */
export function hiddenBecause(
  tool: Tool | undefined,
  context: DiscoveryContext,
  view: AuthorityView,
  instant: Instant,
  counts?: (grant: CompiledGrant) => boolean,
): Hidden | undefined {
  if (tool === undefined) return "not-registered";
  const { descriptor, ceiling } = tool;
  if (!context.enabledToolNamespaces.includes(descriptor.namespace)) return "namespace-disabled";
  const isGranted = namesContextOwner(ceiling.resource, context) && coversWithin(view, ceiling, instant, counts);
  return isGranted ? undefined : "not-granted";
}

/** The operation `listTools`: what the context may use right now, sorted by name. */
export async function listTools(
  gate: Gate,
  registry: ToolRegistry,
  listings: Listings,
  context: DiscoveryContext,
  call: CallOptions & { signal: AbortSignal },
): Promise<readonly ToolDescriptor[]> {
  const { signal } = call;
  signal.throwIfAborted();
  const trusted = acceptDiscovery(context);
  if (trusted === undefined) throw new KernelError("invalid_context");
  const catalog = await resolveCatalog(registry, gate.ports, trusted, signal);
  const view = await gate.view(trusted, signal);
  const judged = view && (await grantStatus(gate.ports, view, instantOf(trusted), signal));
  const tools = view && judged && visibleTools(view, catalog, trusted, judged);
  const unavailable = [...catalog.unavailable];
  const facts = (): AuditFacts => ({
    type: "tool.catalog.listed",
    outcome: tools === undefined ? "failed" : "succeeded",
    ...(tools === undefined && { reason: "authority_unavailable" }),
    metadata: { toolCount: tools?.length ?? 0, ...(unavailable.length > 0 && { unavailable }) },
  });
  const recorded = await record(gate.ports, trusted, facts, signal, call);
  if (!recorded) throw new KernelError("audit_unavailable");
  if (view === undefined || judged === undefined || tools === undefined) throw new KernelError("authority_unavailable");
  listings.set(tools, { context: trusted, catalog, authority: view.current });
  return tools;
}

/** The visible tools of a catalog, sorted by name; undefined when they cannot all be established. */
export function visibleTools(
  view: AuthorityView,
  catalog: ToolCatalog,
  context: DiscoveryContext,
  { invalid, unknown }: GrantStatus,
): readonly ToolDescriptor[] | undefined {
  const instant = instantOf(context);
  const isValid = (grant: CompiledGrant): boolean => !invalid.has(grant) && !unknown.has(grant);
  const mayBeValid = (grant: CompiledGrant): boolean => !invalid.has(grant);
  const visible: ToolDescriptor[] = [];
  for (const tool of catalog.tools.values()) {
    if (hiddenBecause(tool, context, view, instant, isValid) === undefined) visible.push(tool.descriptor);
    else if (unknown.size > 0 && hiddenBecause(tool, context, view, instant, mayBeValid) === undefined)
      return undefined;
  }
  return Object.freeze(visible.toSorted((one, other) => (one.name < other.name ? -1 : 1)));
}
