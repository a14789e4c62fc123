import { expect, test } from "vitest";
import { operationOf, type Answer, type OpenApi } from "../../test/openapi.ts";
import { errorCodes, routes, type CodeEntry, type RouteName } from "../contracts/index.ts";
import { openApiDocument } from "./openapi.ts";
import { schemaRef } from "./openapi-schemas.ts";

const document = openApiDocument() as OpenApi;

/** The row `<verb> <path>: <operation>, <schema of the body> -> <statuses>` of every operation. */
function rowsOf({ paths }: OpenApi): string[] {
  return Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { operationId, requestBody, responses }]) => {
      const body = requestBody?.content["application/json"]?.schema.$ref?.split("/").at(-1) ?? "nothing";
      return `${verb} ${path}: ${operationId}, ${body} -> ${Object.keys(responses).join(" ")}`;
    }),
  );
}

/** Changes every object in a document to its last leaf. */
function spoil(part: object): void {
  for (const inner of Object.values(part)) if (typeof inner === "object" && inner !== null) spoil(inner);
  Object.assign(part, { isSpoiled: true });
}

/** The codes that an error response names, in order. */
function codesOf({ description }: Answer): string[] {
  return [...description.matchAll(/^- `(\w+)`: /gm)].map(([, code = ""]) => code);
}

test("the document has every route with its body and its statuses", () => {
  expect(rowsOf(document)).toEqual([
    "get /health: health, nothing -> 200 405",
    "head /health: healthHead, nothing -> 200 405",
    "post /v1/authorize: authorize, AuthorizeRequest -> 200 400 403 405 499 500",
    "get /v1/reach: reach, nothing -> 200 403 405 499 500",
    "get /v1/tools: listTools, nothing -> 200 403 405 499 500 503",
    "get /v1/tools/namespaces: listToolNamespaces, nothing -> 200 403 405 499 500 503",
    "put /v1/tools/namespaces: updateToolNamespaces, NamespaceUpdate -> 200 400 403 405 499 500 501 503",
    "post /v1/tools/invoke: invokeTool, ToolCall -> 200 400 403 405 499 500",
    "post /v1/resources/invoke: invokeResource, ResourceOperationRequest -> 200 400 403 405 499 500",
    "post /v1/messages: sendMessage, MessageEnvelope -> 200 202 400 403 405 499 500",
    "post /v1/turns: executeTurn, TurnRequest -> 200 202 400 403 405 409 499 500",
    "get /v1/turns: listTurns, nothing -> 200 400 403 405 499 500",
    "get /v1/turns/{executionId}: getTurn, nothing -> 200 403 404 405 499 500",
    "get /v1/turns/{executionId}/events: listTurnEvents, nothing -> 200 400 403 404 405 499 500",
    "post /v1/turns/{executionId}/cancel: cancelTurn, nothing -> 200 202 403 404 405 499 500",
    "post /v1/acts: beginAct, ActRequest -> 200 202 400 403 405 409 499 500",
    "post /v1/acts/{id}/outcome: finishAct, ActOutcome -> 200 400 403 404 405 409 499 500",
    "get /v1/acts/{id}: getAct, nothing -> 200 400 403 404 405 499 500",
  ]);
});

test("the document names the shape of every answer", () => {
  const shapes = Object.keys(routes).map((name) => [
    name,
    operationOf(document, name as RouteName)
      .responses["200"]?.content?.["application/json"]?.schema.$ref?.split("/")
      .at(-1),
  ]);
  expect(Object.fromEntries(shapes)).toEqual({
    health: "Health",
    authorize: "AuthorizationDecision",
    reach: "ReachAnswer",
    listTools: "ToolCatalog",
    listToolNamespaces: "NamespaceCatalog",
    updateToolNamespaces: "NamespaceCatalog",
    invokeTool: "ToolResult",
    invokeResource: "ResourceResult",
    sendMessage: "MessageResult",
    executeTurn: "TurnAnswer",
    listTurns: "TurnList",
    getTurn: "TurnState",
    listTurnEvents: "TurnEventList",
    cancelTurn: "TurnState",
    beginAct: "ActState",
    finishAct: "ActState",
    getAct: "ActState",
  });
  const { 202: started } = operationOf(document, "executeTurn").responses;
  const refs = [{ $ref: "#/components/schemas/TurnResult" }, { $ref: "#/components/schemas/TurnState" }];
  expect(document.components["schemas"]?.["TurnAnswer"]).toMatchObject({ anyOf: refs });
  expect(started?.content?.["application/json"]?.schema).toEqual(refs[1]);
});

test("the document describes every operation and every shape in words", () => {
  const operations = Object.values(document.paths).flatMap((verbs) => Object.values(verbs));
  const tags = document.tags.map(({ name }) => name);
  for (const { summary, description, tags: own } of operations) {
    expect(summary).not.toBe("");
    expect(description).toMatch(/\.$/);
    expect(tags).toEqual(expect.arrayContaining(own));
  }
  const silent = Object.entries(document.components["schemas"] ?? {}).filter(([, schema]) => !schema.description);
  expect(silent.map(([name]) => name)).toEqual([]);
});

test("the document names every variant of a union, and what tells them apart", () => {
  const { ToolResult, PrincipalRef } = document.components["schemas"] ?? {};
  const named = (...names: string[]): { $ref: string }[] =>
    names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  expect(ToolResult).toMatchObject({
    oneOf: named("ToolResultSucceeded", "ToolResultDenied", "ToolResultFailed"),
    discriminator: { propertyName: "status", mapping: { denied: "#/components/schemas/ToolResultDenied" } },
  });
  expect(PrincipalRef).toMatchObject({
    oneOf: named("PrincipalRefHuman", "AgentRef", "PrincipalRefGroup", "PrincipalRefService"),
  });
});

test("the document says of JSON what any of it may be, in words that generators understand", () => {
  const { JsonObject, JsonValue, Version } = document.components["schemas"] ?? {};
  expect(JsonObject).toMatchObject({ type: "object", additionalProperties: true });
  const scalars = ["string", "number", "boolean", "null"].map((type) => ({ type }));
  const object = { $ref: "#/components/schemas/JsonObject" };
  expect(JsonValue).toMatchObject({ anyOf: [...scalars, { type: "array" }, object] });
  // As entries of an enum, both would have one name in a client.
  expect(Version).toMatchObject({ anyOf: [{ const: 1 }, { const: "1" }] });
});

test("the document holds no shape of what stays inside", () => {
  const inside = new Set(["AccessContext", "DiscoveryContext", "Grant", "AuditEvent", "ResourceOperation"]);
  expect(Object.keys(document.components["schemas"] ?? {}).filter((name) => inside.has(name))).toEqual([]);
});

test("the document says of every response that it is not cached and which request it answers", () => {
  const headers = {
    "x-request-id": { $ref: "#/components/headers/RequestId" },
    "cache-control": { $ref: "#/components/headers/CacheControl" },
  };
  const answers = Object.values(document.paths)
    .flatMap((verbs) => Object.values(verbs))
    .flatMap(({ responses }) => Object.values(responses))
    .filter(({ $ref }) => $ref === undefined);
  for (const answer of [...answers, ...Object.values(document.components.responses)]) {
    expect(answer.headers).toMatchObject(headers);
  }
  expect(document.components.responses["MethodNotAllowed"]?.headers).toHaveProperty("allow");
});

test("the document names each code of request-level errors, under its own status and with its meaning", () => {
  const seen = new Set<string>();
  for (const { responses } of Object.values(document.paths).flatMap((verbs) => Object.values(verbs))) {
    for (const [status, { $ref = "" }] of Object.entries(responses)) {
      const answer = document.components.responses[$ref.split("/").at(-1) ?? ""];
      for (const code of answer === undefined ? [] : codesOf(answer)) {
        seen.add(code);
        const { status: own, meaning } = (errorCodes as Record<string, CodeEntry>)[code] ?? {};
        expect(String(own)).toBe(status);
        expect(answer?.description).toContain(`\`${code}\`: ${meaning}`);
      }
    }
  }
  const http = Object.entries<CodeEntry>(errorCodes).filter(([, { families }]) => families.includes("http"));
  expect([...seen].toSorted()).toEqual(http.map(([code]) => code).toSorted());
});

test("the document leaves title, version, servers and security to the host, and leaves /health open", () => {
  expect(document).toMatchObject({
    openapi: "3.1.0",
    info: { title: "Turnpike", version: "1" },
    servers: [{ url: "/" }],
  });
  expect(document).not.toHaveProperty("security");
  const security = [{ bearer: [] }];
  const securitySchemes = { bearer: { type: "http", scheme: "bearer" } };
  const servers = [{ url: "https://turnpike.test", description: "Ours." }];
  const hosted = openApiDocument({ title: "Gate", version: "7", servers, securitySchemes, security }) as OpenApi;
  expect(hosted).toMatchObject({
    info: { title: "Gate", version: "7" },
    servers,
    security,
    components: { securitySchemes },
  });
  expect(hosted.paths["/health"]?.["get"]?.security).toEqual([]);
  expect(hosted.paths["/v1/tools"]?.["get"]).not.toHaveProperty("security");
});

test("the document is the same each time and belongs to its caller", () => {
  spoil(openApiDocument());
  expect(JSON.stringify(openApiDocument())).toBe(JSON.stringify(document));
});

test("the document is the recorded one", async () => {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(
    "../../../../tests/architecture/__snapshots__/openapi.json",
  );
});

test("a schema that the contracts do not export cannot be referred to", () => {
  const { response } = routes.health;
  expect(schemaRef(response)).toEqual({ $ref: "#/components/schemas/Health" });
  expect(() => schemaRef(response.clone())).toThrow("A route uses a schema that the contracts do not export.");
});
