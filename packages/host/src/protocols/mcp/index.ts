export { createListening } from "./listening.ts";
export { mcpProtocol } from "./mcp-protocol.ts";
