import { routes } from "turnpike/contracts";
import { adminRoutes } from "../management/index.ts";
import { mcpPath } from "../protocols/mcp/index.ts";

/** Every path that answers here; logs and metrics call any other "other". */
export const knownPaths: ReadonlySet<string> = new Set([
  "/ready",
  "/openapi.json",
  "/docs",
  "/metrics",
  mcpPath,
  ...[...Object.values(adminRoutes), ...Object.values(routes)].map(({ path }) => path),
]);
