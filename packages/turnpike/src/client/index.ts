export { createServiceClient, type ActScope, type ServiceClient, type TurnListFilter } from "./client.ts";
export type { ClientCallOptions, ServiceClientOptions } from "./send.ts";
export { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";
export { ServiceClientError, type ServiceClientErrorDetails } from "./service-client-error.ts";
export type { TurnEventsOptions } from "./turn-events.ts";
export type { TurnStream } from "./turn-stream.ts";
