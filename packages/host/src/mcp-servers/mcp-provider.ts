import type { DiscoveryContext, JsonObject } from "turnpike/contracts";
import { ToolError, type ToolHandler, type ToolProgress, type ToolProvider } from "turnpike/kernel";
import { misnamedArgument, placesBy, type Rule } from "./argument-rules.ts";
import { checkArguments } from "./check-arguments.ts";
import type { ServerClients } from "./server-clients.ts";
import type { McpServerConfig } from "./mcp-config.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { isSameTool, readTool, type McpTool, type ToolReading } from "./mcp-tool.ts";
import { plainText } from "./plain-text.ts";
import { isLate, partsOf, toToolError, toUnavailable } from "./server-answer.ts";
import type { ToolPins } from "./tool-pins.ts";
import type { Look } from "./tool-review.ts";

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
/** A catalog holds 512 tools, so one server may not fill it. */
const maxTools = 128;

/** The tools of one MCP server, in a tool namespace of its own. */
export interface McpProvider extends ToolProvider {
  /**
   * The tools that the server lists now, whether or not they are pinned. They are not pinned by this. Undefined when every
   * connection is an owner's.
   */
  look: Look;
}

/** Makes the provider of one MCP server. */
export function createMcpProvider(options: McpProviderOptions): McpProvider {
  const namespace = `mcp.${options.server}`;
  const { shared } = options.clients;
  const rules = new Map(Object.entries(options.config.rules ?? {}));
  const compared = new WeakMap<readonly unknown[], { version: number; tools: Promise<ReadonlyMap<string, McpTool>> }>();

  /**
   * The tools that the server has now, and that are as they were pinned. They are compared once for each list that is read, and
   * again when pins changed. Rejects when the server does not answer, and when the pins cannot be read.
   */
  const toolsOf = async (
    connection: McpConnection,
    context: DiscoveryContext,
  ): Promise<ReadonlyMap<string, McpTool>> => {
    const entries = await connection.list();
    const { version } = options.pins;
    const known = compared.get(entries);
    if (known?.version === version) return known.tools;
    const origin = { server: options.server, connection: options.clients.keyOf(context) };
    const tools = options.pins.usable(origin, readList(options, entries));
    compared.set(entries, { version, tools });
    tools.catch(() => compared.delete(entries));
    return tools;
  };

  const handlerFor = (tool: McpTool): ToolHandler => {
    const { descriptor, listed } = tool;
    const { action, resource } = descriptor.requiredCapability;
    const rule = rules.get(listed.name);
    const placesOf = placesBy(rule);
    const check = (args: JsonObject): void => checkArguments(descriptor.inputSchema, args);
    return {
      descriptor,
      parse(args) {
        if (rule === undefined) check(args);
        return args;
      },
      // Arguments that a rule decides by are denied when they do not fit, by the rule first and then by the schema.
      requirement(_context, args) {
        const places = placesOf(args);
        if (rule !== undefined) check(args);
        return places.map((place) => ({ action, resource: { ...resource, path: [listed.name, ...place] } }));
      },
      async invoke(context, { id: callId, tool: name, arguments: args }, signal, reportProgress) {
        const connection = await options.clients.connection(context).catch(toUnavailable);
        const now = (await toolsOf(connection, context).catch(toUnavailable)).get(listed.name);
        if (now === undefined || !isSameTool(now, tool)) {
          throw new ToolError("tool_unavailable", "The MCP server does not have this tool as it was listed.");
        }
        signal.throwIfAborted();
        const { timeoutMs, maxOutputBytes } = options.config;
        const onProgress = reportProgress && ((progress: ToolProgress) => reportProgress(plainProgress(progress)));
        const answer = await connection
          .call(listed, args, { signal, timeoutMs, onProgress })
          .catch((error: unknown) => {
            // To the SDK a caller who leaves is out of time as well.
            signal.throwIfAborted();
            if (isLate(error)) options.onLate?.(listed.name);
            return toToolError(error);
          });
        const parts = partsOf(answer, descriptor.outputSchema !== undefined, maxOutputBytes);
        return { status: "succeeded", callId, tool: name, completedAt: new Date().toISOString(), ...parts };
      },
    };
  };

  return {
    id: namespace,
    namespaces: [namespace],
    async tools(context) {
      if (!options.isOfferedTo(context)) return [];
      const tools = await toolsOf(await options.clients.connection(context), context);
      return [...tools.values()].map(handlerFor);
    },
    look: shared && (async () => readList(options, await (await shared()).list())),
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
      leftOut.push({ tool: reading.tool.listed.name, why: "its name stands twice" });
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

/** A tool is not offered when its rule would bind less than it says. */
function withRule(reading: ToolReading, rules: ReadonlyMap<string, Rule>): ToolReading {
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
