import { describe, expect, test } from "vitest";
import { openApiDocument, type RouteRow } from "turnpike/http";
import { operationOf, type OpenApi } from "../../../../turnpike/test/openapi.ts";
import { hostOpenApi } from "./openapi.ts";
import { adminRoutes, type AdminRoute } from "../../admin-contract/index.ts";
import { adminProtocol } from "../admin/admin-protocol.ts";
import { authzenProtocol } from "../authzen/authzen-protocol.ts";
import { readEvaluation, readEvaluations } from "../authzen/evaluation-request.ts";
import { hooksProtocol } from "../hooks/hooks-protocol.ts";
import { mcpProtocol } from "../mcp/mcp-protocol.ts";
import { serviceProtocol } from "../service/service-protocol.ts";
import { metricsPage, openPages } from "./pages.ts";
import { whoamiProtocol } from "./whoami.ts";

const document = hostOpenApi() as OpenApi;
const schemas = document.components["schemas"] ?? {};
const names = Object.keys(adminRoutes);

function refName(schema: { $ref?: string } | undefined): string | undefined {
  return schema?.$ref?.split("/").at(-1);
}

/** The row `<verb> <path>: <operation>, <schema of the body> -> <statuses>` of every operation of the operators. */
function rowsOf({ paths }: OpenApi): string[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith("/admin/"))
    .flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, { operationId, requestBody, responses }]) => {
        const body = refName(requestBody?.content["application/json"]?.schema) ?? "nothing";
        const answers = Object.entries(responses).map(([status, { content }]) => {
          const stream = refName(content?.["text/event-stream"]?.schema);
          if (stream !== undefined) return `${status} events of ${stream}`;
          if (content?.["application/vnd.sqlite3"] !== undefined) return `${status} a file`;
          return `${status} ${refName(content?.["application/json"]?.schema) ?? "nothing"}`;
        });
        return `${verb} ${path}: ${operationId}, ${body} -> ${answers[0]}`;
      }),
    );
}

/** Every reference in a part of the document. */
function refsIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : refsIn(inner),
  );
}

function resolve(pointer: string): unknown {
  let part: unknown = document;
  for (const key of pointer.replace("#/", "").split("/")) part = (part as Record<string, unknown> | undefined)?.[key];
  return part;
}

for (const { path, verb, says } of [
  { path: "/admin/v1/grants", verb: "post", says: "For operators with the role admin." },
  { path: "/admin/v1/grants", verb: "get", says: "For operators with the role admin or auditor." },
  { path: "/admin/v1/escalations", verb: "get", says: "For operators with the role admin, reviewer or auditor." },
  { path: "/admin/v1/tenants/delete", verb: "post", says: "For operators with the role admin of all tenants." },
]) {
  test(`the document says who may use ${verb} ${path}`, () => {
    expect(document.paths[path]?.[verb]).toMatchObject({ description: says });
  });
}

test("the document has every route of the operators with its body, its answer and its status", () => {
  expect(rowsOf(document)).toEqual([
    "post /admin/v1/credentials: createCredential, CreateCredentialBody -> 201 CreateCredentialAnswer",
    "get /admin/v1/credentials: listCredentials, nothing -> 200 ListCredentialsAnswer",
    "get /admin/v1/credentials/{id}: showCredential, nothing -> 200 ShowCredentialAnswer",
    "post /admin/v1/credentials/revoke: revokeCredential, RevokeCredentialBody -> 200 RevokeCredentialAnswer",
    "post /admin/v1/credentials/rotate: rotateCredential, RotateCredentialBody -> 200 RotateCredentialAnswer",
    "post /admin/v1/grants: createGrant, Grant -> 201 Grant",
    "get /admin/v1/grants: listGrants, nothing -> 200 ListGrantsAnswer",
    "post /admin/v1/grants/derive: deriveGrant, DeriveGrantBody -> 201 Grant",
    "post /admin/v1/grants/revoke: revokeGrant, RevokeGrantBody -> 200 RevokeGrantAnswer",
    "post /admin/v1/grants/apply: applyGrants, ApplyGrantsBody -> 200 ApplyGrantsAnswer",
    "get /admin/v1/escalations: listEscalations, nothing -> 200 ListEscalationsAnswer",
    "get /admin/v1/escalations/{namespaceId}/{id}: showEscalation, nothing -> 200 ShowEscalationAnswer",
    "post /admin/v1/escalations/approve: approveEscalation, ApproveEscalationBody -> 200 ApproveEscalationAnswer",
    "post /admin/v1/escalations/deny: denyEscalation, DenyEscalationBody -> 200 DenyEscalationAnswer",
    "post /admin/v1/escalations/withdraw: withdrawEscalation, WithdrawEscalationBody -> 200 WithdrawEscalationAnswer",
    "get /admin/v1/turns: listAllTurns, nothing -> 200 ListAllTurnsAnswer",
    "post /admin/v1/turns: startTrialTurn, StartTrialTurnBody -> 201 OperatedTurn",
    "get /admin/v1/turns/{namespaceId}/{executionId}: inspectTurn, nothing -> 200 TurnWithEvents",
    "post /admin/v1/turns/{namespaceId}/{executionId}/cancel: cancelAnyTurn, nothing -> 200 OperatedTurn",
    "get /admin/v1/audit: listAudit, nothing -> 200 ListAuditAnswer",
    "get /admin/v1/audit/verify: verifyAudit, nothing -> 200 VerifyAuditAnswer",
    "post /admin/v1/audit/verify: verifyAuditHeads, VerifyAuditHeadsBody -> 200 VerifyAuditHeadsAnswer",
    "post /admin/v1/audit/export: exportAudit, ExportAuditBody -> 200 ExportAuditAnswer",
    "get /admin/v1/audit/checkpoints: readCheckpoints, nothing -> 200 ReadCheckpointsAnswer",
    "get /admin/v1/audit/key: readAuditKey, nothing -> 200 ReadAuditKeyAnswer",
    "post /admin/v1/tenants/delete: deleteTenant, DeleteTenantBody -> 200 DeleteTenantAnswer",
    "post /admin/v1/explanations: explain, ExplainBody -> 200 Explanation",
    "post /admin/v1/explanations/denial: explainDenial, ExplainDenialBody -> 200 Explanation",
    "get /admin/v1/namespaces: readNamespaces, nothing -> 200 NamespaceSettings",
    "post /admin/v1/namespaces: changeNamespaces, ChangeNamespacesBody -> 200 NamespaceSettings",
    "get /admin/v1/names: readNames, nothing -> 200 ReadNamesAnswer",
    "get /admin/v1/namespaces/settings: listNamespaces, nothing -> 200 ListNamespacesAnswer",
    "get /admin/v1/mcp/servers: listMcpServers, nothing -> 200 ListMcpServersAnswer",
    "get /admin/v1/mcp/servers/{server}/review: reviewMcpServer, nothing -> 200 McpReview",
    "post /admin/v1/mcp/servers/{server}/accept: acceptMcpTools, AcceptMcpToolsBody -> 200 AcceptMcpToolsAnswer",
    "post /admin/v1/sessions: createSession, CreateSessionBody -> 201 CreateSessionAnswer",
    "get /admin/v1/session: readSession, nothing -> 200 OperatorSession",
    "post /admin/v1/sessions/end: endSession, EndSessionBody -> 200 EndSessionAnswer",
    "post /admin/v1/codes: createCode, CreateCodeBody -> 201 CreateCodeAnswer",
    "get /admin/v1/people: listPeople, nothing -> 200 ListPeopleAnswer",
    "post /admin/v1/people/revoke: revokePerson, RevokePersonBody -> 200 RevokePersonAnswer",
    "post /admin/v1/people/restore: restorePerson, RestorePersonBody -> 200 RestorePersonAnswer",
    "get /admin/v1/connections: listConnections, nothing -> 200 ListConnectionsAnswer",
    "get /admin/v1/connections/show: showConnection, nothing -> 200 ShowConnectionAnswer",
    "post /admin/v1/connections/revoke: revokeConnection, RevokeConnectionBody -> 200 RevokeConnectionAnswer",
    "get /admin/v1/tenants: listTenants, nothing -> 200 ListTenantsAnswer",
    "get /admin/v1/activity: readActivity, nothing -> 200 ReadActivityAnswer",
    "get /admin/v1/hosts: listHosts, nothing -> 200 ListHostsAnswer",
    "get /admin/v1/audit/heads: readAuditHeads, nothing -> 200 ReadAuditHeadsAnswer",
    "get /admin/v1/principals: listPrincipals, nothing -> 200 ListPrincipalsAnswer",
    "get /admin/v1/reach: readReach, nothing -> 200 ReadReachAnswer",
    "post /admin/v1/reach/ever: readEverReach, ReadEverReachBody -> 200 ReadEverReachAnswer",
    "get /admin/v1/reach/resource: listReachers, nothing -> 200 ListReachersAnswer",
    "post /admin/v1/invariants: addInvariant, Invariant -> 201 AddInvariantAnswer",
    "get /admin/v1/invariants: listInvariants, nothing -> 200 ListInvariantsAnswer",
    "post /admin/v1/invariants/remove: removeInvariant, RemoveInvariantBody -> 200 RemoveInvariantAnswer",
    "post /admin/v1/invariants/check: checkInvariants, CheckInvariantsBody -> 200 CheckInvariantsAnswer",
    "post /admin/v1/grants/preview: previewGrant, PreviewGrantBody -> 200 PreviewGrantAnswer",
    "get /admin/v1/tools: listOfferedTools, nothing -> 200 ListOfferedToolsAnswer",
    "post /admin/v1/tools/try: tryTool, TryToolBody -> 200 ToolResult",
    "get /admin/v1/events: followEvents, nothing -> 200 events of LiveEvent",
    "get /admin/v1/search: search, nothing -> 200 SearchAnswer",
    "get /admin/v1/webhooks/deliveries: listDeliveries, nothing -> 200 ListDeliveriesAnswer",
    "post /admin/v1/webhooks/retry: retryDelivery, RetryDeliveryBody -> 200 RetryDeliveryAnswer",
    "post /admin/v1/backup: createBackup, CreateBackupBody -> 200 a file",
    "post /admin/v1/database/accept-loss: acceptLoss, AcceptLossBody -> 200 AcceptLossAnswer",
  ]);
});

describe("each operation", () => {
  for (const name of names) {
    const { path, summary, query, request, isStream }: AdminRoute = adminRoutes[name as keyof typeof adminRoutes];

    test(`${name} is the operators', in words, behind a credential or a session, and with its errors`, () => {
      const operation = operationOf(document, name);
      expect([operation.summary, operation.tags]).toEqual([summary, ["operators"]]);
      const either = [{ credential: [] }, { session: [], sessionPage: [] }];
      expect(operation).toMatchObject({ security: name === "createSession" ? [] : either });
      const [success, ...errors] = Object.entries(operation.responses);
      expect(errors.map(([status]) => status)).toEqual(
        expect.arrayContaining(["400", "401", "403", "429", "500", "503"]),
      );
      for (const [, { $ref = "" }] of errors)
        expect(resolve($ref)).toMatchObject({
          headers: { ratelimit: { $ref: "#/components/headers/RateLimitOnceAdmitted" } },
          content: { "application/json": { schema: { $ref: "#/components/schemas/RequestError" } } },
        });
      const own = name === "createSession" || name === "endSession" ? ["set-cookie"] : [];
      expect(Object.keys(success?.[1].headers ?? {}).toSorted()).toEqual([
        "cache-control",
        "ratelimit",
        "ratelimit-policy",
        ...own,
        "x-request-id",
      ]);
    });

    test(`${name} takes what its row in the table takes`, () => {
      const { parameters: all = [], requestBody } = operationOf(document, name) as unknown as {
        parameters?: { name: string; in: string; required: boolean; schema: object }[];
        requestBody?: { required: boolean };
      };
      const isHeader = (parameter: { in?: string }): boolean => parameter.in === "header" || "$ref" in parameter;
      const headers = all.filter(isHeader) as { name?: string; $ref?: string }[];
      // Where a stream is resumed, as browsers do by themselves.
      expect(headers.map((header) => header.name ?? refName(header))).toEqual([
        ...(isStream === true ? ["last-event-id"] : []),
        "RequestId",
      ]);
      const parameters = all.filter((parameter) => !isHeader(parameter));
      expect(parameters.map((parameter) => parameter.name)).toEqual(Object.keys(query?.shape ?? {}));
      const required = parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name);
      const isNeeded = ([, schema]: [string, { safeParse(value: unknown): { success: boolean } }]): boolean =>
        !schema.safeParse(undefined).success;
      expect(required).toEqual(
        Object.entries(query?.shape ?? {})
          .filter(isNeeded)
          .map(([key]) => key),
      );
      for (const parameter of parameters) {
        const place = path.includes(`{${parameter.name}}`) ? "path" : "query";
        expect(parameter).toMatchObject({ in: place, schema: { type: expect.any(String) as string } });
      }
      expect(requestBody?.required).toBe(request === undefined ? undefined : true);
    });
  }

  test("of a list says what its pages look like", () => {
    const { parameters } = operationOf(document, "listAudit");
    expect(parameters).toContainEqual({
      name: "limit",
      in: "query",
      required: false,
      description: "how many at most",
      schema: { type: "integer", minimum: 1, maximum: 500, default: 50 },
    });
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: "from", schema: { type: "string", maxLength: 64, format: "date-time" } }),
    );
    expect(parameters).toContainEqual(expect.objectContaining({ name: "actor", schema: { type: "string" } }));
  });
});

test("the schemas of bodies and answers are strict and refer to the contracts instead of repeating them", () => {
  expect(schemas["CreateCredentialAnswer"]).toEqual({
    type: "object",
    properties: { id: { $ref: "#/components/schemas/Identifier" }, token: { type: "string" } },
    required: ["id", "token"],
    additionalProperties: false,
  });
  expect(schemas["RevokeGrantAnswer"]).toMatchObject({
    properties: { descendants: { type: "array", items: { $ref: "#/components/schemas/Grant" } } },
    additionalProperties: false,
  });
  expect(schemas["ApproveEscalationBody"]).toMatchObject({ required: ["namespaceId", "id", "ask"] });
});

test("no reference leads nowhere, and nothing is there that nothing refers to", () => {
  const refs = new Set(refsIn(document));
  expect([...refs].filter((ref) => resolve(ref) === undefined)).toEqual([]);
  const unused = Object.keys(schemas).filter((name) => !refs.has(`#/components/schemas/${name}`));
  expect(unused).toEqual([]);
  const empty = Object.entries(schemas).filter(([, schema]) => Object.keys(schema).length === 0);
  expect(empty.map(([name]) => name)).toEqual([]);
});

/** Every operation: `<verb> <path>` and what it is. */
const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, operation]) => ({ row: `${verb} ${path}`, path, ...operation })),
);

test("the service's own part says all that the service says of itself, and what the host adds", () => {
  const service = openApiDocument() as OpenApi;
  for (const [path, verbs] of Object.entries(service.paths)) {
    for (const [verb, { responses, operationId, summary, requestBody }] of Object.entries(verbs)) {
      const hosted = document.paths[path]?.[verb];
      expect(hosted).toMatchObject({ operationId, summary });
      expect(hosted?.requestBody).toEqual(requestBody);
      expect(Object.keys(hosted?.responses ?? {})).toEqual(expect.arrayContaining(Object.keys(responses)));
    }
  }
  expect(schemas).toMatchObject(service.components["schemas"] ?? {});
});

test("every operation answers with statuses by number, and names the codes of each error", () => {
  for (const { row, responses } of operations) {
    for (const status of Object.keys(responses)) expect(`${row} ${status}`).toMatch(/ [1-5]\d\d$/);
    const errors = Object.values(responses).flatMap(({ $ref }) => $ref ?? []);
    for (const error of errors) expect(resolve(error)).toHaveProperty("x-error-codes");
  }
});

for (const { name, codes } of [
  { name: "health", codes: { 400: ["invalid_request"], 405: ["method_not_allowed"], 431: ["invalid_request"] } },
  {
    name: "invokeTool",
    codes: {
      401: ["unauthenticated"],
      403: ["permission_denied", "purpose_not_allowed"],
      409: ["replay_conflict", "replay_interrupted", "replay_pending"],
      413: ["payload_too_large"],
      429: ["rate_limited"],
      503: ["authority_unavailable", "database_went_back", "overloaded", "replay_unavailable"],
    },
  },
  {
    name: "executeTurn",
    codes: {
      403: ["permission_denied", "purpose_not_allowed", "sender_not_allowed"],
      503: ["authority_unavailable", "database_went_back", "overloaded"],
    },
  },
  { name: "evaluate", codes: { 404: ["not_found"] } },
  {
    name: "revokeGrant",
    codes: { 404: ["not_found"], 409: ["conflict"], 503: ["audit_unavailable", "authority_unavailable", "overloaded"] },
  },
  { name: "readReach", codes: { 503: ["authority_unavailable", "overloaded", "usage_store_unavailable"] } },
]) {
  test(`${name} names the codes of its errors`, () => {
    const { responses } = operationOf(document, name);
    for (const [status, expected] of Object.entries(codes))
      expect(resolve(responses[status]?.$ref ?? "")).toMatchObject({ "x-error-codes": expected });
  });
}

for (const { name, headers } of [
  { name: "health", headers: ["RequestId"] },
  { name: "invokeTool", headers: ["RequestId", "TraceId", "Traceparent", "Purpose", "Authority"] },
  { name: "executeTurn", headers: ["Prefer", "RequestId", "TraceId", "Traceparent", "Purpose", "Authority"] },
  {
    name: "listTurnEvents",
    headers: ["ExecutionId", "After", "LastEventId", "RequestId", "TraceId", "Traceparent", "Purpose", "Authority"],
  },
  { name: "evaluate", headers: ["RequestId", "TraceId", "Traceparent"] },
  { name: "metrics", headers: ["RequestId"] },
]) {
  test(`${name} understands the headers ${headers.join(", ")}`, () => {
    const { parameters } = operationOf(document, name);
    expect((parameters as { $ref?: string }[]).map((parameter) => refName(parameter))).toEqual(headers);
  });
}

test("an answer to a caller says its trace and what is left of its rate, and a stored result that it was stored", () => {
  const headersOf = (name: string): string[] =>
    Object.keys(operationOf(document, name).responses["200"]?.headers ?? {});
  expect(headersOf("authorize")).toEqual([
    "x-request-id",
    "cache-control",
    "x-trace-id",
    "ratelimit",
    "ratelimit-policy",
  ]);
  for (const name of ["invokeTool", "invokeResource", "sendMessage", "executeTurn"])
    expect(headersOf(name)).toContain("idempotency-replayed");
  expect(headersOf("listTools")).toContain("x-tools-unavailable");
  expect(headersOf("authorize")).not.toContain("x-tools-unavailable");
  expect(headersOf("ready")).toEqual(["x-request-id", "cache-control"]);
  expect(resolve(operationOf(document, "authorize").responses["401"]?.$ref ?? "")).toMatchObject({
    headers: { "www-authenticate": { $ref: "#/components/headers/WwwAuthenticate" } },
  });
  expect(resolve(operationOf(document, "authorize").responses["429"]?.$ref ?? "")).toMatchObject({
    headers: { "retry-after": { $ref: "#/components/headers/RetryAfter" } },
  });
});

test("everything that the host's protocols answer is described, and nothing else", () => {
  const withActs = { beginAct: {}, finishAct: {}, getAct: {} } as never;
  const options = { known: { tools: [], namespaces: [] }, about: {} } as never;
  const protocols = [
    adminProtocol({ stores: {}, trials: {} } as never, {} as never, [metricsPage({} as never)]),
    authzenProtocol(options),
    whoamiProtocol(options),
    hooksProtocol(options),
    mcpProtocol(options),
    serviceProtocol(withActs, {} as never, { pages: openPages({} as never), journal: {} as never }),
  ];
  const rows = protocols.flatMap(({ routes, openRoutes = [] }): RouteRow[] => [...routes, ...openRoutes]);
  const answered = rows
    // MCP itself refuses every other verb.
    .filter(({ path, method }) => path !== "/mcp" || method === "POST")
    .map(({ path, method }) => `${method.toLowerCase()} ${path}`);
  expect(operations.map(({ row }) => row).toSorted()).toEqual(answered.toSorted());
});

test("the evaluations of the document are what AuthZEN reads", () => {
  const values = (name: string): unknown[] =>
    Object.values(operationOf(document, name).requestBody?.content["application/json"]?.examples ?? {}).map(
      ({ value }) => value,
    );
  for (const value of values("evaluate")) expect(readEvaluation(value)).toMatchObject({ action: { name: "read" } });
  for (const value of values("evaluateSeveral")) expect(readEvaluations(value)).toMatchObject({ kind: "several" });
});

test("every operation has a name of its own, words, and a tag that is described", () => {
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = document.tags.map(({ name }) => name);
  for (const { summary, description, tags: own } of operations) {
    expect([summary, description]).not.toContain("");
    expect(tags).toEqual(expect.arrayContaining(own));
  }
});

test("no component has the name that generators give to a part of an operation", () => {
  const parts = ["Result", "Params", "Data", "Response", "Responses", "Error", "Errors"];
  const taken = operations.flatMap(({ operationId }) =>
    parts.map((part) => `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}${part}`),
  );
  expect(taken.filter((name) => Object.hasOwn(schemas, name))).toEqual([]);
});

test("a document belongs to its caller, and is the same each time", () => {
  (hostOpenApi() as OpenApi).paths = {};
  expect(JSON.stringify(hostOpenApi())).toBe(JSON.stringify(document));
});

test("a credential is needed for everything but what is open to every caller", () => {
  expect(document).toMatchObject({
    security: [{ credential: [] }],
    components: {
      securitySchemes: {
        credential: { type: "http", scheme: "bearer" },
        jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        session: { type: "apiKey", in: "cookie", name: "__Host-turnpike" },
      },
    },
  });
  expect(operationOf(document, "listTools").security).toEqual([{ credential: [] }, { jwt: [] }]);
  const open = operations.filter(({ security }) => JSON.stringify(security) === "[]");
  expect(open.map(({ row }) => row)).toEqual([
    "get /health",
    "head /health",
    "get /ready",
    "get /openapi.json",
    "get /.well-known/oauth-protected-resource",
    "get /.well-known/oauth-protected-resource/mcp",
    "get /.well-known/authzen-configuration",
    "post /admin/v1/sessions",
  ]);
});
