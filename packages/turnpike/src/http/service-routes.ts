import {
  routes,
  type AccessContext,
  type AuthorizationRequest,
  type Health,
  type MessageEnvelope,
  type NamespaceUpdate,
  type ResourceOperationRequest,
  type Route,
  type RouteName,
  type ToolCall,
  type TurnRequest,
} from "../contracts/index.ts";
import { catalogReply, emptyReply, jsonReply, streamReply, type Reply } from "./reply.ts";
import type { ServiceApi, ServiceApiCallOptions } from "./service-api.ts";
import { streamTurn } from "./turn-stream.ts";

/** A request of somebody who was let in, with a body that fits its route. */
export interface ServiceCall {
  context: AccessContext;
  body: unknown;
  /** The header `accept`. */
  accept: string | null;
  options: ServiceApiCallOptions & { signal: AbortSignal };
  /** Told about an error that comes when the answer has begun. */
  onLateError(error: unknown): void;
}

/** One route of the service, for a host that has a front of its own. */
export interface ServiceRoute extends Pick<Route, "path" | "request" | "authority"> {
  method: string;
  /** Carries the operation out. Rejects for what is a request-level error. A route that needs no context ignores its call. */
  answer(call: ServiceCall): Promise<Reply>;
}

const health: Health = { status: "ok", protocolVersion: "1" };

/** Every route of the service over an api: the route table with what each row does. */
export function serviceRoutes(api: ServiceApi): readonly ServiceRoute[] {
  const rows = Object.entries<Route>(routes).map(([name, { method, path, request, authority }]) => ({
    method,
    path,
    authority,
    ...(request && { request }),
    answer: answers(api)[name as RouteName],
  }));
  const headOfHealth = { ...routes.health, method: "HEAD", answer: () => Promise.resolve(emptyReply()) };
  return [...rows, headOfHealth];
}

/** One row a route; the front vouches that a body fits its route. */
function answers(api: ServiceApi): Record<RouteName, ServiceRoute["answer"]> {
  return {
    health: () => Promise.resolve(jsonReply(health)),
    authorize: async ({ context, body, options }) =>
      jsonReply(await api.authorize(context, body as AuthorizationRequest, options)),
    reach: async ({ context, options }) => jsonReply(await api.reach(context, options)),
    listTools: async ({ context, options }) => catalogReply(await api.listTools(context, options)),
    listToolNamespaces: async ({ context, options }) => jsonReply(await api.listToolNamespaces(context, options)),
    updateToolNamespaces: async ({ context, body, options }) =>
      jsonReply(await api.updateToolNamespaces(context, body as NamespaceUpdate, options)),
    invokeTool: async ({ context, body, options }) =>
      jsonReply(await api.invokeTool(context, body as ToolCall, options)),
    invokeResource: async ({ context, body, options }) =>
      jsonReply(await api.invokeResource(context, body as ResourceOperationRequest, options)),
    async sendMessage({ context, body, options }) {
      const result = await api.sendMessage(context, body as MessageEnvelope, options);
      return jsonReply(result, result.status === "accepted" ? 202 : 200);
    },
    async executeTurn({ context, body, accept, options, onLateError }) {
      const run = (watched: ServiceApiCallOptions) =>
        api.executeTurn(context, body as TurnRequest, { ...options, ...watched });
      if (!wantsStream(accept)) return jsonReply(await run(options));
      return streamReply(await streamTurn(run, options.signal, onLateError));
    },
  };
}

/** Nothing else is negotiated. A range with `q=0` says no. */
function wantsStream(accepted: string | null): boolean {
  return (accepted ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/event-stream" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
