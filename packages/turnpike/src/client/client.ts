import {
  routes,
  TurnStateSchema,
  type ActOutcome,
  type ActRequest,
  type ActState,
  type AuthorizationDecision,
  type AuthorizeRequest,
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
  type TurnEvent,
  type TurnList,
  type TurnRequest,
  type TurnResult,
  type TurnState,
  type TurnStatus,
} from "../contracts/index.ts";
import { readResult, send, type ClientCallOptions, type SentRequest, type ServiceClientOptions } from "./send.ts";
import { followTurn, type TurnEventsOptions } from "./turn-events.ts";
import { createTurnStream, type TurnStream } from "./turn-stream.ts";

/** Which turns to list. */
export interface TurnListFilter {
  /** All of them when absent. */
  statuses?: readonly TurnStatus[] | undefined;
  /** 1-200; 50 when absent. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  before?: string | undefined;
}

/** What an act's id is unique in: the execution that the act began with, or else its trace. */
export type ActScope = { executionId: string; traceId?: undefined } | { traceId: string; executionId?: undefined };

/** The service over HTTP: one method a route. Throws `ServiceClientError` when there is no result. */
export interface ServiceClient {
  health(options?: ClientCallOptions): Promise<Health>;
  authorize(request: AuthorizeRequest, options?: ClientCallOptions): Promise<AuthorizationDecision>;
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
  /** Starts a turn that continues without its caller. This and the methods below need a service that has a journal of turns. */
  startTurn(request: TurnRequest, options?: ClientCallOptions): Promise<TurnState>;
  /** Where a turn of one's own is. */
  turn(executionId: string, options?: ClientCallOptions): Promise<TurnState>;
  /** One's own turns, the newest first. */
  turns(filter?: TurnListFilter, options?: ClientCallOptions): Promise<TurnList>;
  /** The events of a turn until it has ended. Reconnects by itself, and gives up when the service refuses. */
  turnEvents(executionId: string, options?: TurnEventsOptions): AsyncIterable<TurnEvent>;
  /** Asks for the end of a turn; one that has ended stays as it is. */
  cancelTurn(executionId: string, options?: ClientCallOptions): Promise<TurnState>;
  /**
   * Asks to carry an effect out oneself. When it is `allowed`, the caller does it, and says with `finishAct` what became of it. This
   * and the methods below need a service that has a store of acts.
   */
  beginAct(request: ActRequest, options?: ClientCallOptions): Promise<ActState>;
  /** Says what became of an act; saying it again changes nothing. */
  finishAct(id: string, outcome: ActOutcome, options?: ClientCallOptions): Promise<ActState>;
  /** Where an act of one's own is. */
  act(id: string, scope: ActScope, options?: ClientCallOptions): Promise<ActState>;
}

/**
 * Makes a client. It needs nothing but `fetch`, so it runs in browsers too.
 *
 * @example
 * import { createServiceClient } from "turnpike/client";
 *
 * const health = { status: "ok", protocolVersion: "1" };
 * const fetch = () => Promise.resolve(Response.json(health)); // that of the platform unless given
 * const client = createServiceClient({ baseUrl: "https://example.com", fetch });
 * console.log((await client.health()).status); // ok
 */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const call = async (name: RouteName, body: unknown, { signal }: ClientCallOptions = {}): Promise<unknown> => {
    const { method, path, response: schema } = routes[name];
    return readResult(await send(options, { method, path, body }, signal), schema, signal);
  };
  const ofTurn = async (
    name: "getTurn" | "cancelTurn",
    executionId: string,
    { signal }: ClientCallOptions = {},
  ): Promise<TurnState> => {
    const { method, response: schema } = routes[name];
    const response = await send(options, { method, path: turnPath(name, executionId) }, signal);
    return (await readResult(response, schema, signal)) as TurnState;
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
      createTurnStream(() => send(options, { ...startOf(request), headers: asStream }, signal), signal),
    async startTurn(request, { signal } = {}) {
      const headers = { prefer: "respond-async" };
      const response = await send(options, { ...startOf(request), headers }, signal);
      return (await readResult(response, TurnStateSchema, signal)) as TurnState;
    },
    turn: (executionId, callOptions) => ofTurn("getTurn", executionId, callOptions),
    async turns(filter = {}, { signal } = {}) {
      const { method, path, response: schema } = routes.listTurns;
      const response = await send(options, { method, path: `${path}${queryOf(filter)}` }, signal);
      return (await readResult(response, schema, signal)) as TurnList;
    },
    turnEvents(executionId, following = {}) {
      const { method } = routes.listTurnEvents;
      const path = turnPath("listTurnEvents", executionId);
      const open = (after: number): Promise<Response> =>
        send(options, { method, path, headers: { ...asStream, "last-event-id": String(after) } }, following.signal);
      return followTurn(open, following);
    },
    cancelTurn: (executionId, callOptions) => ofTurn("cancelTurn", executionId, callOptions),
    beginAct: (request, callOptions) => call("beginAct", request, callOptions) as Promise<ActState>,
    async finishAct(id, outcome, { signal } = {}) {
      const { method, response: schema } = routes.finishAct;
      const response = await send(options, { method, path: actPath("finishAct", id), body: outcome }, signal);
      return (await readResult(response, schema, signal)) as ActState;
    },
    async act(id, { traceId, executionId }, { signal } = {}) {
      const { method, response: schema } = routes.getAct;
      const query = new URLSearchParams(executionId === undefined ? { traceId } : { executionId });
      const response = await send(options, { method, path: `${actPath("getAct", id)}?${query.toString()}` }, signal);
      return (await readResult(response, schema, signal)) as ActState;
    },
  };
}

const asStream = { accept: "text/event-stream" };

function startOf(request: TurnRequest): SentRequest {
  const { method, path } = routes.executeTurn;
  return { method, path, body: request };
}

function turnPath(name: "getTurn" | "listTurnEvents" | "cancelTurn", executionId: string): string {
  return routes[name].path.replace("{executionId}", () => encodeURIComponent(executionId));
}

function actPath(name: "finishAct" | "getAct", id: string): string {
  return routes[name].path.replace("{id}", () => encodeURIComponent(id));
}

function queryOf({ statuses, limit, before }: TurnListFilter): string {
  const query = new URLSearchParams();
  if (statuses !== undefined) query.set("status", statuses.join(","));
  if (limit !== undefined) query.set("limit", String(limit));
  if (before !== undefined) query.set("before", before);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
