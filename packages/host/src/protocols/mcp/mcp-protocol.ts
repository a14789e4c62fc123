import type { DiscoveryContext } from "turnpike/contracts";
import { acceptContext, type ServiceApi } from "turnpike/http";
import type { ContextResolver } from "../../access/index.ts";
import type { Protocol } from "../../front/index.ts";
import type { McpPool } from "../../mcp-servers/index.ts";
import type { Listening } from "./listening.ts";
import { createOfferedNames, type KnownNames } from "./offered-names.ts";
import { metadataPaths, metadataRoutes, withMetadata, type ProtectedResource } from "./protected-resource.ts";
import { createRunningCalls } from "./running-calls.ts";

/** Where MCP clients are served. */
const mcpPath = "/mcp";

/** What the MCP protocol uses. */
export interface McpProtocolOptions {
  api: ServiceApi;
  /** Authenticates the request and builds the context it acts in, for each request anew. */
  resolveContext: ContextResolver;
  /** The tools and namespaces that clients can be offered. */
  known: KnownNames;
  /** What MCP servers offer besides tools, which servers are unavailable, and when their lists change. */
  pool: Pick<McpPool, "offers" | "unavailable" | "listen">;
  /** The streams of clients that listen. */
  listening: Listening;
  /** What clients without a credential are told. */
  about: ProtectedResource;
  version: string;
}

/**
 * MCP over streamable HTTP. There are no sessions: any host can answer any request. Every method has a route, because MCP itself
 * decides which methods it answers.
 */
export function mcpProtocol(options: McpProtocolOptions): Protocol<DiscoveryContext> {
  const shared = { ...options, names: createOfferedNames(options.known), calls: createRunningCalls() };
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  return {
    owns: (path) => path === mcpPath || metadataPaths.includes(path),
    async admit({ request, record }) {
      const { refuseForeignPages } = await loadAnswers();
      refuseForeignPages(request.headers.get("origin"));
      try {
        // Validated and frozen once, however many operations the request takes.
        return acceptContext(await options.resolveContext(request.headers, record), "optional");
      } catch (error) {
        throw withMetadata(error, options.about, request.headers);
      }
    },
    openRoutes: metadataRoutes(options.about),
    routes: methods.map((method) => ({
      method,
      path: mcpPath,
      async answer(incoming, context) {
        const { answer } = await loadAnswers();
        return answer(shared, incoming, context);
      },
    })),
  };
}

/** The MCP library is large. It is loaded with the first request, so that hosts without MCP clients start sooner. */
const loadAnswers = () => import("./answer-request.ts");
