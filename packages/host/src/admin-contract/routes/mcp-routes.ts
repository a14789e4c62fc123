import { AcceptedToolsSchema, McpReviewSchema, McpServerSchema, serverName } from "../mcp-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, changeErrors } from "../admin-route.ts";

/** The routes of MCP servers. */
export const mcpRoutes = {
  listMcpServers: {
    method: "GET",
    path: "/admin/v1/mcp/servers",
    roles: readers,
    about: "host",
    summary: "Lists the configured MCP servers with their tools, and whether each is what was accepted.",
    query: z.strictObject({}),
    response: z.strictObject({ servers: z.array(McpServerSchema) }),
  },
  reviewMcpServer: {
    method: "GET",
    path: "/admin/v1/mcp/servers/{server}/review",
    roles: readers,
    about: "host",
    errors: ["not_found"],
    summary: "Shows the tools of an MCP server that are withdrawn, and how each differs from what was accepted.",
    query: z.strictObject(serverName),
    response: McpReviewSchema,
  },
  acceptMcpTools: {
    method: "POST",
    path: "/admin/v1/mcp/servers/{server}/accept",
    roles: admins,
    about: "host",
    errors: ["not_found", "conflict", ...changeErrors],
    summary: "Accepts tools of an MCP server with exactly the definitions that were shown; all of them, or none.",
    query: z.strictObject(serverName),
    request: AcceptedToolsSchema,
    response: z.strictObject({ ...serverName, accepted: z.array(z.string()) }),
  },
} as const satisfies Record<string, AdminRoute>;
