import {
  AccessContextSchema,
  NamespaceUpdateSchema,
  type AccessContext,
  type DiscoveryContext,
  type ErrorCode,
  type NamespaceCatalog,
  type NamespaceUpdate,
} from "../contracts/index.ts";
import { accept, check, neverAborted, orAbort } from "../internal/index.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { acceptContext, acceptDiscovery, contextWith } from "./context.ts";
import { graceMs, reportPortError, type Ports } from "./call-port.ts";
import { KernelError } from "./kernel-error.ts";
import type { ToolNamespaceSettingsStore } from "./ports.ts";
import { resolveCatalog, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";

/** The operation `listToolNamespaces`. */
export async function listToolNamespaces(
  ports: Ports,
  registry: ToolRegistry,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<NamespaceCatalog> {
  signal.throwIfAborted();
  const trusted = acceptDiscovery(context);
  if (trusted === undefined) throw new KernelError("invalid_context");
  const tools = await resolveCatalog(registry, ports, trusted, signal);
  const unavailable = [...tools.unavailable];
  const listed: AuditFacts = {
    type: "tool.namespaces.listed",
    outcome: "succeeded",
    ...(unavailable.length > 0 && { metadata: { unavailable } }),
  };
  await mustRecord(ports, trusted, listed, signal);
  return namespaceCatalog(registry, tools, trusted);
}

/** The operation `updateToolNamespaces`. The answer of the store, and not the patch, says what is in force afterwards. */
export async function updateToolNamespaces(
  ports: Ports,
  registry: ToolRegistry,
  context: AccessContext,
  update: NamespaceUpdate,
  signal: AbortSignal,
): Promise<NamespaceCatalog> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) throw new KernelError("invalid_context");
  const accepted = accept(NamespaceUpdateSchema, update);
  if (!accepted.ok) throw new KernelError("invalid_request");
  const { namespaceSettings: store } = ports;
  if (store === undefined) throw new KernelError("namespace_settings_not_configured");

  const patch = asSets(accepted.value);
  await mustRecord(ports, trusted, { type: "tool.namespaces.updated", outcome: "allowed", metadata: patch }, signal);
  const applied = await applyUpdate(ports, store, trusted, accepted.value, signal);
  if (applied === undefined) {
    const reason: ErrorCode = "namespace_settings_unavailable";
    await recordOutcome(ports, trusted, () => ({ type: "tool.namespaces.updated", outcome: "failed", reason }), signal);
    throw new KernelError(reason);
  }
  const { enabledToolNamespaces: enabled } = applied;
  const inForce: AuditFacts = { type: "tool.namespaces.updated", outcome: "succeeded", metadata: { enabled } };
  await recordOutcome(ports, trusted, () => inForce, signal);
  // The patch is in force: an abort from here on would hide that from the caller.
  return namespaceCatalog(registry, await resolveCatalog(registry, ports, applied, neverAborted()), applied);
}

/** The context with the selection that is in force now; undefined when the store gave no usable answer. */
async function applyUpdate(
  ports: Ports,
  store: ToolNamespaceSettingsStore,
  context: AccessContext,
  update: NamespaceUpdate,
  signal: AbortSignal,
): Promise<DiscoveryContext | undefined> {
  try {
    // The store may already have applied the update, so it gets a short time to answer after the caller has gone.
    const enabled: unknown = await orAbort(store.applyUpdate(context, update, signal), signal, graceMs);
    const names = check(AccessContextSchema.shape.enabledToolNamespaces, enabled);
    if (names.ok) return contextWith(context, names.value);
    throw new TypeError(`The settings store returned no usable selection: ${names.message}`);
  } catch (error) {
    if (error instanceof KernelError && error.code === "invalid_request") throw error;
    reportPortError(ports, error, { port: "namespaceSettings" });
    return undefined;
  }
}

async function mustRecord(
  ports: Ports,
  context: DiscoveryContext,
  facts: AuditFacts,
  signal: AbortSignal,
): Promise<void> {
  if (!(await record(ports, context, () => facts, signal))) throw new KernelError("audit_unavailable");
}

function asSets({ enable = [], disable = [] }: NamespaceUpdate): { enable: string[]; disable: string[] } {
  return { enable: [...new Set(enable)], disable: [...new Set(disable)] };
}

/** All namespaces for this context: those of its tools, and those that providers serve. */
function namespaceCatalog(registry: ToolRegistry, { tools }: ToolCatalog, context: DiscoveryContext): NamespaceCatalog {
  const found = new Map<string, { sources: Set<string>; toolCount: number }>();
  const entryOf = (namespace: string): { sources: Set<string>; toolCount: number } => {
    const entry = found.get(namespace) ?? { sources: new Set(), toolCount: 0 };
    found.set(namespace, entry);
    return entry;
  };
  for (const { descriptor } of tools.values()) {
    const entry = entryOf(descriptor.namespace);
    entry.sources.add(descriptor.source);
    entry.toolCount += 1;
  }
  for (const { id, namespaces } of registry.providers) {
    for (const namespace of namespaces) entryOf(namespace).sources.add(id);
  }

  const namespaces = [...found].toSorted(byName).map(([namespace, { sources, toolCount }]) => ({
    namespace,
    sources: [...sources].toSorted(),
    toolCount,
    enabled: context.enabledToolNamespaces.includes(namespace),
  }));
  const enabled = namespaces.filter((entry) => entry.enabled).length;
  return { namespaces, summary: { enabled, disabled: namespaces.length - enabled, total: namespaces.length } };
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}
