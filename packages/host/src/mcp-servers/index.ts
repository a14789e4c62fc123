export { differencesOf } from "./definition-differences.ts";
export { impossibleUsers, serversAsOwnUser } from "./isolation.ts";
export { loadMcpPool, tryServers } from "./load-servers.ts";
export { type McpConfig, McpConfigSchema, withoutMcpSecrets } from "./mcp-config.ts";
export type { McpPool } from "./mcp-pool.ts";
export {
  createPinStore,
  type ListedHash,
  type PinnedHashes,
  type PinStore,
  readAllHashes,
  type ToolDefinition,
  type WithdrawnTool,
} from "./pin-store.ts";
export { suggestRules } from "./rule-suggestions.ts";
export { fromOfferSegment, offerSegment, type ServerOffer } from "./server-offer.ts";
export type { McpReviews, ReviewedTool, ServerReview } from "./tool-review.ts";
export type { ServerTrial } from "./try-server.ts";
export { matchesTemplate } from "./uri-template.ts";
