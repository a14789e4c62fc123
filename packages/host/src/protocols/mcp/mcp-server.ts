import { ProtocolError, Server } from "@modelcontextprotocol/server";
import type { AccessContext, DiscoveryContext } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { fileUriTemplate } from "./file-uri.ts";
import { callTool, toMcpTool } from "./offered-tools.ts";
import { listFiles, readFile } from "./readable-files.ts";
import { toProtocolError, toPublicError } from "./public-error.ts";

/** What the MCP server of one request uses. */
export interface McpServerOptions {
  api: ServiceApi;
  context: DiscoveryContext;
  /** The record of the request for the host's layers around the api. */
  host: unknown;
  version: string;
  /** Told about errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** The MCP server of one request: it offers the tools and files of its context, and keeps no state. */
export function createMcpServer({ api, context, host, version, onError }: McpServerOptions): Server {
  const server = new Server({ name: "turnpike", version }, { capabilities: { tools: {}, resources: {} } });
  // The kernel refuses to act in a context without authority, so the cast is safe.
  const acting = context as AccessContext;
  const withPublicErrors = async <Result>(answer: Promise<Result>): Promise<Result> => {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const known = toPublicError(error);
      if (known.code === "internal_error") onError(error);
      throw toProtocolError(known, "failed");
    }
  };

  server.setRequestHandler("tools/list", async (_request, { mcpReq: { signal } }) => ({
    tools: (await withPublicErrors(api.listTools(context, { signal, host }))).map(toMcpTool),
  }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq: { signal } }) =>
    callTool({ api, context: acting, options: { signal, host }, onError }, params),
  );
  server.setRequestHandler("resources/list", ({ params }, { mcpReq: { signal } }) =>
    withPublicErrors(listFiles({ api, context: acting, options: { signal, host } }, params?.cursor)),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ name: "file", uriTemplate: fileUriTemplate, description: "A file that you may read." }],
  }));
  server.setRequestHandler("resources/read", ({ params }, { mcpReq: { signal } }) =>
    withPublicErrors(readFile({ api, context: acting, options: { signal, host } }, params.uri)),
  );
  return server;
}
