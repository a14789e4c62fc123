import { routes, TurnStateSchema, type JsonObject, type JsonValue, type RouteName } from "../contracts/index.ts";
import { codesOf, describeErrors, responseHeaders, type ErrorResponses } from "./openapi-errors.ts";
import { operationExamples } from "./openapi-examples.ts";
import { schemaComponents, schemaRef } from "./openapi-schemas.ts";
import { headers, parameters, parametersOf, successHeaders } from "./openapi-parameters.ts";
import { acceptedTexts, introduction, operationTexts, streamText, tags } from "./openapi-texts.ts";

/** The parts of the description that the host gives. */
export interface OpenApiOptions {
  title?: string;
  version?: string;
  servers?: readonly { url: string; description?: string }[];
  /** Security scheme objects by name, as OpenAPI defines them. */
  securitySchemes?: Readonly<Record<string, object>>;
  /** Which of the schemes a request needs; `/health` never needs one. */
  security?: readonly Readonly<Record<string, readonly string[]>>[];
}

/**
 * The OpenAPI 3.1 description of the whole HTTP surface. Each call makes a document of its own.
 *
 * @example
 * import { openApiDocument } from "turnpike/http";
 *
 * console.log(Object.keys(openApiDocument({ title: "Notes" })).includes("paths")); // true
 */
export function openApiDocument(options: OpenApiOptions = {}): object {
  const { title = "Turnpike", version = "1", servers = [{ url: "/" }], securitySchemes, security } = options;
  const errors = describeErrors();
  const document = {
    openapi: "3.1.0",
    info: { title, version, description: introduction },
    servers,
    ...(security && { security }),
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: paths(errors),
    components: {
      schemas: { ...schemaComponents(), TurnAnswer: turnAnswer },
      responses: errors.components(),
      parameters,
      headers,
      ...(securitySchemes && { securitySchemes }),
    },
  };
  // Serialized and parsed, so that no two documents, and no two places in one, share an object.
  return JSON.parse(JSON.stringify(document)) as object;
}

function paths(errors: ErrorResponses): JsonObject {
  const byPath: Record<string, JsonObject> = {};
  for (const name of Object.keys(routes) as RouteName[]) {
    const { method, path } = routes[name];
    byPath[path] = { ...byPath[path], [method.toLowerCase()]: operation(name, errors) };
  }
  return { ...byPath, "/health": { ...byPath["/health"], head: healthHead(errors) } };
}

function operation(name: RouteName, errors: ErrorResponses): JsonObject {
  const route = routes[name];
  const { tag, summary, description } = operationTexts[name];
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    ...(route.authority === "none" && { security: [] }),
    parameters: parametersOf(name),
    ...("request" in route && { requestBody: requestBody(name, schemaRef(route.request)) }),
    responses: { ...successes(name), ...errors.of(codesOf(name)) },
  };
}

/** `HEAD /health`: as `GET`, without the body. */
function healthHead(errors: ErrorResponses): JsonObject {
  const description = "Answers like `GET`, without the body.";
  const responses = {
    200: { description: operationTexts.health.answer, headers: responseHeaders },
    ...errors.of(codesOf("health")),
  };
  return { ...operation("health", errors), operationId: "healthHead", description, responses };
}

function requestBody(name: RouteName, schema: JsonObject): JsonObject {
  const examples = Object.entries(operationExamples[name]).map(([key, { summary, request = null }]) => [
    key,
    { summary, value: request },
  ]);
  return { required: true, content: { "application/json": { schema, examples: Object.fromEntries(examples) } } };
}

function successes(name: RouteName): JsonObject {
  const content: JsonObject = jsonContent(name, 200);
  if (name === "executeTurn") content["text/event-stream"] = streamContent("executeTurn");
  if (name === "listTurnEvents") content["text/event-stream"] = streamContent("listTurnEvents");
  const answer = { description: operationTexts[name].answer, headers: successHeaders(name, 200), content };
  if (!isAcceptedBy(name)) return { 200: answer };
  const headersOf202 = successHeaders(name, 202);
  return {
    200: answer,
    202: { description: acceptedTexts[name], headers: headersOf202, content: jsonContent(name, 202) },
  };
}

function isAcceptedBy(name: RouteName): name is keyof typeof acceptedTexts {
  return name in acceptedTexts;
}

function jsonContent(name: RouteName, answered: 200 | 202): JsonObject {
  const examples = Object.entries(operationExamples[name])
    .filter(([, { status }]) => status === answered)
    .map(([key, { summary, response }]) => [key, { summary, value: response }]);
  const schema = name === "executeTurn" ? turnSchemas[answered] : schemaRef(routes[name].response);
  return { "application/json": { schema, examples: Object.fromEntries(examples) } };
}

/** A repeated request for an asynchronous turn is answered with its state, also when the turn has ended. */
const turnAnswer: JsonObject = {
  description: "How a turn ended; or where it is, when it was started to go on without its caller.",
  anyOf: [schemaRef(routes.executeTurn.response), schemaRef(TurnStateSchema)],
};

const turnSchemas: Record<200 | 202, JsonObject> = {
  200: { $ref: "#/components/schemas/TurnAnswer" },
  202: schemaRef(TurnStateSchema),
};

function streamContent(name: "executeTurn" | "listTurnEvents"): JsonObject {
  const examples = Object.entries(operationExamples[name])
    .filter(([, { status }]) => status === 200)
    .map(([key, { summary, response }]) => [key, { summary, value: streamed(response) }]);
  return { schema: { type: "string", description: streamText }, examples: Object.fromEntries(examples) };
}

/** A turn result as a stream: the events of the turn, and then its result. */
function streamed(answer: JsonValue): string {
  const { events } = answer as { events: JsonObject[] };
  const told = events.map(
    (event) => `event: turn.event\nid: ${String(event["sequence"])}\ndata: ${JSON.stringify(event)}\n\n`,
  );
  const result = "status" in (answer as JsonObject) ? answer : operationExamples.executeTurn["succeeded"]?.response;
  return `${told.join("")}event: turn.result\ndata: ${JSON.stringify(result)}\n\n`;
}
