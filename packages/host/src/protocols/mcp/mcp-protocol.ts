import {
  createMcpHandler as createProtocolHandler,
  localhostAllowedOrigins,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { JsonValueSchema, type DiscoveryContext } from "turnpike/contracts";
import { acceptContext, readJsonBody, ServiceHttpError, type BodySource, type ServiceApi } from "turnpike/http";
import { z } from "zod";
import type { ContextResolver } from "../../access/index.ts";
import type { IncomingRequest, Protocol } from "../../front/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";
import { createMcpServer } from "./mcp-server.ts";
import { createOfferedNames, type KnownNames, type OfferedNames } from "./offered-names.ts";

/** Where MCP clients are served. */
const mcpPath = "/mcp";

/** What the MCP protocol uses. */
export interface McpProtocolOptions {
  api: ServiceApi;
  /** Authenticates the request and builds the context it acts in, for each request anew. */
  resolveContext: ContextResolver;
  /** What there is to name for clients. */
  known: KnownNames;
  /** What governed servers have besides tools. */
  offers?: McpPool["offers"];
  version: string;
}

/**
 * MCP over streamable HTTP, without sessions: any host can answer any request. Every method has a route, because MCP itself
 * decides which methods it answers.
 */
export function mcpProtocol(options: McpProtocolOptions): Protocol<DiscoveryContext> {
  const names = createOfferedNames(options.known);
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  return {
    owns: (path) => path === mcpPath,
    async admit({ request, record }) {
      refuseForeignPages(request.headers.get("origin"));
      // Validated and frozen once, however many operations the request takes.
      return acceptContext(await options.resolveContext(request.headers, record), "optional");
    },
    routes: methods.map((method) => ({
      method,
      path: mcpPath,
      answer: (incoming, context) => answer(options, names, incoming, context),
    })),
  };
}

async function answer(
  { api, version }: McpProtocolOptions,
  names: OfferedNames,
  { request, record: host, onLateError: onError }: IncomingRequest,
  context: DiscoveryContext,
): Promise<Response> {
  const message = request.method === "POST" ? await readMessage(request.body) : undefined;
  const method = MethodSchema.safeParse(message).data?.method;
  // Nothing here changes without a request, so there is nothing to subscribe to.
  const handler = createProtocolHandler(
    () => createMcpServer({ api, context, method, names, host, version, onError }),
    {
      maxSubscriptions: 0,
    },
  );
  return handler.fetch(request.toFetch(), message === undefined ? {} : { parsedBody: message });
}

const MethodSchema = z.object({ method: z.string() });

/** A web page that resolves its own name to this machine (DNS rebinding) sends its origin. Programs send none. */
function refuseForeignPages(origin: string | null): void {
  if (validateOriginHeader(origin, localhostAllowedOrigins()).ok) return;
  throw new ServiceHttpError(403, "permission_denied", "Pages of other origins are not served.");
}

/** Reads one message, within the limits of every body. A batch is refused: the rate limit would count it as one request. */
async function readMessage(body: BodySource): Promise<unknown> {
  const document = await readJsonBody(body);
  const reading = JsonValueSchema.safeParse(document);
  if (!reading.success)
    throw new ServiceHttpError(400, "invalid_request", reading.error.issues[0]?.message ?? "expected JSON");
  if (Array.isArray(document)) throw new ServiceHttpError(400, "invalid_request", "expected one message a request");
  return document;
}
