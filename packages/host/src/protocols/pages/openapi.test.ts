import { describe, expect, test } from "vitest";
import { openApiDocument } from "turnpike/http";
import { operationOf, type OpenApi } from "../../../../turnpike/test/openapi.ts";
import { hostOpenApi, withAdminRoutes } from "./openapi.ts";
import { adminRoutes, type AdminRoute } from "../../management/admin-routes.ts";

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
    "post /admin/v1/credentials/revoke: revokeCredential, RevokeCredentialBody -> 200 RevokeCredentialAnswer",
    "post /admin/v1/credentials/rotate: rotateCredential, RotateCredentialBody -> 200 RotateCredentialAnswer",
    "post /admin/v1/grants: createGrant, Grant -> 201 Grant",
    "get /admin/v1/grants: listGrants, nothing -> 200 ListGrantsAnswer",
    "post /admin/v1/grants/derive: deriveGrant, DeriveGrantBody -> 201 Grant",
    "post /admin/v1/grants/revoke: revokeGrant, RevokeGrantBody -> 200 RevokeGrantAnswer",
    "get /admin/v1/escalations: listEscalations, nothing -> 200 ListEscalationsAnswer",
    "get /admin/v1/escalations/{namespaceId}/{id}: showEscalation, nothing -> 200 ShowEscalationAnswer",
    "post /admin/v1/escalations/approve: approveEscalation, ApproveEscalationBody -> 200 ApproveEscalationAnswer",
    "post /admin/v1/escalations/deny: denyEscalation, DenyEscalationBody -> 200 DenyEscalationAnswer",
    "get /admin/v1/turns: listAllTurns, nothing -> 200 ListAllTurnsAnswer",
    "get /admin/v1/turns/{namespaceId}/{executionId}: inspectTurn, nothing -> 200 InspectTurnAnswer",
    "post /admin/v1/turns/{namespaceId}/{executionId}/cancel: cancelAnyTurn, nothing -> 200 CancelAnyTurnAnswer",
    "get /admin/v1/audit: listAudit, nothing -> 200 ListAuditAnswer",
    "get /admin/v1/audit/verify: verifyAudit, nothing -> 200 VerifyAuditAnswer",
    "post /admin/v1/audit/verify: verifyAuditHeads, VerifyAuditHeadsBody -> 200 VerifyAuditHeadsAnswer",
    "post /admin/v1/audit/export: exportAudit, ExportAuditBody -> 200 ExportAuditAnswer",
    "get /admin/v1/audit/checkpoints: readCheckpoints, nothing -> 200 ReadCheckpointsAnswer",
    "get /admin/v1/audit/key: readAuditKey, nothing -> 200 ReadAuditKeyAnswer",
    "post /admin/v1/tenants/delete: deleteTenant, DeleteTenantBody -> 200 DeleteTenantAnswer",
    "post /admin/v1/explanations: explain, ExplainBody -> 200 ExplainAnswer",
    "post /admin/v1/explanations/denial: explainDenial, ExplainDenialBody -> 200 ExplainDenialAnswer",
    "get /admin/v1/namespaces: readNamespaces, nothing -> 200 ReadNamespacesAnswer",
    "post /admin/v1/namespaces: changeNamespaces, ChangeNamespacesBody -> 200 ChangeNamespacesAnswer",
    "get /admin/v1/mcp/servers: listMcpServers, nothing -> 200 ListMcpServersAnswer",
    "get /admin/v1/mcp/servers/{server}/review: reviewMcpServer, nothing -> 200 ReviewMcpServerAnswer",
    "post /admin/v1/mcp/servers/{server}/accept: acceptMcpTools, AcceptMcpToolsBody -> 200 AcceptMcpToolsAnswer",
  ]);
});

describe("each operation", () => {
  for (const name of names) {
    const { path, summary, query, request }: AdminRoute = adminRoutes[name as keyof typeof adminRoutes];

    test(`${name} is the operators', in words, behind a credential, and with its errors`, () => {
      const operation = operationOf(document, name);
      expect([operation.summary, operation.tags]).toEqual([summary, ["operators"]]);
      expect(operation).not.toHaveProperty("security");
      const codes = Object.keys(operation.responses).slice(1);
      expect(codes).toEqual(["4XX", "5XX"]);
      for (const code of codes)
        expect(refName(operation.responses[code]?.content?.["application/json"]?.schema)).toBe("RequestError");
      for (const answer of Object.values(operation.responses)) {
        expect(Object.keys(answer.headers).toSorted()).toEqual(["cache-control", "x-request-id"]);
      }
    });

    test(`${name} takes what its row in the table takes`, () => {
      const { parameters = [], requestBody } = operationOf(document, name) as unknown as {
        parameters?: { name: string; in: string; required: boolean; schema: object }[];
        requestBody?: { required: boolean };
      };
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
        expect(parameter).toMatchObject({ in: place, schema: { type: expect.any(String) } });
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

test("the service's own part is what the service says of itself", () => {
  const service = openApiDocument() as OpenApi;
  for (const [path, verbs] of Object.entries(service.paths)) expect(document.paths[path]).toEqual(verbs);
  expect(schemas).toMatchObject(service.components["schemas"] ?? {});
  expect(document.components.responses).toEqual(service.components.responses);
  expect(document.tags.map(({ name }) => name)).toEqual([...service.tags.map(({ name }) => name), "operators"]);
});

test("adding the routes leaves the document that they are added to as it was", () => {
  const service = openApiDocument();
  const before = JSON.stringify(service);
  expect(withAdminRoutes(service)).not.toBe(service);
  expect(JSON.stringify(service)).toBe(before);
  expect(JSON.stringify(hostOpenApi())).toBe(JSON.stringify(document));
});

test("a credential is needed for everything but the health of the service", () => {
  expect(document).toMatchObject({
    security: [{ credential: [] }],
    components: { securitySchemes: { credential: { type: "http", scheme: "bearer" } } },
  });
  const open = Object.entries(document.paths).filter(([, verbs]) =>
    Object.values(verbs).some(({ security }) => security),
  );
  expect(open.map(([path]) => path)).toEqual(["/health"]);
});
