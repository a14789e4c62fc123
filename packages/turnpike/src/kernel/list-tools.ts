import type { DiscoveryContext, ToolDescriptor } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import { record, type AuditFacts } from "./audit.ts";
import { namesContextOwner, type Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import type { Authority, AuthorityView } from "./authority.ts";
import type { Moment } from "./active.ts";
import { coversWithin, momentOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import type { CallOptions } from "./ports.ts";
import { standing, type Standing } from "./standing.ts";
import { resolveCatalog, type Tool, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";

/** Why a tool cannot be used; the caller never learns which. */
export type Hidden = "not-registered" | "namespace-disabled" | "not-granted";

/** What a list of descriptors was made of. */
export interface Listing {
  context: DiscoveryContext;
  catalog: ToolCatalog;
  authority: Authority;
}

/** What lists were made of: a turn that is offered such a list neither asks the providers nor looks at each tool again. */
export type Listings = WeakMap<readonly ToolDescriptor[], Listing>;

/** Why the context may not see the tool; undefined when it may. Two gates: the namespace, and a grant within the ceiling. */
export function hiddenBecause(
  tool: Tool | undefined,
  context: DiscoveryContext,
  view: AuthorityView,
  moment: Moment,
  counts?: (grant: CompiledGrant) => boolean,
): Hidden | undefined {
  if (tool === undefined) return "not-registered";
  const { descriptor, ceiling } = tool;
  if (!context.enabledToolNamespaces.includes(descriptor.namespace)) return "namespace-disabled";
  const isGranted = namesContextOwner(ceiling.resource, context) && coversWithin(view, ceiling, moment, counts);
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
  const judged = view && (await standing(gate.ports, view, momentOf(trusted), signal));
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

/** The visible part of a catalog, sorted by name; undefined when it cannot be established, never a part of it. */
export function visibleTools(
  view: AuthorityView,
  catalog: ToolCatalog,
  context: DiscoveryContext,
  { invalid, unknown }: Standing,
): readonly ToolDescriptor[] | undefined {
  const moment = momentOf(context);
  const isValid = (grant: CompiledGrant): boolean => !invalid.has(grant) && !unknown.has(grant);
  const mayBeValid = (grant: CompiledGrant): boolean => !invalid.has(grant);
  const visible: ToolDescriptor[] = [];
  for (const tool of catalog.tools.values()) {
    if (hiddenBecause(tool, context, view, moment, isValid) === undefined) visible.push(tool.descriptor);
    else if (unknown.size > 0 && hiddenBecause(tool, context, view, moment, mayBeValid) === undefined) return undefined;
  }
  return Object.freeze(visible.toSorted((one, other) => (one.name < other.name ? -1 : 1)));
}
