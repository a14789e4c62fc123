import {
  errorCodes,
  RequestErrorSchema,
  routes,
  type CodeEntry,
  type ErrorCode,
  type JsonObject,
  type RouteName,
} from "../contracts/index.ts";
import { errorExamples, type ErrorExample, type RequestErrorCode } from "./openapi-examples.ts";
import { schemaRef } from "./openapi-schemas.ts";

/** Headers that every response has. */
export const responseHeaders: JsonObject = {
  "x-request-id": { $ref: "#/components/headers/RequestId" },
  "cache-control": { $ref: "#/components/headers/CacheControl" },
};

/** The errors of every request that needs a context. */
const everywhere: readonly RequestErrorCode[] = [
  "permission_denied",
  "method_not_allowed",
  "request_aborted",
  "internal_error",
  "invalid_access_context",
];

/** Errors of single operations: those whose answer has no field for a code, that take a query, or that recognize a repeated request. */
const ofItsOwn: Partial<Record<RouteName, readonly RequestErrorCode[]>> = {
  listTools: ["authority_unavailable", "audit_unavailable"],
  listToolNamespaces: ["audit_unavailable"],
  updateToolNamespaces: ["namespace_settings_not_configured", "namespace_settings_unavailable", "audit_unavailable"],
  executeTurn: ["replay_conflict", "replay_pending", "replay_interrupted"],
  listTurns: ["invalid_request"],
  listTurnEvents: ["invalid_request"],
  beginAct: ["tool_is_offered", "replay_conflict", "replay_pending", "replay_interrupted"],
  finishAct: ["outcome_conflict"],
  getAct: ["invalid_request"],
};

/** The codes that a request to one route may be answered with instead of a result. */
export function codesOf(name: RouteName): readonly RequestErrorCode[] {
  const { path, authority, ...route } = routes[name];
  // Asked with GET or HEAD, /health cannot fail: only another verb can be wrong there.
  if (authority === "none") return ["method_not_allowed"];
  return [
    ...("request" in route ? (["invalid_json", "invalid_request"] as const) : []),
    ...(path.includes("{") ? (["not_found"] as const) : []),
    ...everywhere,
    ...(ofItsOwn[name] ?? []),
  ];
}

/** A code that comes with another status than its own, or that has none. */
export interface CodeAtStatus {
  status: number;
  code: ErrorCode;
}

/** Describes the errors of operations. Operations with the same codes share the descriptions. */
export interface ErrorResponses {
  /** References to the responses for these codes, by status. */
  of(codes: readonly (ErrorCode | CodeAtStatus)[]): JsonObject;
  /** What the references lead to. */
  components(): JsonObject;
}

/** Options for the errors of some operations. */
export interface ErrorResponseOptions {
  /** What the names of the responses begin with. */
  prefix?: string;
  /** Headers that every one of them may have. */
  headers?: JsonObject;
  /** Headers of the errors with one code. */
  headersOf?: Partial<Record<ErrorCode, JsonObject>>;
}

/**
 * Collects the error responses of an API description.
 *
 * @example
 * import { describeErrors } from "turnpike/http";
 *
 * const errors = describeErrors();
 * console.log(Object.keys(errors.of(["not_found"]))); // [ '404' ]
 */
export function describeErrors({ prefix = "", headers, headersOf }: ErrorResponseOptions = {}): ErrorResponses {
  const known = new Map<string, JsonObject>();
  const ownHeaders: Partial<Record<ErrorCode, JsonObject>> = {
    method_not_allowed: { allow: { $ref: "#/components/headers/Allow" } },
    replay_pending: { "retry-after": { $ref: "#/components/headers/RetryAfter" } },
    ...headersOf,
  };
  const refTo = (status: number, codes: readonly ErrorCode[]): JsonObject => {
    const name = prefix + nameOf(status, codes);
    if (!known.has(name)) {
      const added = codes.map((code) => ownHeaders[code] ?? {});
      known.set(name, responseOf(codes, Object.assign({ ...responseHeaders, ...headers }, ...added) as JsonObject));
    }
    return { $ref: `#/components/responses/${name}` };
  };
  return {
    of(codes) {
      const byStatus = new Map<number, Set<ErrorCode>>();
      for (const one of codes) {
        const { status, code } = typeof one === "string" ? { status: statusOf(one), code: one } : one;
        byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
      }
      return Object.fromEntries([...byStatus].map(([status, own]) => [status, refTo(status, [...own].toSorted())]));
    },
    components: () => Object.fromEntries([...known].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

function statusOf(code: ErrorCode): number {
  const { status } = errorCodes[code] as CodeEntry;
  if (status === undefined) throw new TypeError(`No request is answered with ${code}.`);
  return status;
}

/** Such as `ReplayConflictOrReplayPending`; with the status where it is not the codes' own. */
function nameOf(status: number, codes: readonly ErrorCode[]): string {
  const words = codes.map((code) => code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  const isOwn = codes.every((code) => (errorCodes[code] as CodeEntry).status === status);
  return `${words.join("Or")}${isOwn ? "" : status}`;
}

function responseOf(codes: readonly ErrorCode[], headers: JsonObject): JsonObject {
  const examples = codes.map((code) => [code, exampleOf(code)] as const);
  return {
    description: codes.map((code) => `- \`${code}\`: ${meaningOf(code)}`).join("\n"),
    headers,
    content: {
      "application/json": { schema: schemaRef(RequestErrorSchema), examples: Object.fromEntries(examples) },
    },
    "x-error-codes": [...codes],
  };
}

function meaningOf(code: ErrorCode): string {
  const { meaning, retry } = errorCodes[code];
  return retry ? `${meaning} The same request may succeed later.` : meaning;
}

function exampleOf(code: ErrorCode): JsonObject {
  const { meaning } = errorCodes[code];
  const example: ErrorExample | undefined = (errorExamples as Partial<Record<ErrorCode, ErrorExample>>)[code];
  // A code of hosts.
  if (example === undefined)
    return { summary: meaning, value: { error: { code, message: meaning, requestId: "request-1" } } };
  const { method, path, body, response } = example;
  const sent = body === undefined ? "" : ` with the body \`${body.trim()}\``;
  return { summary: meaning, description: `Answers \`${method} ${path}\`${sent}.`, value: response };
}
