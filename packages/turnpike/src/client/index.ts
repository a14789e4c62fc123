export { ActDeniedError, ActFailedError, ActInterruptedError } from "./act-errors.ts";
export { createServiceClient, type ActScope, type ServiceClient, type TurnListFilter } from "./client.ts";
export { connectGate, type ConnectGateOptions } from "./connect-gate.ts";
export {
  createGate,
  type EffectContext,
  type Gate,
  type GateAct,
  type GateCallOptions,
  type GateOptions,
  type GateOutcome,
  type GatePort,
} from "./gate.ts";
export type { ClientCallOptions, ServiceClientOptions } from "./send.ts";
export { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";
export { ServiceClientError, type ServiceClientErrorDetails } from "./service-client-error.ts";
export type { TurnEventsOptions } from "./turn-events.ts";
export type { TurnStream } from "./turn-stream.ts";
