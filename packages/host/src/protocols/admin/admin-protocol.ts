import { describeIssues } from "turnpike/contracts";
import { jsonReply, pathParameters, readBody, type Reply, ServiceHttpError } from "turnpike/http";
import { requireOperator, type AdmittedOperator, type OperatorPorts } from "../../access/index.ts";
import type { ReportScheduler } from "../../shared/index.ts";
import { type IncomingRequest, type Protocol, type ProtocolRoute, queryOf } from "../../front/index.ts";
import {
  type AdminCallName,
  type AdminFileName,
  type AdminRoute,
  type AdminRouteName,
  adminRoutes,
  type AdminStreamName,
  type RouteAccess,
} from "../../admin-contract/index.ts";
import { applyOperations } from "./apply-operations.ts";
import { auditOperations } from "./audit-operations.ts";
import { backupFiles } from "./backup-operations.ts";
import { credentialOperations } from "./credential-operations.ts";
import { databaseOperations } from "./database-operations.ts";
import type { AdminFiles, AdminOperations, AdminServices, AdminStreams, StreamRequest } from "./admin-services.ts";
import { eventStreams } from "./event-operations.ts";
import { escalationOperations } from "./escalation-operations.ts";
import { explainOperations } from "./explain-operations.ts";
import { grantOperations } from "./grant-operations.ts";
import { mcpOperations } from "./mcp-operations.ts";
import { nameOperations } from "./name-operations.ts";
import { namespaceOperations } from "./namespace-operations.ts";
import { inputWithin, requireRole } from "./operator-access.ts";
import { overviewOperations } from "./overview-operations.ts";
import { connectionOperations } from "./connection-operations.ts";
import { personOperations } from "./person-operations.ts";
import { createSessionRoute, sessionOperations } from "./session-operations.ts";
import { searchOperations } from "./search-operations.ts";
import { everOperations } from "./ever-operations.ts";
import { invariantOperations } from "./invariant-operations.ts";
import { reachOperations } from "./reach-operations.ts";
import { previewOperations } from "./preview-operations.ts";
import { requireLivingTenant, requireTenantOfAgents, tenantOperations } from "./tenant-operations.ts";
import { trialOperations } from "./trial-operations.ts";
import { turnOperations } from "./turn-operations.ts";
import { webhookOperations } from "./webhook-operations.ts";

/**
 * The management API, and further pages about the whole host. Only an operator's credential is admitted, and only to what its
 * role and its tenant allow.
 */
export function adminProtocol(
  services: AdminServices,
  ports: OperatorPorts,
  pages: readonly ProtocolRoute<AdmittedOperator>[] = [],
): Protocol<AdmittedOperator> {
  const operations: Operations = {
    ...credentialOperations(services),
    ...grantOperations(services),
    ...applyOperations(services),
    ...escalationOperations(services),
    ...turnOperations(services),
    ...auditOperations(services),
    ...explainOperations(services),
    ...namespaceOperations(services),
    ...nameOperations(services),
    ...tenantOperations(services),
    ...mcpOperations(services),
    ...sessionOperations(services, ports),
    ...overviewOperations(services),
    ...reachOperations(services),
    ...everOperations(services),
    ...invariantOperations(services),
    ...searchOperations(services),
    ...previewOperations(services),
    ...trialOperations(services),
    ...webhookOperations(services),
    ...personOperations(services),
    ...connectionOperations(services),
    ...databaseOperations(services),
  };
  const streams: AdminStreams = eventStreams(services);
  const files: AdminFiles = backupFiles(services);
  const routes = Object.entries<AdminRoute>(adminRoutes).filter(([, { isOpen }]) => isOpen !== true);
  const rows = routes.map(([name, route]): ProtocolRoute<AdmittedOperator> => {
    const reply =
      route.isStream === true
        ? streamAnswer(streams, name)
        : route.isFile === true
          ? fileAnswer(files, name)
          : asReport(services.reports, route, jsonAnswer(operations, name, route));
    return {
      method: route.method,
      path: route.path,
      mayStream: () => route.isStream === true,
      async answer(incoming, operator) {
        requireRole(route, operator);
        const input = inputWithin(route, operator, await readInput(route, incoming));
        requireTenantOfAgents(name as AdminRouteName, input);
        await requireLivingTenant(services, name as AdminRouteName, input);
        return reply(input, operator, incoming);
      },
    };
  });
  const pageRows = pages.map((page): ProtocolRoute<AdmittedOperator> => ({
    ...page,
    async answer(incoming, operator) {
      requireRole(pageAccess, operator);
      return page.answer(incoming, operator);
    },
  }));
  const pagePaths = new Set(pages.map(({ path }) => path));
  return {
    owns: (path) => path.startsWith("/admin/") || pagePaths.has(path),
    admit: ({ request, record }) => requireOperator(ports, request, record),
    openRoutes: [createSessionRoute(services, ports)],
    routes: [...rows, ...pageRows],
  };
}

/** Creating a session is not among them, because the sender is no operator yet. */
type Operations = AdminOperations<Exclude<AdminCallName, "createSession">>;

type Answer = (input: unknown, operator: AdmittedOperator, incoming: IncomingRequest) => Promise<Reply>;

// The input was parsed with the schema of this very row.
function jsonAnswer(operations: Operations, name: string, { status }: AdminRoute): Answer {
  const operation = operations[name as keyof Operations] as (...args: Parameters<Answer>) => Promise<unknown>;
  return async (...args) => jsonReply(await operation(...args), status);
}

/** The same answer, run by the report scheduler when it is a report. */
function asReport(reports: ReportScheduler, { isReport }: AdminRoute, answer: Answer): Answer {
  if (isReport === undefined) return answer;
  return (input, operator, incoming) => {
    const given = input as Readonly<Record<string, unknown>>;
    const isGiven = (name: string): boolean => given[name] !== undefined && given[name] !== false;
    if (isReport !== true && !isReport.some((names) => [names].flat().every(isGiven)))
      return answer(input, operator, incoming);
    const owner = { operator: operator.id, tenant: operator.tenant };
    return reports.run(owner, incoming.request.signal, () => answer(input, operator, incoming));
  };
}

function streamAnswer(streams: AdminStreams, name: string): Answer {
  const open = streams[name as AdminStreamName] as (
    input: unknown,
    operator: AdmittedOperator,
    request: StreamRequest,
  ) => Promise<ReadableStream<Uint8Array>>;
  return async (input, operator, { request: { headers, signal }, record: { caller } }) => {
    const lastEventId = headers.get("last-event-id") || undefined;
    const isStillAdmitted = async (): Promise<boolean> => (await caller?.isStillAdmitted(new Date())) === true;
    const body = await open(input, operator, { lastEventId, isStillAdmitted, signal });
    return { status: 200, headers: { "content-type": "text/event-stream" }, body };
  };
}

function fileAnswer(files: AdminFiles, name: string): Answer {
  return async (_input, operator) => {
    const { bytes, body } = await files[name as AdminFileName]({}, operator);
    const headers = { "content-type": "application/vnd.sqlite3", "content-length": String(bytes) };
    return { status: 200, headers, body };
  };
}

/** Pages are about the whole host. */
const pageAccess: RouteAccess = { roles: ["admin", "auditor"], about: "host" };

const onceOnly = { code: "custom", message: "expected one value", input: undefined } as const;

async function readInput(route: AdminRoute, incoming: IncomingRequest): Promise<unknown> {
  if (route.request === undefined) return readQuery(route, incoming);
  const body = await readBody(incoming.request.body, route.request);
  return route.query === undefined ? body : { ...(body as object), ...readQuery(route, incoming) };
}

function readQuery(route: AdminRoute, { request, path }: IncomingRequest): object | undefined {
  const query = queryOf(request.target);
  for (const [name, value] of Object.entries(pathParameters(route.path, path) ?? {})) query.append(name, value);
  const repeated = [...query.keys()].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) throw refuse(describeIssues([{ ...onceOnly, path: [repeated] }]));
  const checked = route.query?.safeParse(Object.fromEntries(query));
  if (checked?.success === false) throw refuse(describeIssues(checked.error.issues));
  return checked?.data;
}

function refuse(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
