import {
  IdentifierSchema,
  ToolDescriptorSchema,
  type AuthorizationRequest,
  type DiscoveryContext,
  type ToolDescriptor,
} from "../contracts/index.ts";
import { accept, check, deepFreeze, withinTime } from "../internal/index.ts";
import { callPort, reportPortError, type Ports } from "./call-port.ts";
import { checkTimeout } from "./effect.ts";
import type { ToolHandler, ToolProvider } from "./ports.ts";

const maxTools = 512;
const maxNamespaces = 256;
const providerTimeoutMs = 5_000;

/** A tool that is registered: its checked descriptor, and the object that carries it out. */
export interface Tool {
  descriptor: ToolDescriptor;
  /** The descriptor's required capability: no call may need more. */
  ceiling: AuthorizationRequest;
  handler: ToolHandler;
}

/** The tools of one access context, whether or not they are enabled and granted. */
export interface ToolCatalog {
  tools: ReadonlyMap<string, Tool>;
  /** Namespaces whose provider gave no usable answer. */
  unavailable: ReadonlySet<string>;
}

/** What the host registered. */
export interface ToolRegistry {
  fixed: ToolCatalog;
  providers: readonly ToolProvider[];
}

const none: ReadonlySet<string> = new Set();

/** Checks, freezes and indexes the fixed tools, once. Throws on a tool that does not fit or a name that occurs twice. */
export function createToolRegistry(
  tools: readonly ToolHandler[] = [],
  providers: readonly ToolProvider[] = [],
): ToolRegistry {
  const fixed = new Map<string, Tool>();
  for (const handler of tools) {
    const tool = compileTool(handler);
    if (fixed.has(tool.descriptor.name)) throw new TypeError(`Two tools are named ${tool.descriptor.name}.`);
    fixed.set(tool.descriptor.name, tool);
  }
  if (fixed.size > maxTools)
    throw new RangeError(`A catalog has at most ${maxTools} tools; ${fixed.size} are registered.`);
  const namespaces = new Set([
    ...[...fixed.values()].map((tool) => tool.descriptor.namespace),
    ...providers.flatMap((provider) => provider.namespaces),
  ]);
  if (namespaces.size > maxNamespaces) {
    throw new RangeError(`There are at most ${maxNamespaces} tool namespaces; ${namespaces.size} are registered.`);
  }
  return { fixed: { tools: fixed, unavailable: none }, providers: providers.map(checkProvider) };
}

/** Reads a provider's fields once. Throws when the provider could never work, or would break the catalog. */
function checkProvider(provider: ToolProvider): ToolProvider {
  const { id, namespaces: declared, timeoutMs = providerTimeoutMs } = provider;
  const namespaces: readonly string[] = Object.freeze(Array.isArray(declared) ? [...declared] : []);
  const names = [id, ...namespaces];
  const isSound = namespaces.length > 0 && names.every((name) => check(IdentifierSchema, name).ok);
  if (!isSound || typeof provider.tools !== "function") {
    throw new TypeError(`Tool provider ${id} needs an id, one namespace or more, and the function \`tools\`.`);
  }
  checkTimeout("timeoutMs", timeoutMs);
  return { id, namespaces, timeoutMs, tools: (context, signal) => provider.tools(context, signal) };
}

function compileTool(handler: ToolHandler): Tool {
  if (typeof handler?.parse !== "function" || typeof handler.invoke !== "function") {
    throw new TypeError("A tool needs the functions `parse` and `invoke`.");
  }
  const descriptor = checkDescriptor(handler.descriptor);
  return { descriptor, ceiling: descriptor.requiredCapability, handler };
}

const checkedDescriptors = new WeakMap<ToolDescriptor, ToolDescriptor>();

/** Checks a descriptor. A frozen one must never change, so its parts are frozen too, and it is checked once. */
function checkDescriptor(given: ToolDescriptor): ToolDescriptor {
  const known = checkedDescriptors.get(given);
  if (known !== undefined) return known;
  const accepted = accept(ToolDescriptorSchema, given);
  if (!accepted.ok) throw new TypeError(`Tool ${given?.name} does not fit the contract: ${accepted.message}`);
  if (Object.isFrozen(given)) checkedDescriptors.set(deepFreeze(given), accepted.value);
  return accepted.value;
}

/** Fixed tools, and those of the providers that serve a namespace the context enables. */
export function resolveCatalog(
  registry: ToolRegistry,
  ports: Ports,
  context: DiscoveryContext,
  signal: AbortSignal,
): Promise<ToolCatalog> {
  return askProviders(registry, ports, context, signal, () => true);
}

/** Like `resolveCatalog`, but asks only the providers that can have the tool of this name. */
export function resolveCatalogFor(
  name: string,
  registry: ToolRegistry,
  ports: Ports,
  context: DiscoveryContext,
  signal: AbortSignal,
): ToolCatalog | Promise<ToolCatalog> {
  if (registry.fixed.tools.has(name)) return registry.fixed;
  return askProviders(registry, ports, context, signal, (namespace) => isNamedIn(name, namespace));
}

/** True when a name is of the form `<namespace>.<name>`. */
export function isNamedIn(name: string, namespace: string): boolean {
  return name.length > namespace.length + 1 && name.startsWith(`${namespace}.`);
}

/** True when the tool would come from a provider that gave no usable answer. */
export function isUnavailable({ tools, unavailable }: ToolCatalog, name: string): boolean {
  return !tools.has(name) && [...unavailable].some((namespace) => isNamedIn(name, namespace));
}

async function askProviders(
  registry: ToolRegistry,
  ports: Ports,
  context: DiscoveryContext,
  signal: AbortSignal,
  isWanted: (namespace: string) => boolean,
): Promise<ToolCatalog> {
  const asked = registry.providers.filter(({ namespaces }) =>
    namespaces.some((namespace) => isWanted(namespace) && context.enabledToolNamespaces.includes(namespace)),
  );
  if (asked.length === 0) return registry.fixed;
  const answers = await Promise.all(
    asked.map((provider) => {
      const ask = (): Promise<Tool[]> => askProvider(provider, context, signal);
      return callPort(ports, { port: "tools", id: provider.id }, signal, ask, (provided) => provided);
    }),
  );

  const tools = new Map(registry.fixed.tools);
  const unavailable = new Set<string>();
  asked.forEach((provider, place) => {
    const answer = answers[place];
    const isAdded = answer?.ok === true && addTools(ports, tools, provider, answer.value);
    if (!isAdded) for (const namespace of provider.namespaces) unavailable.add(namespace);
  });
  return { tools, unavailable };
}

/** Adds a provider's tools; false when there would be too many. A tool whose name is taken is left out. */
function addTools(ports: Ports, tools: Map<string, Tool>, provider: ToolProvider, provided: readonly Tool[]): boolean {
  const failure = { port: "tools", id: provider.id } as const;
  const isNew = (tool: Tool): boolean => !tools.has(tool.descriptor.name);
  if (tools.size + provided.filter(isNew).length > maxTools) {
    reportPortError(ports, new RangeError(`With these tools the catalog would have more than ${maxTools}.`), failure);
    return false;
  }
  for (const tool of provided) {
    const { name } = tool.descriptor;
    if (isNew(tool)) tools.set(name, tool);
    else reportPortError(ports, new Error(`A tool named ${name} is registered already.`), failure);
  }
  return true;
}

function askProvider(provider: ToolProvider, context: DiscoveryContext, signal: AbortSignal): Promise<Tool[]> {
  const { timeoutMs = providerTimeoutMs } = provider;
  const limit = { timeoutMs, late: `No answer within ${timeoutMs} ms.` };
  return withinTime(limit, signal, (limited) =>
    provider
      .tools(context, limited.get())
      .then((handlers) => handlers.map((handler) => compileProvided(provider, handler))),
  );
}

function compileProvided(provider: ToolProvider, handler: ToolHandler): Tool {
  const tool = compileTool(handler);
  const { name, namespace } = tool.descriptor;
  if (!provider.namespaces.includes(namespace) || !isNamedIn(name, namespace)) {
    throw new TypeError(`Provider ${provider.id} does not serve a tool named ${name} in namespace ${namespace}.`);
  }
  return tool;
}
