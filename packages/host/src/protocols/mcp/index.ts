export { createMcpHandler, mcpPath } from "./mcp-handler.ts";
