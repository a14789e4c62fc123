import { ProtocolError, Server } from "@modelcontextprotocol/server";
import type { AccessContext, DiscoveryContext } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { fileUriTemplate } from "./file-uri.ts";
import { callTool, toMcpTool } from "./offered-tools.ts";
import { listFiles, readFile } from "./readable-files.ts";
import { toProtocolError, toSaidError } from "./public-error.ts";

/** What one request is served with. */
export interface McpServerOptions {
  api: ServiceApi;
  context: DiscoveryContext;
  /** What the host's layers around the api know of the request. */
  host: unknown;
  version: string;
  /** Told about errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** The MCP server that one request talks to: the tools and files of its context, and nothing it could keep. */
export function createMcpServer({ api, context, host, version, onError }: McpServerOptions): Server {
  const server = new Server({ name: "turnpike", version }, { capabilities: { tools: {}, resources: {} } });
  // The kernel refuses to act in a context without authority.
  const acting = context as AccessContext;
  const said = async <Result>(answer: Promise<Result>): Promise<Result> => {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      const known = toSaidError(error);
      if (known.code === "internal_error") onError(error);
      throw toProtocolError(known, "failed");
    }
  };

  server.setRequestHandler("tools/list", async (_request, { mcpReq: { signal } }) => ({
    tools: (await said(api.listTools(context, { signal, host }))).map(toMcpTool),
  }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq: { signal } }) =>
    callTool({ api, context: acting, options: { signal, host }, onError }, params),
  );
  server.setRequestHandler("resources/list", ({ params }, { mcpReq: { signal } }) =>
    said(listFiles({ api, context: acting, options: { signal, host } }, params?.cursor)),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ name: "file", uriTemplate: fileUriTemplate, description: "A file that you may read." }],
  }));
  server.setRequestHandler("resources/read", ({ params }, { mcpReq: { signal } }) =>
    said(readFile({ api, context: acting, options: { signal, host } }, params.uri)),
  );
  return server;
}
