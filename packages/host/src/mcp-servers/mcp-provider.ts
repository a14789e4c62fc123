import type { ArgumentRule, DiscoveryContext, JsonObject } from "turnpike/contracts";
import { ToolError, type ToolHandler, type ToolProgress, type ToolProvider } from "turnpike/kernel";
import { checkArguments } from "./check-arguments.ts";
import type { ServerClients } from "./server-clients.ts";
import type { McpServerConfig } from "./mcp-config.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { isSameTool, readTool, type McpTool, type ToolReading } from "./mcp-tool.ts";
import { misnamedArgument, placesOfCall } from "./places.ts";
import { plainText } from "./plain-text.ts";
import { isLate, partsOf, toToolError, toUnavailable } from "./server-answer.ts";
import { listMs } from "./server-lists.ts";
import type { ToolPins } from "./tool-pins.ts";
import type { ToolDefinition } from "./pin-store.ts";
import type { ListTools } from "./tool-review.ts";

/** A listed tool, or a rule of the configuration, that is not used, and why. */
export interface LeftOut {
  tool: string;
  why: string;
}

/** The options of a provider. */
export interface McpProviderOptions {
  server: string;
  config: McpServerConfig;
  clients: ServerClients;
  isOfferedTo(context: DiscoveryContext): boolean;
  /** What decides which of the listed tools are offered and called. */
  pins: ToolPins;
  /** Called for each list that was read, with what is not used of it. */
  onList(leftOut: readonly LeftOut[]): void;
  /** Called for each call that the server did not answer in time. */
  onLate?(tool: string): void;
}

const maxProgressText = 4096;
/** A catalog holds 512 tools, and one server must not fill it. */
const maxTools = 128;
/** How many connections' lists are remembered. */
const maxLists = 256;

/** The tools of one MCP server, in a tool namespace of its own. */
export interface McpProvider extends ToolProvider {
  /**
   * Reads the tools that the server lists now, whether or not they are pinned, and pins none of them. Undefined when every
   * connection belongs to an owner.
   */
  listTools: ListTools;
  /** Compares the tools of a connection with the pins before a caller needs them. Without pins, nothing is read. */
  compare(connection: McpConnection, connectionKey: string): Promise<void>;
}

/** Makes the provider of one MCP server. */
export function createMcpProvider(options: McpProviderOptions): McpProvider {
  const namespace = `mcp.${options.server}`;
  const { shared } = options.clients;
  const rules = new Map(Object.entries(options.config.rules ?? {}));
  const compared = new WeakMap<readonly unknown[], { version: number; tools: Promise<ReadonlyMap<string, McpTool>> }>();
  /** The list that was last read from each connection, for the time in which the server is unavailable. */
  const lists = new Map<string, ReadonlyMap<string, McpTool>>();

  /**
   * The tools that the server has now, and that match their pins. They are compared once for each list that is read, and again
   * when pins changed. Rejects when the server does not answer, and when the pins cannot be read.
   */
  const toolsOf = async (connection: McpConnection, connectionKey: string): Promise<ReadonlyMap<string, McpTool>> => {
    const entries = await connection.list();
    const { version } = options.pins;
    const known = compared.get(entries);
    if (known?.version === version) return known.tools;
    const list = readList(options, entries);
    lists.delete(connectionKey);
    lists.set(connectionKey, list);
    for (const oldest of lists.keys()) if (lists.size > maxLists) lists.delete(oldest);
    const tools = options.pins.usable({ server: options.server, connection: connectionKey }, list);
    compared.set(entries, { version, tools });
    tools.catch(() => compared.delete(entries));
    return tools;
  };

  /**
   * The tools of an unavailable server: those that its connection had last, as far as they are pinned. If it had none yet, all
   * pinned tools; but with connections of owners none, because some of them may be another owner's.
   */
  const toolsWhileAway = async (context: DiscoveryContext): Promise<ReadonlyMap<string, McpTool>> => {
    const pinned = await options.pins.pinned(options.server);
    const last = lists.get(options.clients.keyOf(context));
    const known = last ?? (shared ? readPinned(options, pinned.values()) : new Map<string, McpTool>());
    return new Map([...known].filter(([name, { hash }]) => pinned.get(name)?.hash === hash));
  };

  /** Waits for the connection and reads its tools. Waits once more when the connection turns out to be lost. */
  const toolsOnce = async (
    context: DiscoveryContext,
    { signal, endsAt }: { signal: AbortSignal; endsAt: number },
  ): Promise<{ connection: McpConnection; tools: ReadonlyMap<string, McpTool> }> => {
    const key = options.clients.keyOf(context);
    const connect = (): Promise<McpConnection> =>
      options.clients.connected(context, { signal, timeoutMs: timeLeft(endsAt) });
    const first = await connect();
    try {
      return { connection: first, tools: await toolsOf(first, key) };
    } catch (error) {
      if (options.clients.isConnected(context)) throw error;
      const connection = await connect();
      return { connection, tools: await toolsOf(connection, key) };
    }
  };

  const handlerFor = (tool: McpTool): ToolHandler => {
    const { descriptor, listed } = tool;
    const { action, resource } = descriptor.requiredCapability;
    const rule = rules.get(listed.name);
    const placesOf = placesOfCall(rule);
    const check = (args: JsonObject): void => checkArguments(descriptor.inputSchema, args);
    return {
      descriptor,
      parse(args) {
        if (rule === undefined) check(args);
        return args;
      },
      // The rule checks the arguments first, then the schema.
      requirement(_context, args) {
        const places = placesOf(args);
        if (rule !== undefined) check(args);
        return places.map((place) => ({ action, resource: { ...resource, path: [listed.name, ...place] } }));
      },
      async invoke(context, { id: callId, tool: name, arguments: args }, signal, reportProgress) {
        const { timeoutMs, maxOutputBytes } = options.config;
        const endsAt = performance.now() + timeoutMs;
        const { connection, tools } = await toolsOnce(context, { signal, endsAt }).catch(toUnavailable);
        const now = tools.get(listed.name);
        if (now === undefined || !isSameTool(now, tool)) {
          throw new ToolError("tool_unavailable", "The MCP server does not have this tool as it was listed.");
        }
        signal.throwIfAborted();
        const onProgress = reportProgress && ((progress: ToolProgress) => reportProgress(plainProgress(progress)));
        const answer = await connection
          .call(now.listed, args, { signal, timeoutMs: timeLeft(endsAt), onProgress })
          .catch((error: unknown) => {
            // The SDK reports a caller who leaves as a timeout too.
            signal.throwIfAborted();
            if (isLate(error)) options.onLate?.(listed.name);
            return toToolError(error);
          });
        const parts = partsOf(answer, descriptor.outputSchema !== undefined, maxOutputBytes);
        return { status: "succeeded", callId, tool: name, completedAt: new Date().toISOString(), ...parts };
      },
    };
  };

  /** A list has the same handlers for as long as it is the newest, so that what is known of them is worked out once. */
  const handlers = new WeakMap<ReadonlyMap<string, McpTool>, readonly ToolHandler[]>();
  const handlersFor = (tools: ReadonlyMap<string, McpTool>): readonly ToolHandler[] => {
    const made = handlers.get(tools) ?? [...tools.values()].map(handlerFor);
    handlers.set(tools, made);
    return made;
  };

  return {
    id: namespace,
    namespaces: [namespace],
    timeoutMs: options.config.startTimeoutMs + listMs,
    async tools(context) {
      if (!options.isOfferedTo(context)) return [];
      const connecting = options.clients.connection(context);
      connecting.catch(() => {});
      const away = options.clients.isConnected(context) ? undefined : await toolsWhileAway(context);
      if (away !== undefined && away.size > 0) return handlersFor(away);
      try {
        return handlersFor(await toolsOf(await connecting, options.clients.keyOf(context)));
      } catch (error) {
        // The connection may have been lost just now.
        const last = await toolsWhileAway(context);
        if (last.size === 0) throw error;
        return handlersFor(last);
      }
    },
    async compare(connection, connectionKey) {
      if ((await options.pins.pinned(options.server)).size > 0) await toolsOf(connection, connectionKey);
    },
    listTools: shared && (async () => readList(options, await (await shared()).list())),
  };
}

/** The tools of a list that can be used, by name. */
export function readList(
  { server, config, onList }: Pick<McpProviderOptions, "server" | "config" | "onList">,
  entries: readonly unknown[],
): Map<string, McpTool> {
  const tools = new Map<string, McpTool>();
  const leftOut: LeftOut[] = [];
  const rules = new Map(Object.entries(config.rules ?? {}));
  for (const entry of entries) {
    const reading = withRule(readTool(server, entry), rules);
    if (!reading.ok) leftOut.push({ tool: reading.name, why: reading.why });
    else if (tools.has(reading.tool.listed.name)) {
      leftOut.push({ tool: reading.tool.listed.name, why: "its name is listed twice" });
    } else if (tools.size === maxTools) {
      leftOut.push({ tool: reading.tool.listed.name, why: `a server has at most ${maxTools} tools here` });
    } else tools.set(reading.tool.listed.name, reading.tool);
  }
  for (const tool of rules.keys()) {
    if (!tools.has(tool) && !leftOut.some((one) => one.tool === tool))
      leftOut.push({ tool, why: "it has a rule, and the server has no such tool" });
  }
  onList(leftOut);
  return tools;
}

/** The tools that are pinned, as the server would list them. */
function readPinned(
  options: Pick<McpProviderOptions, "server" | "config">,
  pinned: Iterable<ToolDefinition>,
): ReadonlyMap<string, McpTool> {
  const entries = [...pinned].map(({ definition }) => JSON.parse(definition) as unknown);
  return readList({ ...options, onList() {} }, entries);
}

/** The time that is left until an instant. A request gets a minimum in any case. */
function timeLeft(endsAt: number): number {
  return Math.max(1, Math.ceil(endsAt - performance.now()));
}

/** Refuses a tool whose rule names an argument that it does not have, because the rule would bind too little. */
function withRule(reading: ToolReading, rules: ReadonlyMap<string, ArgumentRule>): ToolReading {
  if (!reading.ok) return reading;
  const { listed, descriptor } = reading.tool;
  const misnamed = misnamedArgument(rules.get(listed.name), descriptor.inputSchema);
  if (misnamed === undefined) return reading;
  return {
    ok: false,
    name: listed.name,
    why: `its rule names the optional argument ${misnamed}, which it does not have`,
  };
}

function plainProgress({ message, ...progress }: ToolProgress): ToolProgress {
  return message === undefined ? progress : { ...progress, message: plainText(message, maxProgressText) };
}
