import { describeIssues } from "turnpike/contracts";
import { jsonReply, pathParameters, readBody, ServiceHttpError } from "turnpike/http";
import { requireOperator, type Operator, type OperatorPorts } from "../../access/index.ts";
import type { IncomingRequest, Protocol, ProtocolRoute } from "../../front/index.ts";
import { type AdminRoute, type AdminRouteName, adminRoutes, type RouteAccess } from "../../management/index.ts";
import { auditOperations } from "./audit-operations.ts";
import { credentialOperations } from "./credential-operations.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";
import { escalationOperations } from "./escalation-operations.ts";
import { explainOperations } from "./explain-operations.ts";
import { grantOperations } from "./grant-operations.ts";
import { mcpOperations } from "./mcp-operations.ts";
import { namespaceOperations } from "./namespace-operations.ts";
import { inputWithin, requireRole } from "./operator-access.ts";
import { requireLivingTenant, tenantOperations } from "./tenant-operations.ts";
import { turnOperations } from "./turn-operations.ts";

/**
 * The management API, and further pages about the whole host. Only an operator's credential is let in, and only to what its
 * role and its tenant allow.
 */
export function adminProtocol(
  services: AdminServices,
  ports: OperatorPorts,
  pages: readonly ProtocolRoute<Operator>[] = [],
): Protocol<Operator> {
  const operations: AdminOperations = {
    ...credentialOperations(services),
    ...grantOperations(services),
    ...escalationOperations(services),
    ...turnOperations(services),
    ...auditOperations(services),
    ...explainOperations(services),
    ...namespaceOperations(services),
    ...tenantOperations(services),
    ...mcpOperations(services),
  };
  const rows = Object.entries<AdminRoute>(adminRoutes).map(([name, route]): ProtocolRoute<Operator> => {
    // The input was parsed with the schema of this very row.
    const operation = operations[name as AdminRouteName] as (input: unknown, operator: Operator) => Promise<unknown>;
    const { method, path, status = 200 } = route;
    return {
      method,
      path,
      async answer(incoming, operator) {
        requireRole(route, operator);
        const input = inputWithin(route, operator, await readInput(route, incoming));
        await requireLivingTenant(services, name as AdminRouteName, input);
        return jsonReply(await operation(input, operator), status);
      },
    };
  });
  const pageRows = pages.map((page): ProtocolRoute<Operator> => ({
    ...page,
    async answer(incoming, operator) {
      requireRole(pageAccess, operator);
      return page.answer(incoming, operator);
    },
  }));
  const pagePaths = new Set(pages.map(({ path }) => path));
  return {
    owns: (path) => path.startsWith("/admin/") || pagePaths.has(path),
    admit: ({ request, record }) => requireOperator(ports, request.headers, record),
    routes: [...rows, ...pageRows],
  };
}

/** What a page tells is about the whole host. */
const pageAccess: RouteAccess = { roles: ["admin", "auditor"], about: "host" };

const onceOnly = { code: "custom", message: "expected one value", input: undefined } as const;

async function readInput(route: AdminRoute, incoming: IncomingRequest): Promise<unknown> {
  if (route.request === undefined) return readQuery(route, incoming);
  const body = await readBody(incoming.request.body, route.request);
  return route.query === undefined ? body : { ...(body as object), ...readQuery(route, incoming) };
}

function readQuery(route: AdminRoute, { request, path }: IncomingRequest): object | undefined {
  const query = new URLSearchParams(queryOf(request.target));
  for (const [name, value] of Object.entries(pathParameters(route.path, path) ?? {})) query.append(name, value);
  const repeated = [...query.keys()].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) throw refuse(describeIssues([{ ...onceOnly, path: [repeated] }]));
  const checked = route.query?.safeParse(Object.fromEntries(query));
  if (checked?.success === false) throw refuse(describeIssues(checked.error.issues));
  return checked?.data;
}

function queryOf(target: string): string {
  const start = target.indexOf("?");
  return start === -1 ? "" : target.slice(start + 1);
}

function refuse(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
