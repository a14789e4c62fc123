export { openHttpChannel } from "./http-channel.ts";
export { impossibleUsers, serversAsOwnUser } from "./isolation.ts";
export { type McpConfig, McpConfigSchema, withoutMcpSecrets } from "./mcp-config.ts";
export { createMcpPool, type McpPool } from "./mcp-pool.ts";
export { fromOfferSegment, offerSegment, type ServerOffer } from "./server-offer.ts";
