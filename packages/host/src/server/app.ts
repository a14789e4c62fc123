import { performance } from "node:perf_hooks";
import { routes } from "turnpike/contracts";
import { adminPaths } from "../admin/admin-handler.ts";
import type { Log } from "../log.ts";
import { withRequestScope, type RequestScope } from "./request-scope.ts";

/** What the host serves besides the service itself. Nobody has to log in for these. */
export interface AppOptions {
  service(request: Request): Promise<Response>;
  /** Answers operators; undefined for what is not theirs. */
  admin(request: Request): Promise<Response | undefined>;
  /** Rejects when the database cannot be reached. */
  checkReady(): Promise<void>;
  openApi: object;
  docsPage: string;
  log: Log;
}

/** One Fetch handler for everything, with a line in the log for each request. */
export function createApp(options: AppOptions): (request: Request) => Promise<Response> {
  const openApi = JSON.stringify(options.openApi);
  const open: Record<string, () => Promise<Response>> = {
    "/ready": () => ready(options),
    "/openapi.json": () => Promise.resolve(page(openApi, "application/json")),
    "/docs": () => Promise.resolve(page(options.docsPage, "text/html; charset=utf-8")),
  };
  const known = new Set([
    ...Object.keys(open),
    ...Object.values(adminPaths),
    ...Object.values(routes).map(({ path }) => path),
  ]);

  return (request) =>
    withRequestScope(async (scope) => {
      const started = performance.now();
      const path = new URL(request.url).pathname;
      const isOpen = request.method === "GET" && open[path] !== undefined;
      const response =
        (isOpen ? await open[path]?.() : await options.admin(request)) ?? (await options.service(request));
      for (const [name, value] of scope.headers) response.headers.set(name, value);
      options.log.info(requestFacts(request, known.has(path) ? path : "other", response, scope, started), "request");
      return response;
    });
}

function requestFacts(
  { method }: Request,
  route: string,
  { status, headers }: Response,
  scope: RequestScope,
  started: number,
): object {
  const ms = Math.round((performance.now() - started) * 1000) / 1000;
  return { requestId: headers.get("x-request-id") ?? undefined, ...scope.facts, method, route, status, ms };
}

async function ready({ checkReady, log }: AppOptions): Promise<Response> {
  try {
    await checkReady();
    return page('{"status":"ready"}', "application/json");
  } catch {
    log.warn({}, "not ready: the database did not answer");
    return page('{"status":"unavailable"}', "application/json", 503);
  }
}

function page(body: string, contentType: string, status = 200): Response {
  return new Response(body, { status, headers: { "content-type": contentType, "cache-control": "no-store" } });
}
