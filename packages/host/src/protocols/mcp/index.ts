export { mcpProtocol } from "./mcp-protocol.ts";
