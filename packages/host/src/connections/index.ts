export { answerMs, type AuthorizationRequest, type PendingRequest } from "./authorization-requests.ts";
export { type ClientStore, createClientStore, type OAuthClient } from "./client-store.ts";
export { type ConnectionStore, createConnectionStore } from "./connection-store.ts";
export { type Connection, type KnownConnection, subjectOf } from "./connections.ts";
export { type OAuthConfig, OAuthConfigSchema } from "./oauth-config.ts";
export { type Offer, offersOf } from "./offers.ts";
export { formTargetOf, isRedirectUri, isRegistered, placeOf } from "./redirects.ts";
