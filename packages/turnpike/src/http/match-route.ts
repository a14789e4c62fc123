import { routes, type RouteName } from "../contracts/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const byPath = new Map<string, Map<string, RouteName>>();
for (const name of Object.keys(routes) as RouteName[]) {
  const { method, path } = routes[name];
  const verbs = byPath.get(path) ?? new Map<string, RouteName>();
  byPath.set(path, verbs.set(method, name));
}
byPath.get("/health")?.set("HEAD", "health");

/** The route of this verb and path, byte for byte; throws 404 or 405. */
export function matchRoute(method: string, path: string): RouteName {
  const verbs = byPath.get(path);
  if (verbs === undefined) throw new ServiceHttpError(404, "not_found", "There is nothing at this path.");
  const name = verbs.get(method);
  if (name !== undefined) return name;
  const allow = [...verbs.keys()].join(", ");
  throw new ServiceHttpError(405, "method_not_allowed", `This path knows ${allow}.`, { headers: { allow } });
}

/** True for the one route that anybody may ask. */
export function isHealthCheck(method: string, path: string): boolean {
  return path === "/health" && (method === "GET" || method === "HEAD");
}

/** The path of a request's URL, without its query. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const path = start === -1 ? "/" : url.slice(start);
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
