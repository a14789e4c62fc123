export { differencesOf } from "./definition-differences.ts";
export { impossibleUsers, serversAsOwnUser } from "./isolation.ts";
export { type McpConfig, McpConfigSchema, withoutMcpSecrets } from "./mcp-config.ts";
export { type McpPool, prepareMcpPool } from "./mcp-pool.ts";
export { createPinStore, type PinnedHashes, type PinStore, readAllHashes, type ToolDefinition } from "./pin-store.ts";
export { suggestRules } from "./rule-suggestions.ts";
export { fromOfferSegment, offerSegment, type ServerOffer } from "./server-offer.ts";
export type { McpReviews, ReviewedTool, ServerReview } from "./tool-review.ts";
export { type ServerTrial, tryServers } from "./try-server.ts";
