import type { DiscoveryContext } from "turnpike/contracts";
import type { McpConnection } from "./mcp-connection.ts";
import type { ReconnectingClient, Wait } from "./reconnecting-client.ts";

/** The connections to one server: one for everybody, or one for each owner whose credentials it takes. */
export interface ServerClients {
  /** The connection over which a context lists and calls. Rejects when there is none right now. */
  connection(context: DiscoveryContext): Promise<McpConnection>;
  /** The same connection, which is waited for while it is being opened or replaced. */
  connected(context: DiscoveryContext, wait: Wait): Promise<McpConnection>;
  /** Whether there is one now. */
  isConnected(context: DiscoveryContext): boolean;
  /** Which of the connections that is: the same text means the same one. */
  keyOf(context: DiscoveryContext): string;
  /** The connection for everybody; undefined when there is none such. */
  shared: (() => Promise<McpConnection>) | undefined;
  /** Connects before anybody needs it, where one connection is for everybody. */
  start(): void;
  close(): Promise<void>;
}

/** One connection for everybody. */
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

/** How connections are kept apart, and how many there are. */
export interface OwnerClientsOptions {
  keyOf(context: DiscoveryContext): string;
  open(context: DiscoveryContext): ReconnectingClient<McpConnection>;
  /** More than this many are never kept: the one that was used the longest ago is given up. */
  maxClients?: number;
  /** One that nobody has used for this long is given up. */
  idleMs?: number;
}

/** A connection for each key, made when it is first used. One that is given up still finishes its calls. */
export function ownerClients({ keyOf, open, maxClients = 256, idleMs = 300_000 }: OwnerClientsOptions): ServerClients {
  // The one that was used last stands last.
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
    // Nobody knows the owners before they come.
    start() {},
    async close() {
      isClosed = true;
      for (const key of clients.keys()) giveUp(key);
      await Promise.all([...ending].map((client) => client.close()));
    },
  };
}
