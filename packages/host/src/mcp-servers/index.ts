export { openHttpChannel } from "./http-channel.ts";
export { impossibleUsers, serversAsOwnUser } from "./isolation.ts";
export { type McpConfig, McpConfigSchema, withoutMcpSecrets } from "./mcp-config.ts";
export { createMcpPool, listServerTools, type McpPool } from "./mcp-pool.ts";
export { suggestRules } from "./rule-suggestions.ts";
export { fromOfferSegment, offerSegment, type ServerOffer } from "./server-offer.ts";
