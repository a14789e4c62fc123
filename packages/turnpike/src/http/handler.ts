import {
  accept,
  DiscoveryContextSchema,
  routes,
  type AccessContext,
  type AuthorizationRequest,
  type DiscoveryContext,
  type Health,
  type MessageEnvelope,
  type NamespaceUpdate,
  type ResourceOperationRequest,
  type RouteName,
  type ToolCall,
  type TurnRequest,
} from "../contracts/index.ts";
import { isHealthCheck, matchRoute, pathOf } from "./match-route.ts";
import { readBody } from "./read-body.ts";
import { replyCatalog, replyEmpty, replyJson, replyStream } from "./reply.ts";
import type { ServiceApi, ServiceApiCallOptions } from "./service-api.ts";
import { requestIdOf } from "./request-id.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { toHttpError } from "./to-http-error.ts";
import { streamTurn } from "./turn-stream.ts";

/** What a host hands to `createServiceHandler`. */
export interface ServiceHandlerOptions {
  api: ServiceApi;
  /** Authenticates the request and builds the context it acts in. Throw a `ServiceHttpError` to refuse it. */
  resolveContext(request: Request): Promise<DiscoveryContext>;
  /** Told once about each request-level error; whatever it does, the answer stays the same. */
  onError?(error: unknown, request: Request, requestId: string): void | Promise<void>;
}

type Operation = (
  api: ServiceApi,
  context: AccessContext,
  body: unknown,
  options: ServiceApiCallOptions,
) => Promise<unknown>;

const health: Health = { status: "ok", protocolVersion: "1" };

/** One row a route; `matchRoute` and `readBody` vouch for the types. */
const operations: Record<Exclude<RouteName, "health" | "listTools">, Operation> = {
  authorize: (api, context, body, options) => api.authorize(context, body as AuthorizationRequest, options),
  reach: (api, context, _body, options) => api.reach(context, options),
  listToolNamespaces: (api, context, _body, options) => api.listToolNamespaces(context, options),
  updateToolNamespaces: (api, context, body, options) =>
    api.updateToolNamespaces(context, body as NamespaceUpdate, options),
  invokeTool: (api, context, body, options) => api.invokeTool(context, body as ToolCall, options),
  invokeResource: (api, context, body, options) =>
    api.invokeResource(context, body as ResourceOperationRequest, options),
  sendMessage: (api, context, body, options) => api.sendMessage(context, body as MessageEnvelope, options),
  executeTurn: (api, context, body, options) => api.executeTurn(context, body as TurnRequest, options),
};

/** Makes the handler: a standard `Request` in, a `Response` out, nothing thrown. */
export function createServiceHandler(options: ServiceHandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const requestId = requestIdOf(request.headers.get("x-request-id"));
    const fail = async (error: unknown): Promise<Response> => {
      await tell(options, error, request, requestId);
      const { status, code, message, headers } = toHttpError(error, request.signal);
      const body = { error: { code, message, requestId } };
      try {
        return replyJson(body, { requestId, status, headers });
      } catch {
        // A host's headers that HTTP cannot carry do not keep the caller from an answer.
        return replyJson(body, { requestId, status });
      }
    };
    try {
      return await answer(options, request, requestId);
    } catch (error) {
      return fail(error);
    }
  };
}

async function answer(options: ServiceHandlerOptions, request: Request, requestId: string): Promise<Response> {
  const { method, signal } = request;
  const path = pathOf(request.url);
  if (isHealthCheck(method, path))
    return method === "HEAD" ? replyEmpty({ requestId }) : replyJson(health, { requestId });

  const resolved = acceptContext(await options.resolveContext(request));
  const name = matchRoute(method, path);
  const route = routes[name];
  const context = contextFor(route.authority, resolved);
  const body = "request" in route ? await readBody(request, route.request) : undefined;
  if (name === "executeTurn" && wantsStream(request.headers.get("accept"))) {
    const run = (watched: ServiceApiCallOptions) => options.api.executeTurn(context, body as TurnRequest, watched);
    const stream = await streamTurn(run, signal, (error) => void tell(options, error, request, requestId));
    return replyStream(stream, { requestId });
  }
  if (name === "health") return replyJson(health, { requestId });
  if (name === "listTools") return replyCatalog(await options.api.listTools(context, { signal }), { requestId });
  const result = await operations[name](options.api, context, body, { signal });
  return replyJson(result, { requestId, status: name === "sendMessage" && isAccepted(result) ? 202 : 200 });
}

/** The one place where a context is checked and frozen. */
function acceptContext(resolved: DiscoveryContext): DiscoveryContext {
  const accepted = accept(DiscoveryContextSchema, resolved);
  if (accepted.ok) return accepted.value;
  throw invalidContext(new TypeError(`The access context does not fit the contract: ${accepted.message}`));
}

function contextFor(authority: "required" | "optional" | "none", context: DiscoveryContext): AccessContext {
  if (authority === "required" && context.authority === undefined) {
    throw invalidContext(new TypeError("The access context has no authority, and this operation needs one."));
  }
  return context as AccessContext;
}

function invalidContext(cause: Error): ServiceHttpError {
  return new ServiceHttpError(500, "invalid_access_context", "No valid access context could be resolved.", { cause });
}

/** Nothing else is negotiated. A range with `q=0` says no. */
function wantsStream(accepted: string | null): boolean {
  return (accepted ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/event-stream" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function isAccepted(result: unknown): boolean {
  return typeof result === "object" && result !== null && "status" in result && result.status === "accepted";
}

async function tell(
  { onError }: ServiceHandlerOptions,
  error: unknown,
  request: Request,
  requestId: string,
): Promise<void> {
  try {
    await onError?.(error, request, requestId);
  } catch {
    // Watching for errors cannot change an answer.
  }
}
