export { createServiceClient, type ServiceClient } from "./client.ts";
export type { ClientCallOptions, ServiceClientOptions } from "./send.ts";
export { ServiceClientError, type ServiceClientErrorDetails } from "./service-client-error.ts";
export type { TurnStream } from "./turn-stream.ts";
