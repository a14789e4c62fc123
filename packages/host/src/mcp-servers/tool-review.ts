import type { McpTool } from "./mcp-tool.ts";
import type { Pin, PinStore, ToolDefinition } from "./pin-store.ts";
import type { SeenList, ToolPins } from "./tool-pins.ts";

/** A tool as the server has it now, beside what was accepted. */
export interface ReviewedTool {
  tool: string;
  /** Offered as it was accepted; withdrawn because it changed, or because it is new; or missing from the server's list. */
  state: "pinned" | "changed" | "new" | "gone";
  /** What was accepted. */
  pin?: Pin;
  /** What the server lists now, when it differs. */
  now?: ToolDefinition;
}

/** A server with its tools, as the operator sees it. */
export interface ServerReview {
  server: string;
  /** Whether the server answers now, or connections of owners have listed its tools. */
  isAvailable: boolean;
  /** When its list was read; undefined when this host has never read it. */
  seenAt?: string;
  tools: readonly ReviewedTool[];
}

/** Reviewing the tools of MCP servers, for operators. */
export interface McpReviews {
  /** Reads all servers, and pins nothing. */
  list(): Promise<ServerReview[]>;
  /** One server; undefined when there is none of this name. */
  find(server: string): Promise<ServerReview | undefined>;
  /**
   * Accepts tools with exactly these hashes. Returns false, and changes nothing, when one of them is not what the server has
   * now, or has been accepted already.
   */
  accept(server: string, wanted: readonly { tool: string; hash: string }[], by: string): Promise<boolean>;
}

/** Reads the tools of a server; undefined when that requires the credentials of an owner. */
export type ListTools = (() => Promise<ReadonlyMap<string, McpTool>>) | undefined;

/** A server that takes longer than this counts as one that does not answer. */
const listMs = 5000;

/** Makes the reviews of these servers. */
export function createReviews(servers: ReadonlyMap<string, ListTools>, store: PinStore, pins: ToolPins): McpReviews {
  /** The lists of the server now, as far as they can be read. */
  const listsOf = async (server: string): Promise<{ isAvailable: boolean; lists: readonly SeenList[] }> => {
    const listTools = servers.get(server);
    const before = pins.seen(server);
    if (listTools === undefined) return { isAvailable: before.length > 0, lists: before };
    const tools = await within(listMs, listTools());
    if (tools === undefined) return { isAvailable: false, lists: before };
    const list = { at: new Date().toISOString(), names: new Set(tools.keys()), withdrawn: [...tools.values()] };
    return { isAvailable: true, lists: [list] };
  };
  const read = async (server: string): Promise<{ review: ServerReview; lists: readonly SeenList[] }> => {
    const { isAvailable, lists } = await listsOf(server);
    const seenAt = lists
      .map(({ at }) => at)
      .toSorted()
      .at(-1);
    const tools = compare(await store.list(server), lists);
    return { review: { server, isAvailable, ...(seenAt !== undefined && { seenAt }), tools }, lists };
  };
  return {
    list: async () => (await Promise.all([...servers.keys()].map(read))).map(({ review }) => review),
    find: async (server) => (servers.has(server) ? (await read(server)).review : undefined),
    async accept(server, wanted, by) {
      const { review, lists } = await read(server);
      const open = new Set(review.tools.flatMap(({ tool, now }) => (now === undefined ? [] : `${tool} ${now.hash}`)));
      const chosen = wanted.flatMap(({ tool, hash }) => {
        const found = lists
          .flatMap(({ withdrawn }) => withdrawn)
          .find(({ listed, hash: current }) => listed.name === tool && current === hash);
        return found === undefined || !open.has(`${tool} ${hash}`) ? [] : [found];
      });
      if (chosen.length < wanted.length || new Set(chosen.map(({ listed }) => listed.name)).size < chosen.length)
        return false;
      await pins.accept(server, chosen, by);
      return true;
    },
  };
}

/** Every pinned tool, and every definition that is not pinned, by name. */
function compare(pinned: readonly Pin[], lists: readonly SeenList[]): ReviewedTool[] {
  const pins = new Map(pinned.map((pin) => [pin.tool, pin]));
  const others = new Map<string, ReviewedTool>();
  for (const { listed, hash, definition } of lists.flatMap(({ withdrawn }) => withdrawn)) {
    const pin = pins.get(listed.name);
    if (pin?.hash === hash) continue;
    const now = { tool: listed.name, hash, definition };
    others.set(`${listed.name} ${hash}`, {
      tool: listed.name,
      now,
      ...(pin === undefined ? { state: "new" } : { state: "changed", pin }),
    });
  }
  const open = new Set([...others.values()].map(({ tool }) => tool));
  const isGone = ({ tool }: Pin): boolean => lists.length > 0 && lists.every(({ names }) => !names.has(tool));
  const rest = pinned
    .filter(({ tool }) => !open.has(tool))
    .map((pin): ReviewedTool => ({ tool: pin.tool, state: isGone(pin) ? "gone" : "pinned", pin }));
  return [...others.values(), ...rest].toSorted((one, other) => (one.tool < other.tool ? -1 : 1));
}

/** What a promise resolves with; undefined when it rejects or takes too long. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms)));
  const result = await Promise.race([promise.catch(() => undefined), late]);
  clearTimeout(timer);
  return result;
}
