import type { DiscoveryContext, ToolDescriptor } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import { record, type AuditFacts } from "./audit.ts";
import { namesContextOwner, type Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import type { Moment } from "./active.ts";
import { coversWithin, momentOf } from "./candidates.ts";
import { KernelError } from "./kernel-error.ts";
import { standing, type Standing } from "./standing.ts";
import { resolveCatalog, type Tool, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";

/** Why a tool cannot be used; the caller never learns which. */
export type Hidden = "not-registered" | "namespace-disabled" | "not-granted";

/** The catalogs behind lists of descriptors, so that a turn that is offered such a list does not ask the providers again. */
export type ListedCatalogs = WeakMap<readonly ToolDescriptor[], { catalog: ToolCatalog; context: DiscoveryContext }>;

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
  listed: ListedCatalogs,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<readonly ToolDescriptor[]> {
  signal.throwIfAborted();
  const trusted = acceptDiscovery(context);
  if (trusted === undefined) throw new KernelError("invalid_context");
  const catalog = await resolveCatalog(registry, gate.ports, trusted, signal);
  const view = await gate.view(trusted, signal);
  const tools = view && (await visibleTools(gate.ports, view, catalog, trusted, signal))?.tools;
  const unavailable = [...catalog.unavailable];
  const facts = (): AuditFacts => ({
    type: "tool.catalog.listed",
    outcome: tools === undefined ? "failed" : "succeeded",
    ...(tools === undefined && { reason: "authority_unavailable" }),
    metadata: { toolCount: tools?.length ?? 0, ...(unavailable.length > 0 && { unavailable }) },
  });
  const recorded = await record(gate.ports, trusted, facts, signal);
  if (!recorded) throw new KernelError("audit_unavailable");
  if (tools === undefined) throw new KernelError("authority_unavailable");
  listed.set(tools, { catalog, context: trusted });
  return tools;
}

/** The visible part of a catalog, and how the grants stood; undefined when it cannot be established, never a part of it. */
export async function visibleTools(
  ports: Ports,
  view: AuthorityView,
  catalog: ToolCatalog,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<{ tools: readonly ToolDescriptor[]; standing: Standing } | undefined> {
  const moment = momentOf(context);
  const judged = await standing(ports, view, moment, signal);
  const stands = (grant: CompiledGrant): boolean => !judged.fallen.has(grant) && !judged.doubtful.has(grant);
  const mayStand = (grant: CompiledGrant): boolean => !judged.fallen.has(grant);
  const visible: ToolDescriptor[] = [];
  for (const tool of catalog.tools.values()) {
    if (hiddenBecause(tool, context, view, moment, stands) === undefined) visible.push(tool.descriptor);
    else if (judged.doubtful.size > 0 && hiddenBecause(tool, context, view, moment, mayStand) === undefined)
      return undefined;
  }
  const tools = Object.freeze(visible.toSorted((one, other) => (one.name < other.name ? -1 : 1)));
  return { tools, standing: judged };
}
