import type { ErrorCode, JsonObject } from "turnpike/contracts";
import { describeErrors, type CodeAtStatus, type ErrorResponses } from "turnpike/http";
import { admissionErrors } from "../../access/index.ts";
import { frontErrors, wireErrors } from "../../front/index.ts";

/**
 * What a route requires of the sender: nothing, a valid credential, a context to act in, or an operator's credential.
 */
export type Access = "open" | keyof typeof admissionErrors;

/** An operation before the security, headers and errors of its kind of access are added. */
export interface DescribedOperation extends JsonObject {
  responses: JsonObject;
}

/** How the operations with one kind of access are described. */
interface AccessDescription {
  security: JsonObject[];
  /** Names of the headers that requests may have. */
  parameters: readonly string[];
  /** Headers that every successful answer has, and that an error may have. */
  headers: JsonObject;
  errorHeaders: JsonObject;
  errors: ErrorResponses;
  codes: readonly ErrorCode[];
}

/** The ways to authenticate. */
export const securitySchemes: JsonObject = {
  credential: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "tp_<id>_<secret>",
    description: "The token of a credential, which an operator makes: `turnpike credential create`.",
  },
  jwt: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "An access token of the identity provider that this host is configured with, if it is with one.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-turnpike",
    description:
      "The cookie of a session, which createSession begins; without https it is called turnpike. It is worthless without the other half.",
  },
  sessionPage: {
    type: "apiKey",
    in: "header",
    name: "x-turnpike-console",
    description: "The other half of a session: the `pageSecret` that createSession answers.",
  },
};

/** What requests may say in headers, besides what the service's own description has. */
export const hostParameters: JsonObject = {
  TraceId: {
    name: "x-trace-id",
    in: "header",
    description:
      "The trace that the request belongs to; a fresh one unless given. A body that names a trace has to name this one. Characters beyond ASCII are percent-encoded.",
    schema: { type: "string" },
    example: "trace-1",
  },
  Traceparent: {
    name: "traceparent",
    in: "header",
    description: "The W3C trace context. Its trace id counts where there is no `x-trace-id`.",
    schema: { type: "string" },
    example: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  },
  Purpose: {
    name: "x-purpose",
    in: "header",
    description:
      "What the request is for: one of the purposes of the credential, and its first one unless given. A message has to have the same purpose.",
    schema: { type: "string" },
    example: "demo",
  },
  Authority: {
    name: "x-authority",
    in: "header",
    description:
      "Whose grants are exercised, as `kind:id`; those of the credential's authority unless given. It selects grants, and gives none.",
    schema: { type: "string" },
    example: "human:alice",
  },
};

const traceId: JsonObject = {
  description: "The trace of the request: the caller's, or a fresh one.",
  schema: { type: "string" },
  example: "trace-1",
};
const rateLimit: JsonObject = {
  description: "How many requests the credential has left (`r`), and in how many seconds there are more (`t`).",
  schema: { type: "string" },
  example: '"default";r=99;t=1',
};
const rateLimitPolicy: JsonObject = {
  description:
    "How many requests the credential has at once (`q`), and how many seconds it takes to have them anew (`w`).",
  schema: { type: "string" },
  example: '"default";q=100;w=2',
};

/** What answers say in headers, besides what the service's own description has. */
export const hostHeaders: JsonObject = {
  TraceId: { ...traceId, required: true },
  RateLimit: { ...rateLimit, required: true },
  RateLimitPolicy: { ...rateLimitPolicy, required: true },
  TraceIdOnceAdmitted: { ...traceId, description: "The trace of the request, once its sender is known." },
  RateLimitOnceAdmitted: rateLimit,
  RateLimitPolicyOnceAdmitted: rateLimitPolicy,
  WwwAuthenticate: {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string" },
    example: 'Bearer realm="turnpike"',
  },
  SetCookie: {
    description: "The cookie of the session; when a session ends, the browser forgets it.",
    schema: { type: "string" },
  },
  ToolsUnavailable: {
    description:
      "The tool namespaces of the caller whose MCP servers are not there right now, with commas between them: the list may lack " +
      "tools of theirs. Absent when all are there.",
    schema: { type: "string" },
    example: "mcp.notes, mcp.wiki",
  },
  McpSessionId: {
    description: "Comes with the answer to `initialize`. Clients repeat it, and the host stores nothing under it.",
    schema: { type: "string" },
  },
};

const rated = { ratelimit: refTo("headers", "RateLimit"), "ratelimit-policy": refTo("headers", "RateLimitPolicy") };
const maybeRated = {
  ratelimit: refTo("headers", "RateLimitOnceAdmitted"),
  "ratelimit-policy": refTo("headers", "RateLimitPolicyOnceAdmitted"),
};
const traced = { "x-trace-id": refTo("headers", "TraceId"), ...rated };
const maybeTraced = { "x-trace-id": refTo("headers", "TraceIdOnceAdmitted"), ...maybeRated };

const retryAfter = { "retry-after": refTo("headers", "RetryAfter") };
const headersOf = {
  unauthenticated: { "www-authenticate": refTo("headers", "WwwAuthenticate") },
  rate_limited: retryAfter,
  overloaded: retryAfter,
};

/** Describes operations by their kind of access. Each document needs its own, because it collects their errors. */
export interface AccessSchemes {
  /** The operation with the security, the headers and the errors of its kind of access. */
  describe(access: Access, operation: DescribedOperation, codes: readonly (ErrorCode | CodeAtStatus)[]): JsonObject;
  /** The error responses of all operations. */
  components(): JsonObject;
}

export function openAccessSchemes(): AccessSchemes {
  const ofCallers = {
    security: [{ credential: [] }, { jwt: [] }],
    headers: traced,
    errorHeaders: maybeTraced,
    errors: describeErrors({ headers: maybeTraced, headersOf }),
  };
  const trace = ["TraceId", "Traceparent"];
  const ways: Record<Access, AccessDescription> = {
    open: {
      security: [],
      parameters: [],
      headers: {},
      errorHeaders: {},
      errors: describeErrors({ prefix: "Open", headersOf }),
      codes: [],
    },
    credential: { ...ofCallers, parameters: trace, codes: [...admissionErrors.credential, ...frontErrors] },
    context: {
      ...ofCallers,
      parameters: [...trace, "Purpose", "Authority"],
      codes: [...admissionErrors.context, ...frontErrors],
    },
    operator: {
      security: [{ credential: [] }, { session: [], sessionPage: [] }],
      parameters: [],
      headers: rated,
      errorHeaders: maybeRated,
      errors: describeErrors({ prefix: "Operator", headers: maybeRated, headersOf }),
      codes: [...admissionErrors.operator, ...frontErrors],
    },
  };
  return {
    describe(access, { parameters = [], responses, ...operation }, own) {
      const { security, headers, errorHeaders, errors, codes, parameters: names } = ways[access];
      const [requestId, ...others] = ["RequestId", ...names].map((name) => refTo("parameters", name));
      const given = (parameters as JsonObject[]).filter(({ $ref }) => $ref !== requestId?.["$ref"]);
      const hasBody = "requestBody" in operation;
      const answers = Object.entries(responses).map(
        ([status, answer]) => [status, withHeaders(answer, Number(status) < 400 ? headers : errorHeaders)] as const,
      );
      return {
        security,
        ...operation,
        parameters: [...given, ...(requestId ? [requestId] : []), ...others],
        responses: { ...errors.of([...own, ...codes, ...wireCodes(hasBody)]), ...Object.fromEntries(answers) },
      };
    },
    components: () => Object.assign({}, ...Object.values(ways).map(({ errors }) => errors.components())) as JsonObject,
  };
}

/** The errors of the socket for any request. Only a body can arrive too slowly after its route is known. */
function wireCodes(hasBody: boolean): CodeAtStatus[] {
  return Object.entries(wireErrors)
    .filter(([, code]) => hasBody || code !== "request_timeout")
    .map(([status, code]) => ({ status: Number(status), code }));
}

function withHeaders(answer: JsonObject[string], added: JsonObject): JsonObject {
  const { headers, ...rest } = answer as JsonObject & { headers: JsonObject };
  return { ...rest, headers: { ...headers, ...added } };
}

export function refTo(kind: "headers" | "parameters" | "schemas", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` };
}
