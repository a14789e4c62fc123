import type { errorCodes, ErrorCode, JsonObject, RouteName } from "../contracts/index.ts";
import { actExamples } from "./openapi-act-examples.ts";
import { assistant, diary, diaryAuthority, turnExamples, type OperationExample } from "./openapi-turn-examples.ts";

// The host's demo: Alice, of the tenant "demo", lets her assistant read her notes, but not her diary. Every answer here is the
// handler's own: a test sends each request to a deployment with that story and compares. Another test sends each request to
// the demo as it is.

/** A code of request-level errors. */
export type RequestErrorCode = {
  [Code in ErrorCode]: "http" extends (typeof errorCodes)[Code]["families"][number] ? Code : never;
}[ErrorCode];

/** A request that never became an operation, and what is answered. */
export interface ErrorExample {
  method: string;
  path: string;
  body?: string;
  status: number;
  response: JsonObject;
}

/** By operation, then by the name that pairs a request with its response. */
export const operationExamples: Record<RouteName, Record<string, OperationExample>> = {
  health: { ok: { summary: "The service is up.", status: 200, response: { status: "ok", protocolVersion: "1" } } },
  authorize: {
    allowed: {
      summary: "A grant covers the act.",
      request: { action: "read", resource: { namespace: "files", path: ["notes", "todo.md"] } },
      status: 200,
      response: { allowed: true, reasonCode: "allowed", matchedGrantId: "assistant-notes" },
    },
    denied: {
      summary: "No grant covers the act; the answer says what to ask the owner for.",
      request: { action: "read", resource: diary },
      status: 200,
      response: { allowed: false, reasonCode: "no_matching_grant", requiredAuthority: diaryAuthority },
    },
  },
  reach: {
    computed: {
      summary: "Everywhere the assistant may act on Alice's authority.",
      status: 200,
      response: {
        status: "computed",
        reach: [
          { namespace: "files", path: ["notes"], actions: ["list", "read", "search"], scope: "descendants" },
          { namespace: "service", path: ["escalation"], actions: ["request"], scope: "exact" },
          { namespace: "service.execution", path: ["agent", "assistant"], actions: ["invoke"], scope: "exact" },
          { namespace: "service.messaging", path: ["agent", "assistant"], actions: ["receive"], scope: "exact" },
          { namespace: "service.messaging", path: ["human", "alice"], actions: ["send"], scope: "exact" },
        ],
      },
    },
    unavailable: {
      summary: "The grants could not be read.",
      status: 200,
      response: { status: "unavailable", reasonCode: "authority_unavailable" },
    },
  },
  listTools: {
    files: {
      summary: "One of the tools that the assistant may use.",
      status: 200,
      response: [
        {
          name: "files.read",
          description: "Reads a file.",
          namespace: "files",
          source: "host",
          readWrite: "read",
          inputSchema: {
            type: "object",
            properties: { path: { type: "string" } },
            required: ["path"],
            additionalProperties: false,
          },
          outputSchema: {
            type: "object",
            properties: { content: { type: "string" }, version: { type: "number" } },
            required: ["content", "version"],
            additionalProperties: false,
          },
          requiredCapability: { action: "read", resource: { namespace: "files", path: [] } },
          annotations: { readOnly: true },
        },
      ],
    },
  },
  listToolNamespaces: {
    catalog: {
      summary: "Every namespace is switched on.",
      status: 200,
      response: {
        namespaces: [
          { namespace: "files", sources: ["host"], toolCount: 1, enabled: true },
          { namespace: "messages", sources: ["host"], toolCount: 1, enabled: true },
          { namespace: "payments", sources: ["demo"], toolCount: 1, enabled: true },
          { namespace: "service", sources: ["turnpike"], toolCount: 1, enabled: true },
        ],
        summary: { enabled: 4, disabled: 0, total: 4 },
      },
    },
  },
  updateToolNamespaces: {
    disable: {
      summary: "Switches the `messages` namespace off.",
      request: { disable: ["messages"] },
      status: 200,
      response: {
        namespaces: [
          { namespace: "files", sources: ["host"], toolCount: 1, enabled: true },
          { namespace: "messages", sources: ["host"], toolCount: 1, enabled: false },
          { namespace: "payments", sources: ["demo"], toolCount: 1, enabled: true },
          { namespace: "service", sources: ["turnpike"], toolCount: 1, enabled: true },
        ],
        summary: { enabled: 3, disabled: 1, total: 4 },
      },
    },
  },
  invokeTool: {
    succeeded: {
      summary: "Reads a note.",
      request: {
        id: "call-1",
        tool: "files.read",
        arguments: { path: "notes/todo.md" },
        requestedAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
      },
      status: 200,
      response: {
        status: "succeeded",
        callId: "call-1",
        tool: "files.read",
        completedAt: "2026-01-15T09:30:00.000Z",
        output: { content: "- water the plants\n- call Bob\n", version: 1 },
      },
    },
    denied: {
      summary: "No grant covers the call.",
      request: {
        id: "call-2",
        tool: "files.read",
        arguments: { path: "private/diary.md" },
        requestedAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
      },
      status: 200,
      response: {
        status: "denied",
        callId: "call-2",
        tool: "files.read",
        completedAt: "2026-01-15T09:30:00.000Z",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
      },
    },
    approval: {
      summary: "A call that needs a person's approval. The same call works once it is approved.",
      request: {
        id: "call-4",
        tool: "payments.pay",
        arguments: { to: "bob", amount: 20 },
        requestedAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
      },
      status: 200,
      response: {
        status: "denied",
        callId: "call-4",
        tool: "payments.pay",
        completedAt: "2026-01-15T09:30:00.000Z",
        error: {
          code: "approval_required",
          message: "A grant covers the act once a person has approved it.",
          retryable: true,
          details: {
            escalationId: "escalation-1",
            requestHash: "c4ad192778913be0771c887a93d2ac6be7b3f5354fc8136b03e1ea47ee0ad23a",
            expiresAt: "2026-01-16T09:30:00.000Z",
          },
        },
      },
    },
    failed: {
      summary: "Arguments that the tool does not accept.",
      request: {
        id: "call-3",
        tool: "files.read",
        arguments: {},
        requestedAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
      },
      status: 200,
      response: {
        status: "failed",
        callId: "call-3",
        tool: "files.read",
        completedAt: "2026-01-15T09:30:00.000Z",
        error: { code: "invalid_tool_arguments", message: "/path: expected string", retryable: false },
      },
    },
  },
  invokeResource: {
    succeeded: {
      summary: "Reads a note.",
      request: {
        operationId: "operation-1",
        action: "read",
        resource: { namespace: "files", path: ["notes", "todo.md"] },
      },
      status: 200,
      response: {
        status: "succeeded",
        operationId: "operation-1",
        completedAt: "2026-01-15T09:30:00.000Z",
        output: { content: "- water the plants\n- call Bob\n", version: 1 },
      },
    },
    denied: {
      summary: "No grant covers the act.",
      request: { operationId: "operation-2", action: "read", resource: diary },
      status: 200,
      response: {
        status: "denied",
        operationId: "operation-2",
        completedAt: "2026-01-15T09:30:00.000Z",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
      },
    },
  },
  sendMessage: {
    accepted: {
      summary: "The transport has taken the message and will deliver it.",
      request: {
        version: 1,
        id: "message-1",
        createdAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
        purpose: "demo",
        sender: assistant,
        receiver: { kind: "human", userId: "alice" },
        payload: { text: "The plants are watered." },
      },
      status: 202,
      response: { status: "accepted", messageId: "message-1", timestamp: "2026-01-15T09:30:00.000Z" },
    },
    denied: {
      summary: "No grant allows writing to this receiver.",
      request: {
        version: 1,
        id: "message-2",
        createdAt: "2026-01-15T09:29:58Z",
        traceId: "trace-1",
        purpose: "demo",
        sender: assistant,
        receiver: { kind: "human", userId: "bob" },
        payload: { text: "The plants are watered." },
      },
      status: 200,
      response: {
        status: "denied",
        messageId: "message-2",
        timestamp: "2026-01-15T09:30:00.000Z",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
      },
    },
  },
  ...turnExamples,
  ...actExamples,
};

/** One for each code of a request-level error. */
export const errorExamples: Record<RequestErrorCode, ErrorExample> = {
  invalid_json: {
    method: "POST",
    path: "/v1/authorize",
    body: '{ "action": "read", ',
    status: 400,
    response: { error: { code: "invalid_json", message: "The body is not JSON.", requestId: "request-1" } },
  },
  invalid_request: {
    method: "POST",
    path: "/v1/authorize",
    body: '{ "action": "read", "grants": [] }',
    status: 400,
    response: {
      error: {
        code: "invalid_request",
        message: "/resource: expected object; /grants: expected no such key",
        requestId: "request-1",
      },
    },
  },
  permission_denied: {
    method: "GET",
    path: "/v1/tools",
    status: 403,
    response: {
      error: { code: "permission_denied", message: "The host refused the request.", requestId: "request-1" },
    },
  },
  not_found: {
    method: "GET",
    path: "/v1/tools/",
    status: 404,
    response: { error: { code: "not_found", message: "There is nothing at this path.", requestId: "request-1" } },
  },
  method_not_allowed: {
    method: "DELETE",
    path: "/v1/tools/namespaces",
    status: 405,
    response: { error: { code: "method_not_allowed", message: "This path knows GET, PUT.", requestId: "request-1" } },
  },
  outcome_conflict: {
    method: "POST",
    path: "/v1/acts/act-1/outcome",
    body: '{ "version": 1, "traceId": "trace-1", "status": "failed" }',
    status: 409,
    response: {
      error: {
        code: "outcome_conflict",
        message: "Another outcome of this act was reported before.",
        requestId: "request-1",
      },
    },
  },
  tool_is_offered: {
    method: "POST",
    path: "/v1/acts",
    body: JSON.stringify({ ...(actExamples.beginAct["allowed"]?.request as JsonObject), tool: "files.read" }),
    status: 400,
    response: {
      error: {
        code: "tool_is_offered",
        message: "The service offers a tool of this name itself: invoke it instead of beginning an act.",
        requestId: "request-1",
      },
    },
  },
  replay_conflict: {
    method: "POST",
    path: "/v1/turns",
    body: JSON.stringify(turnExamples.executeTurn["succeeded"]?.request),
    status: 409,
    response: {
      error: { code: "replay_conflict", message: "This id was used for another request.", requestId: "request-1" },
    },
  },
  replay_pending: {
    method: "POST",
    path: "/v1/turns",
    body: JSON.stringify(turnExamples.executeTurn["succeeded"]?.request),
    status: 409,
    response: {
      error: { code: "replay_pending", message: "The same request is still running.", requestId: "request-1" },
    },
  },
  replay_interrupted: {
    method: "POST",
    path: "/v1/turns",
    body: JSON.stringify(turnExamples.executeTurn["succeeded"]?.request),
    status: 409,
    response: {
      error: {
        code: "replay_interrupted",
        message: "The result of this request is no longer stored.",
        requestId: "request-1",
      },
    },
  },
  request_aborted: {
    method: "GET",
    path: "/v1/tools",
    status: 499,
    response: {
      error: { code: "request_aborted", message: "The caller went away before any effect.", requestId: "request-1" },
    },
  },
  internal_error: {
    method: "GET",
    path: "/v1/tools",
    status: 500,
    response: {
      error: {
        code: "internal_error",
        message: "Something failed inside; nothing more is said.",
        requestId: "request-1",
      },
    },
  },
  invalid_access_context: {
    method: "GET",
    path: "/v1/tools",
    status: 500,
    response: {
      error: {
        code: "invalid_access_context",
        message: "No valid access context could be resolved.",
        requestId: "request-1",
      },
    },
  },
  namespace_settings_not_configured: {
    method: "PUT",
    path: "/v1/tools/namespaces",
    body: '{ "disable": ["messages"] }',
    status: 501,
    response: {
      error: {
        code: "namespace_settings_not_configured",
        message: "This deployment has no store for tool namespace settings.",
        requestId: "request-1",
      },
    },
  },
  namespace_settings_unavailable: {
    method: "PUT",
    path: "/v1/tools/namespaces",
    body: '{ "disable": ["messages"] }',
    status: 503,
    response: {
      error: {
        code: "namespace_settings_unavailable",
        message: "The store for tool namespace settings did not answer.",
        requestId: "request-1",
      },
    },
  },
  authority_unavailable: {
    method: "GET",
    path: "/v1/tools",
    status: 503,
    response: {
      error: {
        code: "authority_unavailable",
        message: "The grants could not be read or cannot be trusted.",
        requestId: "request-1",
      },
    },
  },
  audit_unavailable: {
    method: "GET",
    path: "/v1/tools",
    status: 503,
    response: {
      error: {
        code: "audit_unavailable",
        message: "The decision could not be recorded, so nothing was done.",
        requestId: "request-1",
      },
    },
  },
};
