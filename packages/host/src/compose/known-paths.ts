import { routes } from "turnpike/contracts";
import { adminRoutes } from "../management/admin-routes.ts";
import { mcpPath } from "../protocols/mcp/mcp-handler.ts";

/** Every path that answers here; logs and metrics call any other "other". */
export const knownPaths: ReadonlySet<string> = new Set([
  "/ready",
  "/openapi.json",
  "/docs",
  "/metrics",
  mcpPath,
  ...[...Object.values(adminRoutes), ...Object.values(routes)].map(({ path }) => path),
]);
