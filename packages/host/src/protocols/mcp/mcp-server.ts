import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from "@modelcontextprotocol/server";
import type { AccessContext, DiscoveryContext } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { z } from "zod";
import type { McpPool } from "../../mcp-servers/index.ts";
import type { Access } from "./access.ts";
import { progressOf } from "./call-progress.ts";
import type { OfferedNames } from "./offered-names.ts";
import { callTool, refuseArguments, toMcpTools } from "./offered-tools.ts";
import type { RequestId } from "./running-calls.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import { getPrompt, listPrompts } from "./server-offers.ts";
import { toProtocolError, toPublicError } from "./public-error.ts";

/** What the MCP server of one request uses. */
export interface McpServerOptions {
  api: ServiceApi;
  context: DiscoveryContext;
  /** The method of the request, if it has one. */
  method: string | undefined;
  /** Why the arguments of its call are refused, if they are. */
  badArguments?: string | undefined;
  names: OfferedNames;
  /** What MCP servers offer besides tools, and which servers are unavailable. */
  pool: Pick<McpPool, "offers" | "unavailable">;
  /** Registers a running request, and how to cancel it. Returns the function that removes it. */
  begin(id: RequestId, cancel: () => void): () => void;
  /** The record of the request for the host's layers around the api. */
  host: unknown;
  version: string;
  /** Called with errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** The MCP server of one request: it offers the tools, resources and prompts of its context, and has no state. */
export function createMcpServer({
  api,
  context,
  method,
  badArguments,
  names,
  pool,
  begin,
  host,
  version,
  onError,
}: McpServerOptions): Server {
  const { offers } = pool;
  const listed = { listChanged: true };
  const server = new Server(
    { name: "turnpike", version },
    { capabilities: { tools: listed, resources: listed, prompts: listed } },
  );
  /** A list, with the names of the servers that are unavailable and so missing from it. */
  const withUnavailable = async <Result extends object>(list: Promise<Result>): Promise<Result> => {
    const result = await list;
    const servers = pool.unavailable(context);
    return servers.length === 0 ? result : { ...result, _meta: { [unavailableKey]: servers } };
  };
  const serve = async <Result>(
    { mcpReq: { id, signal } }: ServerContext,
    answer: (access: Access) => Promise<Result>,
  ): Promise<Result> => {
    // Closing the server ends the answer without a result, as MCP demands for a cancelled call.
    const end = begin(id, () => void server.close());
    try {
      // The kernel refuses to act in a context without authority, so the cast is safe.
      return await answer({ api, context: context as AccessContext, options: { signal, host } });
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const known = toPublicError(error);
      if (known.code === "internal_error") onError(error);
      throw toProtocolError(known, "failed");
    } finally {
      end();
    }
  };

  server.setRequestHandler("tools/list", (_request, call) =>
    serve(call, ({ options }) =>
      withUnavailable(api.listTools(context, options).then((tools) => ({ tools: toMcpTools(tools, names) }))),
    ),
  );
  server.setRequestHandler("resources/list", ({ params }, call) =>
    serve(call, (access) => withUnavailable(listResources({ ...access, offers }, params?.cursor))),
  );
  server.setRequestHandler("resources/templates/list", (_request, call) =>
    serve(call, (access) => withUnavailable(listTemplates({ ...access, offers }))),
  );
  server.setRequestHandler("resources/read", ({ params }, call) =>
    serve(call, (access) => readResource({ ...access, offers }, params.uri)),
  );
  server.setRequestHandler("prompts/list", ({ params }, call) =>
    serve(call, (access) => withUnavailable(listPrompts({ ...access, offers }, names, params?.cursor))),
  );
  server.setRequestHandler("prompts/get", ({ params }, call) =>
    serve(call, (access) => getPrompt({ ...access, offers }, names, params)),
  );
  if (method === "tools/call") {
    // A handler for this method would drop the parts of a result that the library does not know, such as newer kinds of content.
    server.fallbackRequestHandler = ({ params }, call) =>
      serve(call, ({ options, ...access }) =>
        badArguments === undefined
          ? callTool({ ...access, options: { ...options, ...progressOf(call) }, names, onError }, readCall(params))
          : Promise.resolve(refuseArguments(badArguments)),
      );
  }
  return server;
}

/** The key in the `_meta` of a list that names the unavailable servers. */
const unavailableKey = "turnpike/unavailable";

const CallSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() });

function readCall(params: unknown): z.infer<typeof CallSchema> {
  const call = CallSchema.safeParse(params);
  if (call.success) return call.data;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "Expected params with a name, and arguments if it takes any.",
  );
}
