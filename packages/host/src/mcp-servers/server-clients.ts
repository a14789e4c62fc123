import type { DiscoveryContext } from "turnpike/contracts";
import type { McpConnection } from "./mcp-connection.ts";
import type { ReconnectingClient } from "./reconnecting-client.ts";

/** The connections to one server: one for everybody, or one for each owner whose credentials it takes. */
export interface ServerClients {
  /** The connection over which a context lists and calls. Rejects when there is none right now. */
  connection(context: DiscoveryContext): Promise<McpConnection>;
  /** Which of the connections that is: the same text means the same one. */
  keyOf(context: DiscoveryContext): string;
  /** The connection for everybody; undefined when there is none such. */
  shared: (() => Promise<McpConnection>) | undefined;
  close(): Promise<void>;
}

/** One connection for everybody. */
export function sharedClient(client: ReconnectingClient<McpConnection>): ServerClients {
  const shared = (): Promise<McpConnection> => client.connection();
  return { connection: shared, keyOf: () => "", shared, close: () => client.close() };
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
  return {
    keyOf,
    shared: undefined,
    connection(context) {
      if (isClosed) return Promise.reject(new Error("The host is closing."));
      const key = keyOf(context);
      const entry = clients.get(key) ?? { client: open(context) };
      clients.delete(key);
      clients.set(key, entry);
      clearTimeout(entry.timer);
      entry.timer = setTimeout(() => giveUp(key), idleMs).unref();
      if (clients.size > maxClients) giveUp(clients.keys().next().value ?? "");
      return entry.client.connection();
    },
    async close() {
      isClosed = true;
      for (const key of clients.keys()) giveUp(key);
      await Promise.all([...ending].map((client) => client.close()));
    },
  };
}
