import {
  routes,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type Health,
  type MessageEnvelope,
  type MessageResult,
  type NamespaceCatalog,
  type NamespaceUpdate,
  type ReachResult,
  type ResourceOperationRequest,
  type ResourceResult,
  type RouteName,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
  type TurnRequest,
  type TurnResult,
} from "../contracts/index.ts";
import { readResult, send, type ClientCallOptions, type ServiceClientOptions } from "./send.ts";
import { createTurnStream, type TurnStream } from "./turn-stream.ts";

/** The service over HTTP: one method a route. Throws `ServiceClientError` when there is no result. */
export interface ServiceClient {
  health(options?: ClientCallOptions): Promise<Health>;
  authorize(request: AuthorizationRequest, options?: ClientCallOptions): Promise<AuthorizationDecision>;
  reach(options?: ClientCallOptions): Promise<ReachResult>;
  listTools(options?: ClientCallOptions): Promise<ToolDescriptor[]>;
  listToolNamespaces(options?: ClientCallOptions): Promise<NamespaceCatalog>;
  updateToolNamespaces(update: NamespaceUpdate, options?: ClientCallOptions): Promise<NamespaceCatalog>;
  invokeTool(call: ToolCall, options?: ClientCallOptions): Promise<ToolResult>;
  invokeResource(operation: ResourceOperationRequest, options?: ClientCallOptions): Promise<ResourceResult>;
  sendMessage(envelope: MessageEnvelope, options?: ClientCallOptions): Promise<MessageResult>;
  executeTurn(request: TurnRequest, options?: ClientCallOptions): Promise<TurnResult>;
  /** Runs a turn and shows its events as they happen. */
  streamTurn(request: TurnRequest, options?: ClientCallOptions): TurnStream;
}

/** Makes a client. It needs nothing but `fetch`, so it runs in browsers too. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = async (name: RouteName, body: unknown, { signal }: ClientCallOptions = {}): Promise<unknown> => {
    const response = await send(options, routes[name], body, "application/json", signal);
    return readResult(response, routes[name].response, signal);
  };
  return {
    health: (callOptions) => call("health", undefined, callOptions) as Promise<Health>,
    authorize: (request, callOptions) => call("authorize", request, callOptions) as Promise<AuthorizationDecision>,
    reach: (callOptions) => call("reach", undefined, callOptions) as Promise<ReachResult>,
    listTools: (callOptions) => call("listTools", undefined, callOptions) as Promise<ToolDescriptor[]>,
    listToolNamespaces: (callOptions) =>
      call("listToolNamespaces", undefined, callOptions) as Promise<NamespaceCatalog>,
    updateToolNamespaces: (update, callOptions) =>
      call("updateToolNamespaces", update, callOptions) as Promise<NamespaceCatalog>,
    invokeTool: (toolCall, callOptions) => call("invokeTool", toolCall, callOptions) as Promise<ToolResult>,
    invokeResource: (operation, callOptions) =>
      call("invokeResource", operation, callOptions) as Promise<ResourceResult>,
    sendMessage: (envelope, callOptions) => call("sendMessage", envelope, callOptions) as Promise<MessageResult>,
    executeTurn: (request, callOptions) => call("executeTurn", request, callOptions) as Promise<TurnResult>,
    streamTurn: (request, { signal } = {}) =>
      createTurnStream(() => send(options, routes.executeTurn, request, "text/event-stream", signal), signal),
  };
}
