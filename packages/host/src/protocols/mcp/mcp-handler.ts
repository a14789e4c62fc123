import {
  createMcpHandler as createProtocolHandler,
  localhostAllowedOrigins,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { readJson, type DiscoveryContext } from "turnpike/contracts";
import { readJsonBody, requestIdOf, ServiceHttpError, type ServiceApi } from "turnpike/http";
import { createMcpServer } from "./mcp-server.ts";

/** Where MCP clients are served. */
export const mcpPath = "/mcp";

/** What a host hands to `createMcpHandler`. */
export interface McpHandlerOptions {
  api: ServiceApi;
  /** Authenticates the request and builds the context it acts in, for each request anew. */
  resolveContext(request: Request): Promise<DiscoveryContext>;
  version: string;
  /** Told about requests that are refused and about errors that callers do not see. */
  onError(error: unknown, requestId: string): void;
}

const failed = new ServiceHttpError(500, "internal_error", "Something failed inside; nothing more is said.");

/** Serves MCP over streamable HTTP, without sessions: any host can answer any request. Undefined for other paths. */
export function createMcpHandler(options: McpHandlerOptions): (request: Request) => Promise<Response | undefined> {
  return async (request) => {
    if (new URL(request.url).pathname !== mcpPath) return undefined;
    const requestId = requestIdOf(request.headers.get("x-request-id"));
    const onError = (error: unknown): void => options.onError(error, requestId);
    try {
      return marked(await answer(options, request, onError), requestId);
    } catch (error) {
      onError(error);
      const { status, code, message, headers } = error instanceof ServiceHttpError ? error : failed;
      const response = Response.json({ error: { code, message, requestId } }, { status, headers: { ...headers } });
      return marked(response, requestId);
    }
  };
}

async function answer(
  { api, resolveContext, version }: McpHandlerOptions,
  request: Request,
  onError: (error: unknown) => void,
): Promise<Response> {
  refuseForeignPages(request.headers.get("origin"));
  const context = await resolveContext(request);
  const body = request.method === "POST" ? { parsedBody: await readMessage(request) } : {};
  // Nothing here ever changes by itself, so there is nothing to subscribe to.
  const handler = createProtocolHandler(() => createMcpServer({ api, context, version, onError }), {
    maxSubscriptions: 0,
  });
  return handler.fetch(request, body);
}

/** A page that made its name mean this machine sends its own origin; programs send none. */
function refuseForeignPages(origin: string | null): void {
  if (validateOriginHeader(origin, localhostAllowedOrigins()).ok) return;
  throw new ServiceHttpError(403, "permission_denied", "Pages of other origins are not served.");
}

/** One message, within the limits that every body has here. Several in one body would be one request to the limits. */
async function readMessage(request: Request): Promise<unknown> {
  const document = await readJsonBody(request);
  const reading = readJson(document);
  if (!reading.ok) throw new ServiceHttpError(400, "invalid_request", reading.problem.expected);
  if (Array.isArray(document)) throw new ServiceHttpError(400, "invalid_request", "expected one message a request");
  return document;
}

function marked(response: Response, requestId: string): Response {
  response.headers.set("cache-control", "no-store");
  response.headers.set("x-request-id", requestId);
  return response;
}
