export { oauthProtocol } from "./oauth-protocol.ts";
export type { OAuthServices } from "./oauth-services.ts";
