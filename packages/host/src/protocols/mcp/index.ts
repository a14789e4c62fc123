export { mcpPath, mcpProtocol } from "./mcp-protocol.ts";
