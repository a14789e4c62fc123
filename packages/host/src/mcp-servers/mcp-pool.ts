import { principalKey, type DiscoveryContext } from "turnpike/contracts";
import type { ResourceProvider, ToolProvider } from "turnpike/kernel";
import { ConfigError, withMembers } from "../shared/index.ts";
import { foreignErrorFacts, type Log } from "../telemetry/index.ts";
import { createHeaderSecrets, placesOf, type HeaderSecrets } from "./header-secrets.ts";
import { openHttpChannel } from "./http-channel.ts";
import { impossibleUsers } from "./isolation.ts";
import { createReconnectingClient, type ReconnectingClient } from "./reconnecting-client.ts";
import type { McpConfig, McpServerConfig } from "./mcp-config.ts";
import { openMcpConnection, type McpConnection, type McpRoute } from "./mcp-connection.ts";
import { createMcpProvider, type LeftOut } from "./mcp-provider.ts";
import { createMcpResources } from "./mcp-resources.ts";
import type { PinStore, WithdrawnTool } from "./pin-store.ts";
import type { LeftOutEntry } from "./read-offer.ts";
import { createServerChanges } from "./server-changes.ts";
import type { ChangedList, ListKind } from "./server-lists.ts";
import { ownerClients, sharedClient, type ServerClients } from "./server-clients.ts";
import type { ServerOffer } from "./server-offer.ts";
import type { StandardErrorLine } from "./standard-error.ts";
import { openStdioChannel } from "./stdio-channel.ts";
import { createToolPins, type ToolPinsOptions } from "./tool-pins.ts";
import { createReviews, type McpReviews } from "./tool-review.ts";
import { whyUnavailable } from "./why-unavailable.ts";

/** The MCP servers of a host: one provider and one connection each, shared by all callers that it is offered to. */
export interface McpPool {
  providers: readonly ToolProvider[];
  /** The providers of the servers' resources and prompts: one resource namespace for each server. */
  resources: readonly ResourceProvider[];
  /**
   * What the servers offer to this context besides tools, as far as their namespaces are switched on for it. A server that does
   * not answer is left out.
   */
  offers(context: DiscoveryContext, signal: AbortSignal): Promise<readonly ServerOffer[]>;
  /** Whether a namespace may be used in a tenant: false for a server that is configured for other tenants only. */
  mayServe(namespace: string, tenant: string): boolean;
  /** True for the namespace of a server that is not offered to this context. */
  isHidden(namespace: string, context: DiscoveryContext): boolean;
  /** What operators see of the tools, and how they accept those that changed. */
  reviews: McpReviews;
  /** The withdrawn tools of the servers that a tenant may use, and of no others. */
  withdrawn(tenant: string): Promise<readonly WithdrawnTool[]>;
  /** Connects to the servers that are started with the host, and stays connected. */
  start(): void;
  /** The names of the servers of this context that are unavailable now. */
  unavailable(context: DiscoveryContext): readonly string[];
  /** Calls the listener when a list of a server of this context has changed. The returned function ends that. */
  listen(context: DiscoveryContext, listener: (kind: ChangedList) => void): () => void;
  /** Ends every connection and every process. */
  close(): Promise<void>;
}

/** Where the definitions of tools are pinned. */
export interface McpPinning extends Pick<ToolPinsOptions, "pinFirst" | "withdraw"> {
  store: PinStore;
}

/** How much larger than its output an answer may be on the wire, because of escapes and the envelope. */
const wireFactor = 8;
/** The same number of nodes as a request to the host may have. An output that is too deep is refused later, by itself. */
const json = { maxNodes: 100_000, maxDepth: 1000 };
/** Calls and handshakes have limits of their own. This margin ends what does not end at these limits. */
const spareMs = 30_000;

/** How many unused tools are named in one line of the log, and how many different lines are remembered. */
const [maxNamed, maxReported] = [20, 100];

/**
 * Checks the configuration of the servers, and returns a function that makes the pool once there is a store of pins. Throws
 * `ConfigError` for a variable that is not set, and for a user as whom this process cannot start a program.
 */
export function prepareMcpPool(
  config: McpConfig | undefined,
  log: Log,
  env: Readonly<Record<string, string | undefined>> = process.env,
): (pinning: McpPinning) => McpPool {
  refuseImpossibleUsers(config ?? { servers: {} });
  const servers = Object.entries(config?.servers ?? {}).map(([name, server]) => {
    return { name, server, routeFor: routeTo(name, server, env, log) };
  });
  return (pinning) => createMcpPool(servers, pinning, log);
}

interface PreparedServer {
  name: string;
  server: McpServerConfig;
  routeFor: RouteFor;
}

/** Called when a list of a connection has changed. `key` identifies the connection. */
type OnChanged = (connection: McpConnection, key: string, kind: ChangedList) => void;

/** How to reach a server with the secrets of an owner, when it takes any. */
type RouteFor = (secrets?: HeaderSecrets) => McpRoute;

function createMcpPool(prepared: readonly PreparedServer[], pinning: McpPinning, log: Log): McpPool {
  const { store } = pinning;
  const pins = createToolPins({ ...pinning, log });
  const changes = createServerChanges();
  const servers = prepared.map(({ name, server, routeFor }) => {
    const onChanged: OnChanged = (connection, key, kind) => {
      // This finds changes even if no caller uses the server. A server that does not answer is reported as unavailable.
      const refresh = (): void => void provider.compare(connection, key).catch(() => {});
      changes.tell({ server: name, connection: key, ...(kind === "tools" && { refresh }) }, kind);
    };
    const clients = clientsOf({ name, server, routeFor }, log, onChanged);
    const isOfferedTo = (context: DiscoveryContext): boolean => isOffered(server, context);
    const onList = reportOnce<LeftOut>((leftOut) =>
      log.warn(
        { server: name, count: leftOut.length, leftOut: leftOut.slice(0, maxNamed) },
        "could not offer some tools of an MCP server, will leave them out",
      ),
    );
    const onLate = (tool: string): void =>
      log.warn({ server: name, tool, timeoutMs: server.timeoutMs }, "MCP server did not answer a call in time");
    const about = { server: name, config: server, clients, isOfferedTo };
    const provider = createMcpProvider({ ...about, pins, onList, onLate });
    return {
      name,
      clients,
      isEager: server.start === "eager",
      tenants: server.tenants,
      isOfferedTo,
      provider,
      resources: createMcpResources({ ...about, onList: reportLists(name, log) }),
    };
  });
  const reviews = createReviews(new Map(servers.map(({ name, provider }) => [name, provider.listTools])), store, pins);
  const byNamespace = new Map(servers.map((server) => [server.provider.id, server]));
  const mayServe = (namespace: string, tenant: string): boolean =>
    byNamespace.get(namespace)?.tenants?.includes(tenant) !== false;
  return {
    providers: servers.map(({ provider }) => provider),
    resources: servers.map(({ resources }) => resources.provider),
    async offers(context, signal) {
      const offers = servers.map(({ name, resources }) =>
        resources.offer(context).catch((error: unknown) => {
          log.warn({ server: name, ...foreignErrorFacts(error) }, "MCP server does not list its resources and prompts");
          return undefined;
        }),
      );
      return (await unlessAborted(Promise.all(offers), signal)).filter((offer) => offer !== undefined);
    },
    reviews: withMembers(reviews, {
      async accept(server, wanted, by) {
        const isAccepted = await reviews.accept(server, wanted, by);
        if (isAccepted) changes.tell({ server }, "tools");
        return isAccepted;
      },
    }),
    start() {
      for (const { clients, isEager } of servers) if (isEager) clients.start();
    },
    unavailable: (context) =>
      servers
        .filter(({ provider, isOfferedTo }) => isOfferedTo(context) && isOn(context, provider))
        .filter(({ clients }) => !clients.isConnected(context))
        .map(({ name }) => name),
    listen(context, listener) {
      const connections = new Map(
        servers.filter((one) => one.isOfferedTo(context)).map(({ name, clients }) => [name, clients.keyOf(context)]),
      );
      return changes.listen(({ server, connection }, kind) => {
        const own = connections.get(server);
        if (own !== undefined && (connection === undefined || connection === own)) listener(kind);
      });
    },
    mayServe,
    withdrawn: (tenant) =>
      store.listWithdrawn(servers.filter(({ provider }) => mayServe(provider.id, tenant)).map(({ name }) => name)),
    isHidden: (namespace, context) => byNamespace.get(namespace)?.isOfferedTo(context) === false,
    close: async () => void (await Promise.all(servers.map(({ clients }) => clients.close()))),
  };
}

function isOn({ enabledToolNamespaces }: DiscoveryContext, { namespaces }: ToolProvider): boolean {
  return namespaces.some((namespace) => enabledToolNamespaces.includes(namespace));
}

function refuseImpossibleUsers(config: McpConfig): void {
  const impossible = impossibleUsers(config);
  if (impossible.length > 0) throw new ConfigError(impossible.map(({ says }) => says).join("\n"));
}

/** A server is offered to all callers, unless its configuration names tenants or owners. Then both have to match. */
function isOffered({ tenants, owners }: McpServerConfig, { namespaceId, owner }: DiscoveryContext): boolean {
  return tenants?.includes(namespaceId) !== false && owners?.includes(principalKey(owner)) !== false;
}

/** One connection for all callers, unless headers depend on the owner of a call. */
function clientsOf(prepared: PreparedServer, log: Log, onChanged: OnChanged): ServerClients {
  const { name, server: config, routeFor } = prepared;
  const { headers = {} } = config;
  const places = Object.values(headers).map(placesOf);
  const isOwners = places.some(({ owner }) => owner);
  if (!isOwners && !places.some(({ tenant }) => tenant)) {
    const secrets = places.length === 0 ? undefined : createHeaderSecrets(headers, undefined);
    return sharedClient(clientFor({ server: name }, config, routeFor(secrets), log, { key: "", onChanged }));
  }
  const whose = ({ namespaceId, owner }: DiscoveryContext): { tenant: string; owner?: string } => ({
    tenant: namespaceId,
    ...(isOwners && { owner: principalKey(owner) }),
  });
  const keyOf = (context: DiscoveryContext): string => JSON.stringify(whose(context));
  return ownerClients({
    keyOf,
    open(context) {
      const route = routeFor(createHeaderSecrets(headers, context));
      return clientFor({ server: name, ...whose(context) }, config, route, log, { key: keyOf(context), onChanged });
    },
  });
}

function clientFor(
  of: { server: string },
  config: McpServerConfig,
  route: McpRoute,
  log: Log,
  { key, onChanged }: { key: string; onChanged: OnChanged },
): ReconnectingClient<McpConnection> {
  const { startTimeoutMs } = config;
  return createReconnectingClient({
    async open(signal, onLost) {
      const tellChange = (kind: ChangedList): void => onChanged(connection, key, kind);
      const connection = await openMcpConnection(route, { signal, startTimeoutMs, onLost, onChanged: tellChange });
      return connection;
    },
    // Clients that were told that the server is unavailable learn that it is back.
    onOpened: (connection) => onChanged(connection, key, "tools"),
    clock: () => performance.now(),
    onFailure: (error, retryInMs) =>
      log.warn(
        { ...of, ...foreignErrorFacts(error), ...detailOf(error, of.server, config), retryInMs },
        "could not use MCP server, will retry",
      ),
  });
}

/** What is logged of an error: its code, which unlike a message never quotes anything, and what to do about it. */
function detailOf(error: unknown, name: string, server: McpServerConfig): { code?: string; why: string } {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return { ...(typeof code === "string" && { code }), why: whyUnavailable(error, name, server) };
}

/** How to reach a server. Throws `ConfigError` for a variable that is not set. */
export function routeTo(
  name: string,
  server: McpServerConfig,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): RouteFor {
  const { command, url, timeoutMs, uid, gid } = server;
  const maxBytes = server.maxOutputBytes * wireFactor;
  const onFlood = (): void => log.warn({ server: name }, "MCP server says more than is read, and is slowed down");
  if (url === undefined) {
    const user = uid === undefined || gid === undefined ? undefined : { uid, gid };
    const program = { command: command ?? [], env: server.env, cwd: server.cwd, user };
    const onStandardError = (line: StandardErrorLine): void =>
      log.info({ server: name, ...line }, "MCP server on standard error");
    const limits = { maxBytes, json, onFlood, onStandardError };
    return () => ({ negotiates: "when refused", openChannel: () => openStdioChannel(program, limits) });
  }
  const headers = headersOf(name, server, env);
  const limits = { maxBytes, json, timeoutMs: timeoutMs + spareMs, onFlood };
  return (secrets) => ({
    negotiates: "first",
    async openChannel() {
      // Without its secrets the server would refuse every request.
      await secrets?.read();
      return openHttpChannel({ url, headers, secrets }, limits);
    },
  });
}

function headersOf(
  name: string,
  { headersEnv = {} }: McpServerConfig,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const headers = Object.entries(headersEnv).map(([header, variable]) => {
    const value = env[variable];
    if (value === undefined || value === "")
      throw new ConfigError(`mcp.servers.${name}.headersEnv.${header}: the variable ${variable} is not set.`);
    if (/^[\x20-\x7e]+$/.test(value)) return [header, value];
    throw new ConfigError(`mcp.servers.${name}.headersEnv.${header}: ${variable} holds what no header can.`);
  });
  return Object.fromEntries(headers) as Record<string, string>;
}

/** Logs which entries of a server's lists of resources and prompts are not used, when that changed. */
function reportLists(server: string, log: Log): (kind: ListKind, leftOut: readonly LeftOutEntry[]) => void {
  const reports = new Map<ListKind, (leftOut: readonly LeftOutEntry[]) => void>();
  return (kind, leftOut) => {
    const report =
      reports.get(kind) ??
      reportOnce<LeftOutEntry>((entries) =>
        log.warn(
          { server, list: kind, count: entries.length, leftOut: entries.slice(0, maxNamed) },
          "could not offer some entries of an MCP server's list, will leave them out",
        ),
      );
    reports.set(kind, report);
    report(leftOut);
  };
}

/** The result, or the reason of the signal when that comes first. Other callers of the same work are not affected. */
async function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let leave = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** Reports the unused entries of a list once, although connections of several owners may alternate with different lists. */
function reportOnce<Entry>(report: (leftOut: readonly Entry[]) => void): (leftOut: readonly Entry[]) => void {
  const reported = new Set<string>();
  return (leftOut) => {
    const text = JSON.stringify(leftOut);
    if (leftOut.length === 0 || reported.has(text)) return;
    if (reported.size === maxReported) reported.clear();
    reported.add(text);
    report(leftOut);
  };
}
