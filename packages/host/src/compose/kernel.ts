import {
  createKernel,
  OutdatedReadsError,
  type AccessGuard,
  type Kernel,
  type PortFailure,
  type ResourceProvider,
  type ToolHandler,
  type ToolProvider,
} from "turnpike/kernel";
import { escalationTool } from "turnpike/runtime";
import type { Config } from "./config.ts";
import { type FileServices, fileProvider, fileTools } from "../files/index.ts";
import { errorFacts, type Log, type Metrics, portErrorFacts } from "../telemetry/index.ts";
import { ClaimTakenError } from "../ledger/index.ts";
import { messageTools, messageTransport } from "../messages/index.ts";
import type { AdminServices } from "../protocols/admin/index.ts";
import { inPortLayers } from "./pipeline.ts";
import type { Stores } from "./stores.ts";

/** The parts of a host's kernel. */
export interface HostKernelOptions {
  stores: Stores;
  access: AccessGuard;
  metrics: Metrics;
  log: Log;
  tools: readonly ToolHandler[];
  /** Makes the tools that every host offers; those of files and messages unless given. */
  makeOwnTools?: ((services: FileServices, stores: Stores) => ToolHandler[]) | undefined;
  providers: readonly ToolProvider[];
  resources: readonly ResourceProvider[];
  /** Whether what happens is traced. */
  isTraced: boolean;
  /** How long a tool call may take, and how much it may return. */
  limits: Config["tools"];
}

type ResourceActions = ReturnType<AdminServices["resourceActions"]>;

/** The kernel on the host's stores, with the host's own tools and resources; their names, and the known tool namespaces. */
export function createHostKernel(options: HostKernelOptions): {
  kernel: Kernel;
  readOnlyKernel: AdminServices["readOnlyKernel"];
  ownTools: string[];
  toolNamespaces: string[];
  /** The tool namespaces whose tools act on these resource namespaces. */
  toolNamespacesOf(resourceNamespaces: readonly string[]): string[];
  resourceActions: ResourceActions;
} {
  const { stores, access, metrics, log, tools, providers, resources, isTraced, limits } = options;
  const { makeOwnTools = fileAndMessageTools } = options;
  const fileServices: FileServices = { files: stores.files, covers: (act, request) => kernel.covers(act, request) };
  const offered = [escalationTool(), ...makeOwnTools(fileServices, stores), ...tools];
  const { audit, ledger, acts, ...called } = inPortLayers(
    {
      audit: stores.audit,
      ledger: stores.decisions,
      acts: stores.acts,
      tools: offered,
      toolProviders: providers,
      resources: [fileProvider(fileServices), ...resources],
    },
    metrics,
    isTraced,
  );
  /** What decisions rest on besides grants, and what can be listed. */
  const readPorts = {
    usage: stores.usage,
    permits: stores.permits,
    tools: called.tools,
    toolProviders: called.toolProviders,
    onPortError: (error: unknown, failure: PortFailure) =>
      log.error(
        { ...failure, ...portErrorFacts(error, failure) },
        "could not use port, will refuse or fail what needs it",
      ),
  };
  const kernel: Kernel = createKernel({
    ...readPorts,
    grants: stores.grants,
    namespaceSettings: stores.settings,
    access,
    escalations: stores.escalations,
    audit,
    ledger,
    acts,
    messages: messageTransport(stores.messages),
    resources: called.resources,
    toolTimeoutMs: limits.timeoutMs,
    maxToolOutputBytes: limits.outputBytes,
    onAuditError(error, { type, id }) {
      // A call whose id is taken is answered with its stored result, and one that was decided on what is outdated is tried again.
      if (!(error instanceof ClaimTakenError || error instanceof OutdatedReadsError))
        log.error(
          { type, id, ...errorFacts(error) },
          "could not store audit event, will refuse what has not happened yet",
        );
    },
  });
  const namespaces = [
    ...offered.map(({ descriptor }) => descriptor.namespace),
    ...providers.flatMap((provider) => provider.namespaces),
  ];
  const ownTools = offered.map(({ descriptor }) => descriptor.name);
  const readOnlyKernel: AdminServices["readOnlyKernel"] = (grants) =>
    createKernel({ ...readPorts, grants, audit: "none" });
  const toolNamespaces = [...new Set(namespaces)].toSorted();
  const toolNamespacesOf = (resourceNamespaces: readonly string[]): string[] => {
    const own = offered.filter(({ descriptor }) =>
      resourceNamespaces.includes(descriptor.requiredCapability.resource.namespace),
    );
    const served = providers.flatMap((provider) => provider.namespaces);
    const names = own.map(({ descriptor }) => descriptor.namespace);
    return [...new Set([...names, ...served.filter((name) => resourceNamespaces.includes(name))])].toSorted();
  };
  const resourceActions = resourceActionsOf(offered, providers);
  return { kernel, readOnlyKernel, ownTools, toolNamespaces, toolNamespacesOf, resourceActions };
}

function fileAndMessageTools(services: FileServices, { messages }: Stores): ToolHandler[] {
  return [...fileTools(services), ...messageTools(messages)];
}

/** What the host's own tools need, and what is done with the tools, resources and prompts of MCP servers. */
function resourceActionsOf(offered: readonly ToolHandler[], providers: readonly ToolProvider[]): ResourceActions {
  const actions = new Map<string, Set<string>>();
  for (const { descriptor } of offered) {
    const { action, resource } = descriptor.requiredCapability;
    actions.set(resource.namespace, (actions.get(resource.namespace) ?? new Set()).add(action));
  }
  for (const namespace of providers.flatMap((provider) => provider.namespaces))
    actions.set(namespace, new Set(["call", "read", "use"]));
  return [...actions].map(([namespace, known]) => ({ namespace, actions: [...known] }));
}
