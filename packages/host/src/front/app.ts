import { performance } from "node:perf_hooks";
import { errorCodes } from "turnpike/contracts";
import { requestIdOf } from "turnpike/http";
import { bugFacts, errorFacts, type Log, type Metrics } from "../observe/index.ts";
import { type RequestScope, withRequestScope } from "../access/index.ts";

/** What the host serves besides the service itself. Nobody has to log in for these. */
export interface AppOptions {
  service(request: Request): Promise<Response>;
  /** Answers operators; undefined for what is not theirs. */
  admin(request: Request): Promise<Response | undefined>;
  /** Answers MCP clients; undefined for what is not theirs. */
  mcp(request: Request): Promise<Response | undefined>;
  /** Rejects when the database takes no writes. */
  checkReady(): Promise<void>;
  openApi: object;
  docsPage: string;
  /** Everything that answers here; logs and figures call any other path "other". */
  paths: ReadonlySet<string>;
  log: Log;
  metrics: Metrics;
}

const openPaths = ["/ready", "/openapi.json", "/docs"] as const;

/** One Fetch handler for everything, with a line in the log for each request. */
export function createApp(options: AppOptions): (request: Request) => Promise<Response> {
  const openApi = JSON.stringify(options.openApi);
  const open: Record<(typeof openPaths)[number], () => Promise<Response>> = {
    "/ready": () => ready(options),
    "/openapi.json": () => Promise.resolve(page(openApi, "application/json")),
    "/docs": () => Promise.resolve(page(options.docsPage, "text/html; charset=utf-8")),
  };
  const answer = async (path: string, request: Request): Promise<Response> => {
    const openPage = request.method === "GET" ? openPaths.find((one) => one === path) : undefined;
    return (
      (openPage ? await open[openPage]() : undefined) ??
      (await options.admin(request)) ??
      (await options.mcp(request)) ??
      (await options.service(request))
    );
  };
  return (request) =>
    withRequestScope(async (scope) => {
      const started = performance.now();
      const requestId = requestIdOf(request.headers.get("x-request-id"));
      const path = new URL(request.url).pathname;
      const response = await answer(path, request).catch((error: unknown) => {
        options.log.error({ requestId, ...bugFacts(error) }, "request failed");
        return failure(requestId);
      });
      if (!response.headers.has("x-request-id")) response.headers.set("x-request-id", requestId);
      for (const [name, value] of scope.headers) response.headers.set(name, value);
      const route = options.paths.has(path) ? path : "other";
      const ms = performance.now() - started;
      options.metrics.request(route, response.status, ms / 1000);
      options.log.info(requestFacts(request, route, response, scope, ms), "request");
      return response;
    });
}

function requestFacts(
  { method }: Request,
  route: string,
  { status, headers }: Response,
  scope: RequestScope,
  took: number,
): object {
  const ms = Math.round(took * 1000) / 1000;
  return { requestId: headers.get("x-request-id") ?? undefined, ...scope.facts, method, route, status, ms };
}

async function ready({ checkReady, log }: AppOptions): Promise<Response> {
  try {
    await checkReady();
    return page('{"status":"ready"}', "application/json");
  } catch (error) {
    log.warn(errorFacts(error), "not ready: the database takes no writes");
    return page('{"status":"unavailable"}', "application/json", 503);
  }
}

/** For a bug that no part of the host caught: the caller gets an answer all the same. */
function failure(requestId: string): Response {
  const error = { code: "internal_error", message: errorCodes.internal_error.meaning, requestId };
  return page(JSON.stringify({ error }), "application/json", 500);
}

function page(body: string, contentType: string, status = 200): Response {
  return new Response(body, { status, headers: { "content-type": contentType, "cache-control": "no-store" } });
}
