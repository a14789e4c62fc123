/** One valid object per shape of the contracts, with every optional field present. */

export const human = { kind: "human", userId: "alice" };
export const agent = { kind: "agent", agentId: "assistant" };
export const group = { kind: "group", conversationId: "family" };
export const service = { kind: "service", serviceId: "calendar" };

export const resourceRef = { namespace: "files", owner: human, path: ["notes", "today.md"] };

export const capability = { resource: resourceRef, actions: ["read", "list"], scope: "descendants" };

export const constraints = {
  purposes: ["help"],
  notBefore: "2026-01-01T00:00:00Z",
  expiresAt: "2026-12-31T00:00:00Z",
  maxUses: 3,
  delegationDepth: 1,
  budgets: [{ unit: "EUR", limit: "20.50", per: "day", each: "5" }],
};

export const grant = {
  id: "grant-1",
  namespaceId: "demo",
  subject: agent,
  issuer: human,
  capabilities: [capability],
  constraints,
  issuedAt: "2026-01-01T00:00:00Z",
  revokedAt: "2026-06-01T00:00:00Z",
  parentId: "grant-0",
  metadata: { note: "made by hand" },
};

export const authorityRequest = {
  id: "ask-1",
  namespaceId: "demo",
  owner: human,
  requester: agent,
  purpose: "help",
  requestedAt: "2026-02-01T09:00:00Z",
  capabilities: [capability],
  constraints,
  metadata: { note: "please" },
};

export const accessContext = {
  actor: agent,
  authority: human,
  enabledToolNamespaces: ["files"],
  executionId: "turn-1",
  namespaceId: "demo",
  now: "2026-02-01T09:00:00Z",
  owner: human,
  purpose: "help",
  traceId: "trace-1",
};

export const authorizationRequest = { action: "read", resource: resourceRef };

export const authorizationDecision = {
  allowed: false,
  reasonCode: "no_matching_grant",
  matchedGrantId: "grant-1",
  metadata: { read: 2 },
  requiredAuthority: authorityRequest,
};

export const errorObject = {
  code: "tool_unavailable",
  message: "Not yours.",
  details: { tool: "x" },
  retryable: false,
};

export const requestError = { error: { code: "not_found", message: "No such path.", requestId: "request-1" } };

export const toolAnnotations = { readOnly: true, destructive: false, idempotent: true };

export const toolDescriptor = {
  name: "files.read",
  description: "Reads one file.",
  namespace: "files",
  source: "host",
  readWrite: "read",
  inputSchema: { type: "object" },
  outputSchema: { type: "string" },
  requiredCapability: authorizationRequest,
  annotations: toolAnnotations,
  metadata: { since: 1 },
};

export const toolCall = {
  id: "call-1",
  tool: "files.read",
  arguments: { path: "notes/today.md" },
  requestedAt: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
};

const toolResultCommon = {
  callId: "call-1",
  tool: "files.read",
  completedAt: "2026-02-01T09:00:01Z",
  metadata: { bytes: 12 },
};
export const toolResults = {
  succeeded: { status: "succeeded", ...toolResultCommon, output: "milk, bread" },
  denied: { status: "denied", ...toolResultCommon, error: errorObject },
  failed: { status: "failed", ...toolResultCommon, error: errorObject },
};

export const namespaceEntry = { namespace: "files", sources: ["host", "mcp"], toolCount: 12, enabled: true };

export const namespaceCatalog = {
  namespaces: [namespaceEntry, { namespace: "mail", sources: ["mcp"], toolCount: 0, enabled: false }],
  summary: { enabled: 1, disabled: 1, total: 2 },
};

export const namespaceUpdate = { enable: ["files"], disable: ["mail"] };

export const reachEntry = { namespace: "files", path: ["notes"], actions: ["read"], scope: "exact" };

export const reachResults = {
  computed: { status: "computed", reach: [reachEntry] },
  unavailable: { status: "unavailable", reasonCode: "usage_store_unavailable" },
};

export const resourceOperationRequest = {
  operationId: "operation-1",
  action: "append",
  resource: resourceRef,
  input: { text: "eggs" },
  metadata: { try: 1 },
};

export const resourceOperation = { ...resourceOperationRequest, context: accessContext };

const resourceResultCommon = {
  operationId: "operation-1",
  completedAt: "2026-02-01T09:00:01Z",
  metadata: { version: 2 },
};
export const resourceResults = {
  succeeded: { status: "succeeded", ...resourceResultCommon, output: null },
  denied: { status: "denied", ...resourceResultCommon, error: errorObject },
  failed: { status: "failed", ...resourceResultCommon, error: errorObject },
};

export const provenance = { source: "inbox", parentIds: ["message-0"], metadata: { hops: 1 } };

export const messageEnvelope = {
  version: 1,
  id: "message-1",
  createdAt: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
  purpose: "help",
  sender: human,
  receiver: agent,
  payload: "What do I have to buy?",
  replyTo: "message-0",
  provenance,
};

const messageResultCommon = {
  messageId: "message-1",
  timestamp: "2026-02-01T09:00:01Z",
  metadata: { queue: "inbox" },
};
export const messageResults = {
  accepted: { status: "accepted", ...messageResultCommon },
  delivered: { status: "delivered", ...messageResultCommon },
  denied: { status: "denied", ...messageResultCommon, error: errorObject },
  failed: { status: "failed", ...messageResultCommon, error: errorObject },
};

export const turnOptions = { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 };

export const turnRequest = {
  version: 1,
  executionId: "turn-1",
  agent,
  message: messageEnvelope,
  metadata: { channel: "cli" },
  state: { step: 0 },
  options: turnOptions,
};

export const turnEvent = {
  version: 1,
  eventId: "event-0",
  executionId: "turn-1",
  traceId: "trace-1",
  sequence: 0,
  type: "turn.started",
  data: { runtime: "scripted" },
  occurredAt: "2026-02-01T09:00:00Z",
};

export const escalation = {
  status: "pending",
  reason: "May I read the calendar?",
  requestedAt: "2026-02-01T09:00:01Z",
  reviewer: human,
  requestedAuthority: authorityRequest,
};

const turnResultCommon = {
  version: 1,
  executionId: "turn-1",
  traceId: "trace-1",
  startedAt: "2026-02-01T09:00:00Z",
  completedAt: "2026-02-01T09:00:02Z",
  events: [turnEvent],
  metadata: { runtime: { id: "scripted", version: "1" } },
};
export const turnResults = {
  succeeded: { status: "succeeded", ...turnResultCommon, output: "milk, bread" },
  denied: { status: "denied", ...turnResultCommon, error: errorObject },
  failed: { status: "failed", ...turnResultCommon, error: errorObject },
  cancelled: { status: "cancelled", ...turnResultCommon, error: errorObject },
  escalated: { status: "escalated", ...turnResultCommon, escalation },
};

export const auditEvent = {
  id: "audit-1",
  version: 1,
  type: "tool.invoked",
  outcome: "allowed",
  at: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
  namespaceId: "demo",
  actor: agent,
  authority: human,
  owner: human,
  purpose: "help",
  executionId: "turn-1",
  resource: resourceRef,
  action: "read",
  grantId: "grant-1",
  tool: "files.read",
  operationId: "operation-1",
  messageId: "message-1",
  receiver: service,
  reason: "allowed",
  metadata: { read: 1 },
};

export const act = {
  version: 1,
  id: "act-1",
  tool: "deploy",
  needs: [{ action: "run", resource: { namespace: "shell", path: ["deploy"] } }],
  arguments: { to: "production" },
  write: true,
  spends: [{ unit: "EUR", amount: "12.50" }],
  requestedAt: "2026-02-01T09:00:00Z",
  traceId: "trace-1",
  executionId: "turn-1",
  leaseSeconds: 60,
  dryRun: true,
};

export const actOutcome = {
  version: 1,
  executionId: "turn-1",
  status: "succeeded",
  output: { url: "https://example.com" },
  spent: [{ unit: "EUR", amount: 12 }],
  labels: ["untrusted"],
};

export const actFailure = {
  version: 1,
  traceId: "trace-1",
  status: "failed",
  error: { code: "no_disk", message: "There is no space left.", nothingHappened: true },
};
