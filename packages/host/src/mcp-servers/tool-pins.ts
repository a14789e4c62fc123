import { programName } from "../shared/index.ts";
import type { Log } from "../telemetry/index.ts";
import { createMarkLimit } from "./mark-limit.ts";
import type { McpTool } from "./mcp-tool.ts";
import type { ListedHash, PinStore, ToolDefinition } from "./pin-store.ts";

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
   * The tools of a list that match their pins. The first list of a server is pinned as it is. Pinned tools that changed are marked
   * as withdrawn until they are accepted or change back. Rejects when the pins cannot be read, or when first pins or marks
   * cannot be stored: then no tool may be used.
   */
  usable(origin: ListOrigin, tools: ReadonlyMap<string, McpTool>): Promise<ReadonlyMap<string, McpTool>>;
  /** The pinned tools of a server, whether or not the server still has them. Rejects when they cannot be read. */
  pinned(server: string): Promise<ReadonlyMap<string, ToolDefinition>>;
  /** The lists of a server that were compared last, one for each connection. */
  seen(server: string): readonly SeenList[];
  /** Pins tools that an operator accepted. */
  accept(server: string, tools: readonly McpTool[], by: string): Promise<void>;
}

/** What the comparison uses. */
export interface ToolPinsOptions {
  store: PinStore;
  log: Log;
  /** Pins the first list of a server, and records it for the operator. Changes nothing if another host was first. */
  pinFirst(server: string, tools: readonly ToolDefinition[]): Promise<unknown>;
  /** Marks pinned tools as withdrawn, and records that for the operator, unless another host did. */
  withdraw(server: string, tools: readonly ListedHash[]): Promise<unknown>;
  /** A monotonic clock in milliseconds. */
  clock?(): number;
}

const withdrawn = (): string =>
  `tools of an MCP server withdrawn until an operator accepts them: ${programName()} mcp review`;
/** How many tools are named in one line of the log. */
const maxNamed = 20;
/** How many lists of one server, and how many reports, are remembered. */
const [maxLists, maxReports] = [256, 4096];

/** Makes the comparison with the pins of a store. */
export function createToolPins({ store, log, pinFirst, withdraw, clock }: ToolPinsOptions): ToolPins {
  const lists = new Map<string, Map<string, SeenList>>();
  /** The marks of each server that this host may end: those for lists that it has seen, and those from before its start. */
  const ownMarks = new Map<string, Set<string>>();
  const limit = createMarkLimit(clock);
  const reported = new Set<string>();
  let version = 0;

  const remember = ({ server, connection }: ListOrigin, list: SeenList): void => {
    const ofServer = lists.get(server) ?? new Map<string, SeenList>();
    lists.set(server, ofServer);
    // The newest is last, so that the oldest is removed first.
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
    log.warn({ server, count: unknown.length, withdrawn: named }, withdrawn());
  };
  /**
   * Marks tools that changed, and ends the marks of those that changed back on every connection of this host. Only the host that
   * sees a definition ends its mark. INVARIANT: a server that changes all the time does not fill the audit log: a tool without a
   * mark gets one at once, but marks are ended and replaced only as often as the limit allows.
   */
  const mark = async (server: string, pins: ReadonlyMap<string, string>): Promise<void> => {
    const changed = new Map<string, string[]>();
    for (const { listed, hash } of [...(lists.get(server)?.values() ?? [])].flatMap((list) => list.withdrawn)) {
      const pinned = pins.get(listed.name);
      if (pinned !== undefined && pinned !== hash)
        changed.set(listed.name, [...(changed.get(listed.name) ?? []), hash]);
    }
    const marked = await store.listWithdrawn([server]);
    const known = ownMarks.get(server);
    const own = marked.filter((one) => known?.has(keyOf(one)) ?? true);
    const over = limit.hasRoom(server)
      ? own.filter(({ tool, hash }) => changed.get(tool)?.includes(hash) !== true)
      : [];
    const staying = new Set(marked.filter((one) => !over.includes(one)).map(({ tool }) => tool));
    // Owners may see different definitions of a tool. One of them is enough for a mark, and the newest is last.
    const unmarked = [...changed].filter(([tool]) => !staying.has(tool));
    const newest = unmarked.map(([tool, hashes]) => ({ tool, hash: hashes.at(-1) ?? "" }));
    const shown = [...changed].flatMap(([tool, hashes]) => hashes.map((hash) => keyOf({ tool, hash })));
    ownMarks.set(server, new Set([...own.map(keyOf), ...shown]));
    if (newest.length > 0) {
      limit.count(server);
      await withdraw(server, newest);
    }
    const back = over.filter(({ tool }) => !changed.has(tool));
    if (back.length === 0) return;
    limit.count(server);
    await store.restore(server, back);
    for (const one of back) ownMarks.get(server)?.delete(keyOf(one));
    log.info(
      { server, tools: back.map(({ tool }) => tool) },
      "tools of an MCP server no longer differ from what was accepted",
    );
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
      await mark(server, pins);
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

function keyOf({ tool, hash }: ListedHash): string {
  return `${hash} ${tool}`;
}
