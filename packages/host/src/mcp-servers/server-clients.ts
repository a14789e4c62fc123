import type { DiscoveryContext } from "turnpike/contracts";
import type { McpConnection } from "./mcp-connection.ts";
import type { ReconnectingClient, Wait } from "./reconnecting-client.ts";

/** The connections to one server: one for all callers, or one for each owner with credentials of their own. */
export interface ServerClients {
  /** The connection over which a context lists and calls. Rejects when there is none right now. */
  connection(context: DiscoveryContext): Promise<McpConnection>;
  /** Waits for the same connection while it is being opened or replaced. */
  connected(context: DiscoveryContext, wait: Wait): Promise<McpConnection>;
  /** Whether there is one now. */
  isConnected(context: DiscoveryContext): boolean;
  /** Identifies the connection of a context. */
  keyOf(context: DiscoveryContext): string;
  /** The connection for all callers; undefined when each owner has their own. */
  shared: (() => Promise<McpConnection>) | undefined;
  /** Opens the connection for all callers before one of them needs it. */
  start(): void;
  close(): Promise<void>;
}

/** One connection for all callers. */
export function sharedClient(client: ReconnectingClient<McpConnection>): ServerClients {
  const shared = (): Promise<McpConnection> => client.connection();
  return {
    connection: shared,
    connected: (_context, wait) => client.connected(wait),
    isConnected: () => client.isConnected,
    keyOf: () => "",
    shared,
    start: () => client.stayConnected(),
    close: () => client.close(),
  };
}

/** How connections are told apart, and how many there are. */
export interface OwnerClientsOptions {
  keyOf(context: DiscoveryContext): string;
  open(context: DiscoveryContext): ReconnectingClient<McpConnection>;
  /** The largest number of open connections. Beyond it, the least recently used one is closed. */
  maxClients?: number;
  /** A connection that was not used for this long is closed. */
  idleMs?: number;
}

/** A connection for each key, opened when it is first used. A connection finishes its calls before it is closed. */
export function ownerClients({ keyOf, open, maxClients = 256, idleMs = 300_000 }: OwnerClientsOptions): ServerClients {
  // Ordered by use: the most recently used one is last.
  const clients = new Map<string, { client: ReconnectingClient<McpConnection>; timer?: NodeJS.Timeout }>();
  const ending = new Set<ReconnectingClient<McpConnection>>();
  let isClosed = false;

  const giveUp = (key: string): void => {
    const entry = clients.get(key);
    if (entry === undefined) return;
    clients.delete(key);
    clearTimeout(entry.timer);
    ending.add(entry.client);
    void entry.client.retire().then(() => ending.delete(entry.client));
  };
  const clientOf = (context: DiscoveryContext): ReconnectingClient<McpConnection> => {
    if (isClosed) throw new Error("The host is closing.");
    const key = keyOf(context);
    const entry = clients.get(key) ?? { client: open(context) };
    clients.delete(key);
    clients.set(key, entry);
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => giveUp(key), idleMs).unref();
    if (clients.size > maxClients) giveUp(clients.keys().next().value ?? "");
    return entry.client;
  };
  return {
    keyOf,
    shared: undefined,
    connection: async (context) => clientOf(context).connection(),
    connected: async (context, wait) => clientOf(context).connected(wait),
    isConnected: (context) => clients.get(keyOf(context))?.client.isConnected === true,
    // Owners are not known before their first call.
    start() {},
    async close() {
      isClosed = true;
      for (const key of clients.keys()) giveUp(key);
      await Promise.all([...ending].map((client) => client.close()));
    },
  };
}
