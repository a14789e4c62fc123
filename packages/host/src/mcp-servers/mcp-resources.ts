import { ResourceNotFoundError } from "@modelcontextprotocol/client";
import { describeIssues, type DiscoveryContext, type ResourceOperation, type ResourceResult } from "turnpike/contracts";
import { ToolError, type ResourceProvider } from "turnpike/kernel";
import { z } from "zod";
import type { McpServerConfig } from "./mcp-config.ts";
import type { McpConnection, RequestLimits } from "./mcp-connection.ts";
import { plainText } from "./plain-text.ts";
import {
  readPrompts,
  readResources,
  readResourceTemplates,
  type LeftOutEntry,
  type OfferReading,
} from "./read-offer.ts";
import { plainAnswer, toToolError } from "./server-answer.ts";
import type { ServerClients } from "./server-clients.ts";
import type { ListKind } from "./server-lists.ts";
import { fromOfferSegment, type ServerOffer } from "./server-offer.ts";
import { matchesTemplate } from "./uri-template.ts";

/** The options of a server's resources and prompts. */
export interface McpResourcesOptions {
  server: string;
  config: McpServerConfig;
  clients: ServerClients;
  isOfferedTo(context: DiscoveryContext): boolean;
  /** Called for each list that was read, with what is not used of it. */
  onList(kind: ListKind, leftOut: readonly LeftOutEntry[]): void;
}

/** What a server has besides its tools: a provider that reads and uses it, and the lists. */
export interface McpResources {
  provider: ResourceProvider;
  /** What this context is offered; undefined when the server is not for it. Rejects when the server does not answer. */
  offer(context: DiscoveryContext): Promise<ServerOffer | undefined>;
}

const PromptInputSchema = z
  .strictObject({ arguments: z.record(z.string(), z.string()).default({}) })
  .default({ arguments: {} });
const maxErrorText = 4096;

/** The resources and prompts of one MCP server, in a resource namespace of its own. */
export function createMcpResources(options: McpResourcesOptions): McpResources {
  const { server, config, clients, onList } = options;
  const namespace = `mcp.${server}`;
  const readings = new WeakMap<readonly unknown[], OfferReading<unknown>>();

  const read = async <Entry>(
    connection: McpConnection,
    kind: ListKind,
    reader: (listed: readonly unknown[]) => OfferReading<Entry>,
  ): Promise<ReadonlyMap<string, Entry>> => {
    const listed = await connection.list(kind);
    const known = readings.get(listed) as OfferReading<Entry> | undefined;
    if (known !== undefined) return known.entries;
    const reading = reader(listed);
    readings.set(listed, reading);
    onList(kind, reading.leftOut);
    return reading.entries;
  };
  const resourcesOf = (connection: McpConnection) => read(connection, "resources", readResources);
  const templatesOf = (connection: McpConnection) => read(connection, "resourceTemplates", readResourceTemplates);
  const promptsOf = (connection: McpConnection) => read(connection, "prompts", readPrompts);

  const isThereFor = (context: DiscoveryContext): boolean =>
    context.enabledToolNamespaces.includes(namespace) && options.isOfferedTo(context);

  /** INVARIANT: the server is asked only for a URI that it listed itself, or that matches one of its templates. */
  const readResource = async (connection: McpConnection, uri: string, limits: RequestLimits): Promise<unknown> => {
    const isListed = (await resourcesOf(connection)).has(uri);
    if (!isListed && ![...(await templatesOf(connection)).keys()].some((template) => matchesTemplate(template, uri))) {
      throw notFound();
    }
    limits.signal.throwIfAborted();
    const { contents } = await connection.readResource(uri, limits).catch(toServerError);
    return { contents };
  };
  const usePrompt = async (
    connection: McpConnection,
    name: string,
    input: unknown,
    limits: RequestLimits,
  ): Promise<unknown> => {
    const taken = PromptInputSchema.safeParse(input);
    if (!taken.success) throw new ToolError("invalid_request", describeIssues(taken.error.issues));
    if (!(await promptsOf(connection)).has(name)) throw notFound();
    limits.signal.throwIfAborted();
    const answer = await connection.usePrompt(name, taken.data.arguments, limits).catch(toServerError);
    const { description, messages } = answer;
    return { ...(description !== undefined && { description }), messages };
  };

  const answer = async (
    { action, resource, input, context }: ResourceOperation,
    limits: RequestLimits,
  ): Promise<unknown> => {
    const [kind, segment = "", ...rest] = resource.path;
    const name = rest.length === 0 ? fromOfferSegment(segment) : undefined;
    if (name === undefined || !isThereFor(context)) throw notFound();
    const what = `${action} ${kind}`;
    if (what !== "read resources" && what !== "use prompts") throw notFound();
    const endsAt = performance.now() + limits.timeoutMs;
    const connection = await clients.connected(context, limits);
    const left = { ...limits, timeoutMs: Math.max(1, Math.ceil(endsAt - performance.now())) };
    return what === "use prompts" ? usePrompt(connection, name, input, left) : readResource(connection, name, left);
  };

  return {
    provider: {
      namespace,
      async invoke(operation, signal) {
        const { timeoutMs, maxOutputBytes } = config;
        try {
          const output = plainAnswer(await answer(operation, { signal, timeoutMs }), maxOutputBytes);
          return { status: "succeeded", ...aboutOf(operation), output };
        } catch (error) {
          if (!(error instanceof ToolError)) throw error;
          const { code, message } = error;
          return { status: "failed", ...aboutOf(operation), error: { code, message } };
        }
      },
    },
    async offer(context) {
      if (!isThereFor(context)) return undefined;
      const connection = await clients.connection(context);
      const [resources, resourceTemplates, prompts] = await Promise.all([
        resourcesOf(connection),
        templatesOf(connection),
        promptsOf(connection),
      ]);
      return {
        server,
        namespace,
        resources: [...resources.values()],
        resourceTemplates: [...resourceTemplates.values()],
        prompts: [...prompts.values()],
      };
    },
  };
}

function aboutOf({ operationId }: ResourceOperation): Pick<ResourceResult, "operationId" | "completedAt"> {
  return { operationId, completedAt: new Date().toISOString() };
}

function notFound(words = ""): ToolError {
  return new ToolError("not_found", words || "The MCP server has nothing of this name here.");
}

function toServerError(error: unknown): never {
  if (error instanceof ResourceNotFoundError) throw notFound(plainText(error.message, maxErrorText));
  return toToolError(error, { refused: "mcp_server_error", late: "resource_execution_failed" });
}
