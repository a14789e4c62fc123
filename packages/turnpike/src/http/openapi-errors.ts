import { errorCodes, RequestErrorSchema, routes, type JsonObject, type RouteName } from "../contracts/index.ts";
import { errorExamples, hostErrorExample, type ErrorExample, type RequestErrorCode } from "./openapi-examples.ts";
import { schemaRef } from "./openapi-schemas.ts";

/** The error responses there are, each with the codes that it may carry; codes of one row share one status. */
const errorResponses = {
  BadRequest: ["invalid_json", "invalid_request"],
  Forbidden: ["permission_denied"],
  NotFound: ["not_found"],
  MethodNotAllowed: ["method_not_allowed"],
  Conflict: ["replay_conflict", "replay_pending", "replay_interrupted"],
  RequestAborted: ["request_aborted"],
  ServerError: ["internal_error", "invalid_access_context"],
  SettingsNotConfigured: ["namespace_settings_not_configured"],
  ToolsUnavailable: ["authority_unavailable", "audit_unavailable"],
  NamespacesUnavailable: ["audit_unavailable"],
  SettingsUnavailable: ["namespace_settings_unavailable", "audit_unavailable"],
} as const satisfies Record<string, readonly [RequestErrorCode, ...RequestErrorCode[]]>;

type ErrorResponse = keyof typeof errorResponses;

const everywhere: readonly ErrorResponse[] = [
  "Forbidden",
  "NotFound",
  "MethodNotAllowed",
  "RequestAborted",
  "ServerError",
];

/** Errors of operations whose answer has no room for a code, that take a query, or that know a request again. */
const ofItsOwn: Partial<Record<RouteName, readonly ErrorResponse[]>> = {
  listTools: ["ToolsUnavailable"],
  listToolNamespaces: ["NamespacesUnavailable"],
  updateToolNamespaces: ["SettingsNotConfigured", "SettingsUnavailable"],
  executeTurn: ["Conflict"],
  listTurns: ["BadRequest"],
  listTurnEvents: ["BadRequest"],
};

/** What every response says about itself. */
export const responseHeaders: JsonObject = {
  "x-request-id": { $ref: "#/components/headers/RequestId" },
  "cache-control": { $ref: "#/components/headers/CacheControl" },
};

/** References to the error responses of one route, by status; `default` is whatever the host adds. */
export function errorsOf(name: RouteName): JsonObject {
  // Asked with GET or HEAD, /health cannot fail: only another verb can be wrong there.
  if (name === "health") return { 405: refTo("MethodNotAllowed") };
  const own = ofItsOwn[name] ?? [];
  const responses: ErrorResponse[] = [
    ...("request" in routes[name] ? ["BadRequest" as const] : []),
    ...everywhere,
    ...own,
  ];
  const byStatus = responses.map(
    (response) => [errorCodes[errorResponses[response][0]].status, refTo(response)] as const,
  );
  return { ...Object.fromEntries(byStatus), default: refTo("HostError") };
}

function refTo(response: ErrorResponse | "HostError"): JsonObject {
  return { $ref: `#/components/responses/${response}` };
}

/** The error responses themselves. */
export function errorComponents(): JsonObject {
  const own = Object.entries(errorResponses).map(([name, codes]) => [name, errorResponse(codes)] as const);
  const description = "The host's own refusal, such as a missing credential or a limit: any status, any code.";
  const examples = { host: exampleOf(hostErrorExample, "A host that is under maintenance.") };
  return { ...Object.fromEntries(own), HostError: { description, ...errorBody(examples) } };
}

function errorResponse(codes: readonly RequestErrorCode[]): JsonObject {
  const lines = codes.map((code) => `- \`${code}\`: ${meaningOf(code)}`);
  const examples = codes.map((code) => [code, exampleOf(errorExamples[code], errorCodes[code].meaning)] as const);
  const { headers, content } = errorBody(Object.fromEntries(examples));
  const allow = codes.includes("method_not_allowed") && { allow: { $ref: "#/components/headers/Allow" } };
  return { description: lines.join("\n"), headers: { ...headers, ...allow }, content };
}

function meaningOf(code: RequestErrorCode): string {
  const { meaning, retry } = errorCodes[code];
  return retry ? `${meaning} The same request may succeed later.` : meaning;
}

function errorBody(examples: JsonObject): { headers: JsonObject; content: JsonObject } {
  return {
    headers: responseHeaders,
    content: { "application/json": { schema: schemaRef(RequestErrorSchema), examples } },
  };
}

function exampleOf({ method, path, body, response }: ErrorExample, summary: string): JsonObject {
  const sent = body === undefined ? "" : ` with the body \`${body.trim()}\``;
  return { summary, description: `Answers \`${method} ${path}\`${sent}.`, value: response };
}
