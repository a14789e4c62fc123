import type { Log } from "../observe/index.ts";
import type { McpTool } from "./mcp-tool.ts";
import type { PinStore, ToolDefinition } from "./pin-store.ts";

/** One of a server's lists: the server, and the connection that it was read from, because owners may have their own. */
interface ListOrigin {
  server: string;
  connection: string;
}

/** What is remembered of a list for the operator: every name, and the tools that are not offered. */
export interface SeenList {
  at: string;
  names: ReadonlySet<string>;
  withdrawn: readonly McpTool[];
}

/** Compares what servers list with what is pinned. */
export interface ToolPins {
  /** Another number after each change that was made through this host. What was compared before it may be out of date. */
  readonly version: number;
  /**
   * Those tools of a list that are as they were pinned. The first list of a server is pinned as it is. Rejects when the pins
   * cannot be read, or the first ones not be kept: then no tool may be used.
   */
  usable(origin: ListOrigin, tools: ReadonlyMap<string, McpTool>): Promise<ReadonlyMap<string, McpTool>>;
  /** What is pinned of a server, of which nobody knows whether the server still has it. Rejects when that cannot be read. */
  pinned(server: string): Promise<ReadonlyMap<string, ToolDefinition>>;
  /** The lists of a server that were compared last, one for each connection. */
  seen(server: string): readonly SeenList[];
  /** Pins tools that somebody accepted. */
  accept(server: string, tools: readonly McpTool[], by: string): Promise<void>;
}

/** What the comparison uses. */
export interface ToolPinsOptions {
  store: PinStore;
  log: Log;
  /** Pins the first list of a server, and records it for the operator. Changes nothing if another host was first. */
  pinFirst(server: string, tools: readonly ToolDefinition[]): Promise<unknown>;
}

const withdrawn = "tools of an MCP server withdrawn until somebody accepts them: turnpike mcp review";
/** How many tools are named in one line of the log. */
const maxNamed = 20;
/** How many lists of one server, and how many reports, are remembered. */
const [maxLists, maxReports] = [256, 4096];

/** Makes the comparison with the pins of a store. */
export function createToolPins({ store, log, pinFirst }: ToolPinsOptions): ToolPins {
  const lists = new Map<string, Map<string, SeenList>>();
  const reported = new Set<string>();
  let version = 0;

  const remember = ({ server, connection }: ListOrigin, list: SeenList): void => {
    const ofServer = lists.get(server) ?? new Map<string, SeenList>();
    lists.set(server, ofServer);
    // The newest is the last, so that the oldest is forgotten first.
    ofServer.delete(connection);
    ofServer.set(connection, list);
    if (ofServer.size > maxLists) ofServer.delete(ofServer.keys().next().value ?? "");
  };
  /** Each definition is reported once, however many connections it is seen on. */
  const report = (server: string, tools: readonly McpTool[], pins: ReadonlyMap<string, string>): void => {
    const unknown = tools.filter(({ listed, hash }) => !reported.has(`${server} ${listed.name} ${hash}`));
    if (unknown.length === 0) return;
    if (reported.size > maxReports) reported.clear();
    for (const { listed, hash } of unknown) reported.add(`${server} ${listed.name} ${hash}`);
    const named = unknown.slice(0, maxNamed).map(({ listed }) => ({
      tool: listed.name,
      why: pins.has(listed.name) ? "it is not what was accepted" : "it is new",
    }));
    log.warn({ server, count: unknown.length, withdrawn: named }, withdrawn);
  };
  return {
    get version() {
      return version;
    },
    async usable(origin, tools) {
      const { server } = origin;
      let pins = await store.hashes(server);
      if (pins.size === 0 && tools.size > 0) {
        await pinFirst(server, [...tools.values()].map(definitionOf));
        // Another host may have been the first, with another list.
        pins = await store.hashes(server);
      }
      const isPinned = ({ listed, hash }: McpTool): boolean => pins.get(listed.name) === hash;
      const all = [...tools.values()];
      const others = all.filter((tool) => !isPinned(tool));
      remember(origin, { at: new Date().toISOString(), names: new Set(tools.keys()), withdrawn: others });
      report(server, others, pins);
      return new Map(all.filter(isPinned).map((tool) => [tool.listed.name, tool]));
    },
    async pinned(server) {
      return new Map(
        (await store.list(server)).map(({ tool, hash, definition }) => [tool, { tool, hash, definition }]),
      );
    },
    seen: (server) => [...(lists.get(server)?.values() ?? [])],
    async accept(server, tools, by) {
      try {
        await store.pin(server, tools.map(definitionOf), by);
      } finally {
        version += 1;
        reported.clear();
      }
    },
  };
}

function definitionOf({ listed, hash, definition }: McpTool): ToolDefinition {
  return { tool: listed.name, hash, definition };
}
