import { check, describeIssues, errorCodes } from "turnpike/contracts";
import { readBody, requestIdOf, ServiceHttpError } from "turnpike/http";
import { isOutage } from "../../storage/index.ts";
import { requireOperator, type OperatorPorts } from "./require-operator.ts";
import { type AdminRoute, type AdminRouteName, adminRoutes } from "../../management/index.ts";
import { auditOperations } from "./audit-operations.ts";
import { credentialOperations } from "./credential-operations.ts";
import type { AdminOperations, AdminServices } from "./desk.ts";
import { escalationOperations } from "./escalation-operations.ts";
import { explainOperations } from "./explain-operations.ts";
import { grantOperations } from "./grant-operations.ts";
import { namespaceOperations } from "./namespace-operations.ts";
import type { Operator } from "../../access/index.ts";

/** What the handler needs besides the desk. */
export interface AdminPorts extends OperatorPorts {
  /** Gets every error that is not an operator's own mistake. */
  onError(error: unknown, requestId: string): void;
  /** Further pages that only operators may read, by path. */
  pages?: Readonly<Record<string, () => Promise<Response>>>;
}

const unavailable = new ServiceHttpError(503, "authority_unavailable", "The stores cannot be reached right now.");
const failed = new ServiceHttpError(500, "internal_error", errorCodes.internal_error.meaning);

/** Answers operators; undefined for paths that are not theirs. Only an operator's credential is let in. */
export function createAdminHandler(
  desk: AdminServices,
  ports: AdminPorts,
): (request: Request) => Promise<Response | undefined> {
  const { pages = {} } = ports;
  const operations: AdminOperations = {
    ...credentialOperations(desk),
    ...grantOperations(desk),
    ...escalationOperations(desk),
    ...auditOperations(desk),
    ...explainOperations(desk),
    ...namespaceOperations(desk),
  };
  return async (request) => {
    const url = new URL(request.url);
    const openPage = pages[url.pathname];
    if (openPage === undefined && !url.pathname.startsWith("/admin/")) return undefined;
    const requestId = requestIdOf(request.headers.get("x-request-id"));
    try {
      const operator = await requireOperator(ports, request.headers, requestId);
      if (openPage !== undefined) return await answerPage(openPage, request.method);
      const name = findRoute(url.pathname, request.method);
      const route: AdminRoute = adminRoutes[name];
      const input = await readInput(route, request, url.searchParams);
      // The input was read by the schema of this very row.
      const operation = operations[name] as (input: unknown, operator: Operator) => Promise<unknown>;
      return reply(route.status ?? 200, await operation(input, operator), requestId);
    } catch (error) {
      const { status, code, message, headers } = toHttpError(error);
      if (status >= 500) ports.onError(error, requestId);
      return reply(status, { error: { code, message, requestId } }, requestId, headers);
    }
  };
}

/** An outage passes and a bug does not: only the first one is worth another try. */
function toHttpError(error: unknown): ServiceHttpError {
  if (error instanceof ServiceHttpError) return error;
  return isOutage(error) ? unavailable : failed;
}

function findRoute(path: string, method: string): AdminRouteName {
  const rows = Object.entries<AdminRoute>(adminRoutes).filter(([, route]) => route.path === path);
  if (rows.length === 0) throw new ServiceHttpError(404, "not_found", "There is nothing at this path.");
  const found = rows.find(([, route]) => route.method === method);
  if (found === undefined) throw methodNotAllowed(rows.map(([, route]) => route.method));
  return found[0] as AdminRouteName;
}

function methodNotAllowed(methods: readonly string[]): ServiceHttpError {
  const allow = methods.toSorted().join(", ");
  return new ServiceHttpError(405, "method_not_allowed", `This path knows ${allow}.`, { headers: { allow } });
}

async function answerPage(open: () => Promise<Response>, method: string): Promise<Response> {
  if (method !== "GET") throw methodNotAllowed(["GET"]);
  return open();
}

const onceOnly = { code: "custom", message: "expected one value", input: undefined } as const;

async function readInput(route: AdminRoute, request: Request, query: URLSearchParams): Promise<unknown> {
  if (route.request !== undefined) return readBody(request, route.request);
  const repeated = [...query.keys()].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) throw refuse(describeIssues([{ ...onceOnly, path: [repeated] }]));
  const checked = route.query && check(route.query, Object.fromEntries(query));
  if (checked?.ok === false) throw refuse(checked.message);
  return checked?.value;
}

function refuse(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}

function reply(
  status: number,
  body: unknown,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const common = { "content-type": "application/json", "cache-control": "no-store", "x-request-id": requestId };
  return new Response(JSON.stringify(body), { status, headers: { ...headers, ...common } });
}
