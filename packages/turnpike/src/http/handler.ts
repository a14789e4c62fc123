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
  /** Keeps what turns do: with it there are routes to start a turn, leave it, look at it, follow it and cancel it. */
  journal?: TurnJournal;
  /** Authenticates the request and builds the context it acts in. Throw a `ServiceHttpError` to refuse it. */
  resolveContext(request: Request): Promise<DiscoveryContext>;
  /** Where the routes are, such as `/api/turnpike`, when they are not at the root; in its URL form, as it is in requests. */
  basePath?: string;
  /** Told once about each request-level error; whatever it does, the answer stays the same. */
  onError?(error: unknown, request: Request, requestId: string): void | Promise<void>;
}

/** Makes the handler: a standard `Request` in, a `Response` out, nothing thrown. Throws for a `basePath` that is no path. */
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
  const context = authority === "none" ? nobody : acceptContext(await host.resolveContext(request), authority);
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

/** Stands where a route looks at no context. */
const nobody = Object.freeze({}) as AccessContext;

/** The one place where a context is checked and frozen; throws `invalid_access_context`. */
export function acceptContext(resolved: DiscoveryContext, authority: "required" | "optional"): AccessContext {
  const accepted = accept(DiscoveryContextSchema, resolved);
  if (!accepted.ok) throw invalidContext(`The access context does not fit the contract: ${accepted.message}`);
  if (authority === "required" && accepted.value.authority === undefined) {
    throw invalidContext("The access context has no authority, and this operation needs one.");
  }
  return accepted.value as AccessContext;
}

/**
 * The context of another request of the same caller: of what `acceptContext` returned, only the moment and the trace are
 * new, and checked.
 */
export function contextAt(accepted: DiscoveryContext, now: Date, traceId: string): DiscoveryContext {
  const { actor, authority, enabledToolNamespaces, executionId, namespaceId, owner, purpose } = accepted;
  const { triedBy, askedBy } = accepted;
  const at = timestampOf(now.getTime());
  // Written out: copying by spread costs more than all the rest here.
  const context: DiscoveryContext = { actor, enabledToolNamespaces, namespaceId, now: at, owner, purpose, traceId };
  if (authority !== undefined) context.authority = authority;
  if (executionId !== undefined) context.executionId = executionId;
  if (triedBy !== undefined) context.triedBy = triedBy;
  if (askedBy !== undefined) context.askedBy = askedBy;
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
    // A host's headers that HTTP cannot carry do not keep the caller from an answer.
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
