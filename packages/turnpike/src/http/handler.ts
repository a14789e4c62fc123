import {
  DiscoveryContextSchema,
  IdentifierSchema,
  type AccessContext,
  type DiscoveryContext,
} from "../contracts/index.ts";
import { accept, isAccepted, markAccepted, timestampOf } from "../internal/index.ts";
import type { TurnJournal } from "../runtime/index.ts";
import { routesBelow } from "./base-path.ts";
import { readBody } from "./read-body.ts";
import { errorReply, requestIdOf, toResponse, type Reply } from "./reply.ts";
import { createRouter, pathOf, type Router } from "./router.ts";
import type { ServiceApi } from "./service-api.ts";
import type { ServiceRoute } from "./service-call.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { serviceRoutes } from "./service-routes.ts";
import { toHttpError } from "./to-http-error.ts";

/** What a host hands to `createServiceHandler`. */
export interface ServiceHandlerOptions {
  api: ServiceApi;
  /** Stores what turns do. With it the service has routes to start a turn, read its state, follow it and cancel it. */
  journal?: TurnJournal;
  /** Authenticates the request and builds the context it acts in. Throw a `ServiceHttpError` to refuse it. */
  resolveContext(request: Request): Promise<DiscoveryContext>;
  /** The path below which the routes are, such as `/api/turnpike`, in its URL form. The root by default. */
  basePath?: string;
  /** Called once for each request-level error. It cannot change the answer. */
  onError?(error: unknown, request: Request, requestId: string): void | Promise<void>;
}

/**
 * Makes the handler: a standard `Request` in, a `Response` out, nothing thrown. Throws for a `basePath` that is no path.
 *
 * @example
 * import { createServiceHandler, type ServiceApi } from "turnpike/http";
 *
 * const api = {} as ServiceApi; // createServiceApi({ kernel, turns })
 * const handle = createServiceHandler({ api, resolveContext: () => Promise.resolve(context) });
 * const response = await handle(new Request("https://example.com/health"));
 * console.log(response.status, await response.json()); // 200 { status: 'ok', protocolVersion: '1' }
 */
export function createServiceHandler(options: ServiceHandlerOptions): (request: Request) => Promise<Response> {
  const router = createRouter(routesBelow(options.basePath ?? "", serviceRoutes(options.api, options.journal)));
  return async (request) => {
    const requestId = requestIdOf(request.headers.get("x-request-id"));
    try {
      return toResponse(await answer(options, router, request, requestId), requestId);
    } catch (error) {
      await tellHost(options, error, request, requestId);
      return refuse(toHttpError(error, request.signal), requestId);
    }
  };
}

async function answer(
  host: ServiceHandlerOptions,
  router: Router<ServiceRoute>,
  request: Request,
  requestId: string,
): Promise<Reply> {
  const path = pathOf(request.url);
  const route = router.find(request.method, path);
  const authority = route?.authority ?? "optional";
  const context = authority === "none" ? noContext : acceptContext(await host.resolveContext(request), authority);
  if (route === undefined) throw router.refusal(path);
  const body = route.request && (await readBody(request, route.request));
  return route.answer({
    context,
    body,
    path,
    target: request.url,
    headers: request.headers,
    options: { signal: request.signal },
    onLateError: (error) => void tellHost(host, error, request, requestId),
  });
}

/** For routes that read no context. */
const noContext = Object.freeze({}) as AccessContext;

/**
 * The one place where a context is checked and frozen; throws `invalid_access_context`.
 *
 * @example
 * import { acceptContext } from "turnpike/http";
 *
 * console.log(Object.isFrozen(acceptContext(context, "required"))); // true
 */
export function acceptContext(resolved: DiscoveryContext, authority: "required" | "optional"): AccessContext {
  const accepted = accept(DiscoveryContextSchema, resolved);
  if (!accepted.ok) throw invalidContext(`The access context does not fit the contract: ${accepted.message}`);
  if (authority === "required" && accepted.value.authority === undefined) {
    throw invalidContext("The access context has no authority, and this operation needs one.");
  }
  return accepted.value as AccessContext;
}

/**
 * The context of another request of the same caller. Only the instant and the trace differ from the result of `acceptContext`, so
 * only they are checked.
 *
 * @example
 * import { acceptContext, contextAt } from "turnpike/http";
 *
 * const accepted = acceptContext(context, "required");
 * const next = contextAt(accepted, new Date("2026-01-02T00:00:00Z"), "trace-2");
 * console.log(next.now, next.traceId); // 2026-01-02T00:00:00.000Z trace-2
 */
export function contextAt(accepted: DiscoveryContext, now: Date, traceId: string): DiscoveryContext {
  const { actor, authority, enabledToolNamespaces, executionId, namespaceId, owner, purpose } = accepted;
  const { triedBy, askedBy, credential } = accepted;
  const at = timestampOf(now.getTime());
  // Written out: copying by spread costs more than all the rest here.
  const context: DiscoveryContext = { actor, enabledToolNamespaces, namespaceId, now: at, owner, purpose, traceId };
  if (authority !== undefined) context.authority = authority;
  if (executionId !== undefined) context.executionId = executionId;
  if (triedBy !== undefined) context.triedBy = triedBy;
  if (askedBy !== undefined) context.askedBy = askedBy;
  if (credential !== undefined) context.credential = credential;
  const isChecked = isAccepted(DiscoveryContextSchema, accepted) && IdentifierSchema.safeParse(traceId).success;
  return isChecked ? markAccepted(DiscoveryContextSchema, context) : acceptContext(context, "optional");
}

function invalidContext(reason: string): ServiceHttpError {
  const cause = new TypeError(reason);
  return new ServiceHttpError(500, "invalid_access_context", "No valid access context could be resolved.", { cause });
}

function refuse(error: ServiceHttpError, requestId: string): Response {
  try {
    return toResponse(errorReply(error, requestId), requestId);
  } catch {
    // The caller gets an answer even when HTTP cannot carry the host's headers.
    const { status, code, message } = error;
    return toResponse(errorReply(new ServiceHttpError(status, code, message), requestId), requestId);
  }
}

async function tellHost(
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
