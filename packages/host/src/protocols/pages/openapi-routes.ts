import {
  ActionSchema,
  IdentifierSchema,
  PurposeSchema,
  RequestErrorSchema,
  type ErrorCode,
  type JsonObject,
} from "turnpike/contracts";
import { z } from "zod";
import { WhoamiSchema, whoamiPath } from "../../admin-contract/index.ts";
import { refTo, type Access } from "./openapi-access.ts";

// The routes of the host besides those of the service and of operators. A test compares these rows with the protocols.

/** The body of an answer: a named schema, or text. */
interface DescribedAnswer {
  description: string;
  schema?: z.ZodType;
  /** The media types; JSON unless given. */
  types?: readonly string[];
  headers?: JsonObject;
}

/** One route of the host. */
export interface HostRoute {
  method: "GET" | "POST";
  path: string;
  tag: keyof typeof hostTags;
  summary: string;
  description: string;
  access: Access;
  request?: z.ZodType;
  /** Requests that the demo answers, by name. */
  examples?: Readonly<Record<string, { summary: string; value: JsonObject }>>;
  parameters?: JsonObject[];
  answers: Readonly<Record<number, DescribedAnswer>>;
  errors?: readonly ErrorCode[];
}

export const hostTags = {
  Host: "The host itself: whether it is ready, what it offers, and how to get in.",
  AuthZEN: "The OpenID AuthZEN Authorization API 1.0, for enforcement points.",
  MCP: "The Model Context Protocol, over streamable HTTP.",
  Hooks: "The hooks of coding agents, which ask before they run a tool.",
} as const;

const SubjectSchema = z.object({ type: z.enum(["human", "agent", "group", "service"]), id: IdentifierSchema });
const EvaluationContextSchema = z.object({
  tenant: IdentifierSchema.optional().meta({ description: "of an operator of all tenants: which one is asked about" }),
  owner: z
    .string()
    .optional()
    .meta({ description: "whose resource, as `kind:id`; the credential's owner unless given" }),
  authority: z.string().optional().meta({ description: "whose grants count, as `kind:id`; the owner's unless given" }),
  purpose: PurposeSchema.optional().meta({ description: "the first of the credential unless given" }),
});
const EvaluatedActionSchema = z.object({ name: ActionSchema });
const EvaluatedResourceSchema = z.object({
  type: IdentifierSchema.meta({ description: "the resource namespace" }),
  id: z.string().meta({ description: "the path: percent-encoded segments with slashes between them" }),
});
const EvaluationRequestSchema = z.object({
  subject: SubjectSchema,
  action: EvaluatedActionSchema,
  resource: EvaluatedResourceSchema,
  context: EvaluationContextSchema.optional(),
});
const ClaudeCodeHookSchema = z.object({
  hook_event_name: z.enum(["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"]),
  session_id: IdentifierSchema.meta({ description: "the trace of the act" }),
  tool_use_id: IdentifierSchema.optional().meta({ description: "the id of the act; a permission request has none" }),
  tool_name: IdentifierSchema,
  tool_input: z.record(z.string(), z.unknown()),
  cwd: z.string().optional().meta({ description: "the folder from which relative paths lead" }),
});
const ClaudeCodeAnswerSchema = z.object({
  hookSpecificOutput: z.record(z.string(), z.unknown()).optional(),
  systemMessage: z.string().optional(),
  decision: z.literal("block").optional(),
  reason: z.string().optional(),
  continue: z.literal(false).optional(),
  stopReason: z.string().optional(),
});
const PartialEvaluationSchema = z.object({
  subject: SubjectSchema.partial().optional(),
  action: EvaluatedActionSchema.partial().optional(),
  resource: EvaluatedResourceSchema.partial().optional(),
  context: EvaluationContextSchema.optional(),
});
const EvaluationsRequestSchema = PartialEvaluationSchema.extend({
  evaluations: z
    .array(PartialEvaluationSchema)
    .max(256)
    .optional()
    .meta({ description: "the evaluations; what one leaves out is taken from beside this list" }),
  options: z
    .object({ evaluations_semantic: z.enum(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]) })
    .optional(),
});
const EvaluationAnswerSchema = z.object({
  decision: z.boolean(),
  context: z.object({
    reason_code: z.string(),
    matched_grant: IdentifierSchema.optional().meta({ description: "for operators" }),
    error: z
      .object({ status: z.int(), message: z.string() })
      .optional()
      .meta({ description: "what is wrong with this evaluation among several" }),
  }),
});
const EvaluationsAnswerSchema = z.object({
  evaluations: z.array(EvaluationAnswerSchema).optional().meta({ description: "the answers, in their order" }),
  decision: z.boolean().optional().meta({ description: "of a request without a list, which is one evaluation" }),
  context: EvaluationAnswerSchema.shape.context.optional(),
});
const AuthzenConfigurationSchema = z.object({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_evaluations_endpoint: z.string(),
});
const ProtectedResourceSchema = z.object({
  resource: z.string(),
  authorization_servers: z
    .array(z.string())
    .meta({ description: "who issues tokens: this host, or an identity provider" }),
  bearer_methods_supported: z.array(z.string()),
  scopes_supported: z.array(z.string()).optional(),
});
const ReadinessSchema = z.object({
  status: z.enum(["ready", "unavailable"]),
  reason: z.string().optional().meta({ description: "of a host that is not ready: why, as a sentence" }),
});
const ApiDescriptionSchema = z.looseObject({ openapi: z.string() });
const McpMessageSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional().meta({ description: "of a request or a notification" }),
  params: z.looseObject({}).optional(),
  result: z.looseObject({}).optional().meta({ description: "of an answer" }),
  error: z
    .looseObject({ code: z.int(), message: z.string() })
    .optional()
    .meta({ description: "of an answer that is none" }),
});

/** What the host itself refuses is its own error, what MCP refuses is one of JSON-RPC. */
const McpRefusalSchema = z.union([RequestErrorSchema, McpMessageSchema]);

/** The shapes of these routes, by the names that the document gives them. */
export const hostShapes: Readonly<Record<string, z.ZodType>> = {
  EvaluationContextSchema,
  EvaluationRequestSchema,
  PartialEvaluationSchema,
  EvaluationsRequestSchema,
  EvaluationAnswerSchema,
  EvaluationsAnswerSchema,
  AuthzenConfigurationSchema,
  ProtectedResourceSchema,
  ReadinessSchema,
  WhoamiSchema,
  ApiDescriptionSchema,
  ClaudeCodeHookSchema,
  ClaudeCodeAnswerSchema,
  McpMessageSchema,
  McpRefusalSchema,
};

const subject = { type: "agent", id: "assistant" };
const context = { owner: "human:alice", purpose: "demo" };
const evaluationErrors = [
  "invalid_json",
  "invalid_request",
  "permission_denied",
  "purpose_not_allowed",
  "not_found",
] as const;
const protectedResource = {
  method: "GET",
  tag: "Host",
  summary: "How do I get in?",
  access: "open",
  answers: {
    200: { description: "Where the resource is, and who issues tokens for it.", schema: ProtectedResourceSchema },
  },
  errors: ["not_found"],
} as const;
const ofMcp = (description: string): DescribedAnswer => ({ description, schema: McpMessageSchema });

/** The routes, by the name of the operation. */
export const hostRoutes: Readonly<Record<string, HostRoute>> = {
  ready: {
    method: "GET",
    path: "/ready",
    tag: "Host",
    summary: "Is the host ready?",
    description:
      "Whether the database took a write within the last instants, and writes of calls have not been failing for five seconds. " +
      "Answers within two seconds.",
    access: "open",
    answers: {
      200: { description: "The host is ready.", schema: ReadinessSchema },
      503: { description: "The database takes no writes, or the host is still starting.", schema: ReadinessSchema },
    },
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    tag: "Host",
    summary: "Read the metrics",
    description:
      "The metrics of this host as Prometheus reads them. For operators with the role admin or auditor of all tenants.",
    access: "operator",
    answers: { 200: { description: "The metrics.", types: ["text/plain"] } },
  },
  whoami: {
    method: "GET",
    path: whoamiPath,
    tag: "Host",
    summary: "Who am I here?",
    description: "Who the bearer of this credential is to this host, operators too. It never says the token.",
    access: "credential",
    answers: { 200: { description: "Who you are.", schema: WhoamiSchema } },
  },
  readOpenApi: {
    method: "GET",
    path: "/openapi.json",
    tag: "Host",
    summary: "Read this description",
    description: "The description of everything that this host answers. `/docs` shows it to people.",
    access: "open",
    answers: { 200: { description: "The description, as OpenAPI 3.1.", schema: ApiDescriptionSchema } },
  },
  readProtectedResource: {
    ...protectedResource,
    path: "/.well-known/oauth-protected-resource",
    description: "The metadata of the protected resource (RFC 9728).",
  },
  readProtectedResourceOfMcp: {
    ...protectedResource,
    path: "/.well-known/oauth-protected-resource/mcp",
    description: "The metadata of the protected resource (RFC 9728), where clients of `/mcp` find it.",
  },
  readAuthzenConfiguration: {
    method: "GET",
    path: "/.well-known/authzen-configuration",
    tag: "AuthZEN",
    summary: "Where are decisions asked for?",
    description: "The metadata of the policy decision point.",
    access: "open",
    answers: { 200: { description: "Where the evaluations are.", schema: AuthzenConfigurationSchema } },
  },
  evaluate: {
    method: "POST",
    path: "/access/v1/evaluation",
    tag: "AuthZEN",
    summary: "May this subject do this?",
    description:
      "One evaluation. The subject is the credential's own actor; any of the tenant for an operator and for a credential that was made with `--evaluates`. A decision is audited, and takes no use of a grant. Keys that are not named are ignored.",
    access: "credential",
    request: EvaluationRequestSchema,
    examples: {
      allowed: {
        summary: "A grant covers the act.",
        value: { subject, action: { name: "read" }, resource: { type: "files", id: "notes/todo.md" }, context },
      },
      denied: {
        summary: "No grant covers the act.",
        value: { subject, action: { name: "read" }, resource: { type: "files", id: "private/diary.md" }, context },
      },
    },
    answers: { 200: { description: "The decision, also when it is no.", schema: EvaluationAnswerSchema } },
    errors: evaluationErrors,
  },
  evaluateSeveral: {
    method: "POST",
    path: "/access/v1/evaluations",
    tag: "AuthZEN",
    summary: "May this subject do these things?",
    description: "Several evaluations at once. A request without a list is one evaluation, and answered as one.",
    access: "credential",
    request: EvaluationsRequestSchema,
    examples: {
      several: {
        summary: "Two files, of which one may be read.",
        value: {
          subject,
          action: { name: "read" },
          context,
          evaluations: [
            { resource: { type: "files", id: "notes/todo.md" } },
            { resource: { type: "files", id: "private/diary.md" } },
          ],
          options: { evaluations_semantic: "execute_all" },
        },
      },
    },
    answers: {
      200: { description: "The decisions, in the order of the evaluations.", schema: EvaluationsAnswerSchema },
    },
    errors: evaluationErrors,
  },
  answerClaudeCodeHook: {
    method: "POST",
    path: "/hooks/v1/claude-code",
    tag: "Hooks",
    summary: "Answer a hook of Claude Code",
    description:
      "Decides about a tool that Claude Code wants to run, or takes the report that it ran. The answer is 200 also when the tool is denied, because the caller is not admitted for example: Claude Code runs the tool after any other.",
    access: "context",
    request: ClaudeCodeHookSchema,
    examples: {
      command: {
        summary: "It wants to run a command.",
        value: {
          hook_event_name: "PreToolUse",
          session_id: "session-1",
          tool_use_id: "call-1",
          tool_name: "Bash",
          tool_input: { command: "git status" },
          cwd: "/work",
        },
      },
    },
    answers: { 200: { description: "What Claude Code does.", schema: ClaudeCodeAnswerSchema } },
  },
  sendMcpMessage: {
    method: "POST",
    path: "/mcp",
    tag: "MCP",
    summary: "Speak MCP",
    description:
      "One JSON-RPC message of MCP, with `accept: application/json, text/event-stream`. A client sees the tools that its credential may use. There are no sessions; other verbs are answered 405.",
    access: "context",
    request: McpMessageSchema,
    examples: {
      listTools: {
        summary: "List the tools.",
        value: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} },
      },
      callTool: {
        summary: "Call a tool.",
        value: {
          jsonrpc: "2.0",
          id: 2,
          method: "tools/call",
          params: { name: "files.read", arguments: { path: "notes/todo.md" } },
        },
      },
    },
    parameters: [
      {
        name: "mcp-protocol-version",
        in: "header",
        description: "The revision of MCP that the client speaks.",
        schema: { type: "string" },
        example: "2025-11-25",
      },
      {
        name: "mcp-session-id",
        in: "header",
        description: "What `initialize` answered; it tells the calls of one client from those of another.",
        schema: { type: "string" },
      },
    ],
    answers: {
      200: {
        description: "The answer, which may be an error of JSON-RPC, as JSON or as the data of server-sent events.",
        schema: McpMessageSchema,
        types: ["application/json", "text/event-stream"],
        headers: { "mcp-session-id": refTo("headers", "McpSessionId") },
      },
      202: { description: "A notification was taken." },
      400: {
        description: "The body is no message of MCP, of a revision that is not spoken here, or not JSON.",
        schema: McpRefusalSchema,
      },
      404: ofMcp("The method is not known, to a client of a revision that says so with the status."),
      406: ofMcp("The client does not accept both kinds of answers."),
      415: ofMcp("The body is not said to be JSON."),
    },
  },
};
