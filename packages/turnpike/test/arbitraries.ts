import fc from "fast-check";
import type {
  AccessContext,
  Act,
  ActError,
  ActOutcome,
  ActRequest,
  ActState,
  AgentRef,
  Amount,
  ArgumentRule,
  AuditEvent,
  AuthorityRequestInput,
  AuthorityRequest,
  AuthorizationDecision,
  AuthorizationRequest,
  AuthorizeRequest,
  Budget,
  Capability,
  Constraints,
  DiscoveryContext,
  ErrorObject,
  Escalation,
  EscalationInput,
  Grant,
  Health,
  JsonObject,
  JsonValue,
  MessageEnvelope,
  MessageResult,
  NamespaceCatalog,
  NamespaceEntry,
  NamespaceUpdate,
  PrincipalRef,
  ReachEntry,
  ReachResult,
  RequestError,
  RequestParty,
  ResourceOperation,
  ResourceOperationRequest,
  ResourceRef,
  ResourceResult,
  Scope,
  ToolAnnotations,
  ToolCall,
  ToolDescriptor,
  ToolResult,
  TurnEvent,
  TurnEventList,
  TurnList,
  TurnOptions,
  TurnRequest,
  TurnResult,
  TurnState,
  Version,
} from "../src/contracts/index.ts";

// One arbitrary per shape of the contracts: whatever it makes is valid, and JSON can carry it there and back.

/** An object with every key of `required` and any of `optional`. */
function shape<R extends object, O extends object = Record<never, never>>(
  required: { [K in keyof R]: fc.Arbitrary<R[K]> },
  optional?: { [K in keyof O]: fc.Arbitrary<O[K]> },
): fc.Arbitrary<R & Partial<O>> {
  const requiredKeys = Object.keys(required) as never[];
  return fc.record({ ...required, ...optional }, { requiredKeys, noNullPrototype: true }) as fc.Arbitrary<
    R & Partial<O>
  >;
}

/** Text of any UTF-16 code units, lone surrogates included, with letters most of the time. */
function text(minLength: number, maxLength: number): fc.Arbitrary<string> {
  const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const unit = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(..."abc XYZ-_.:") },
    { weight: 1, arbitrary: codeUnit },
  );
  return fc.string({ unit, minLength, maxLength });
}

export const version: fc.Arbitrary<Version> = fc.constantFrom<Version[]>(1, "1");
export const identifier: fc.Arbitrary<string> = text(1, 256).filter((value) => /\S/u.test(value));
export const purpose: fc.Arbitrary<string> = text(1, 512);
export const action: fc.Arbitrary<string> = fc.oneof(fc.constantFrom("read", "write", "*"), text(1, 128));
export const pathSegment: fc.Arbitrary<string> = text(1, 256)
  .map((value) => value.replaceAll(/[/\\\p{Cc}]/gu, "x"))
  .filter((value) => value !== "." && value !== "..");
export const path: fc.Arbitrary<string[]> = fc.array(pathSegment, { maxLength: 64, size: "-1" });

const date = fc.date({
  min: new Date("0001-01-01T00:00:00Z"),
  max: new Date("9998-12-31T00:00:00Z"),
  noInvalidDate: true,
});
const offsetMinutes = fc.integer({ min: -1439, max: 1439 });

/** The date as it is written at an offset, or in UTC when the offset is undefined. */
function writtenAt(at: Date, minutes: number | undefined): string {
  const local = new Date(at.getTime() + (minutes ?? 0) * 60_000).toISOString().slice(0, -1);
  if (minutes === undefined) return `${local}Z`;
  const distance = Math.abs(minutes);
  return `${local}${minutes < 0 ? "-" : "+"}${twoDigits(Math.floor(distance / 60))}:${twoDigits(distance % 60)}`;
}

function twoDigits(count: number): string {
  return String(count).padStart(2, "0");
}

export const timestamp: fc.Arbitrary<string> = fc
  .tuple(date, fc.option(offsetMinutes, { nil: undefined }), fc.boolean())
  .map(([at, minutes, lower]) => (lower ? writtenAt(at, minutes).toLowerCase() : writtenAt(at, minutes)));

const json = fc.letrec<{ value: JsonValue; list: JsonValue[]; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    text(0, 64),
    // JSON.stringify drops the sign of minus zero.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 5 }),
  object: fc.dictionary(
    text(0, 32).filter((key) => key !== "__proto__"),
    tie("value"),
    { maxKeys: 5, noNullPrototype: true },
  ),
}));
export const jsonValue: fc.Arbitrary<JsonValue> = json.value;
export const jsonObject: fc.Arbitrary<JsonObject> = json.object;

export const agentRef: fc.Arbitrary<AgentRef> = shape({ kind: fc.constant("agent"), agentId: identifier });
export const principalRef: fc.Arbitrary<PrincipalRef> = fc.oneof(
  shape({ kind: fc.constant("human"), userId: identifier }),
  agentRef,
  shape({ kind: fc.constant("group"), conversationId: identifier }),
  shape({ kind: fc.constant("service"), serviceId: identifier }),
);

export const resourceRef: fc.Arbitrary<ResourceRef> = shape({ namespace: identifier, path }, { owner: principalRef });

export const scope: fc.Arbitrary<Scope> = fc.constantFrom("exact", "descendants");
export const capability: fc.Arbitrary<Capability> = shape(
  { resource: resourceRef, actions: fc.array(action, { minLength: 1, maxLength: 64 }), scope },
  { approval: fc.constant("each") },
);
const capabilities = fc.array(capability, { minLength: 1, maxLength: 64, size: "-1" });

/** A start that is not after its end, each possibly absent. */
const validityWindow = fc
  .tuple(fc.tuple(date, date), fc.tuple(offsetMinutes, offsetMinutes), fc.tuple(fc.boolean(), fc.boolean()))
  .map(([[one, other], [startOffset, endOffset], [hasStart, hasEnd]]) => ({
    ...(hasStart && { notBefore: writtenAt(one < other ? one : other, startOffset) }),
    ...(hasEnd && { expiresAt: writtenAt(one < other ? other : one, endOffset) }),
  }));
export const amount: fc.Arbitrary<Amount> = shape({
  unit: fc.constantFrom("EUR", "tokens", "a.b-c_1"),
  amount: fc.oneof(fc.nat().map(String), fc.constantFrom("0.5", "123456789012.000001", 0.1, 7)),
});
export const amounts: fc.Arbitrary<Amount[]> = fc.array(amount, { maxLength: 3 });
const amountText = fc.oneof(fc.nat().map(String), fc.constantFrom("0.5", "123456789012.000001"));
const unit = fc.constantFrom("EUR", "tokens", "gpt-4.1");
export const budget: fc.Arbitrary<Budget> = shape(
  { unit, limit: amountText },
  { per: fc.constantFrom("hour", "day", "week", "month", "total"), each: amountText },
);

export const constraints: fc.Arbitrary<Constraints> = fc
  .tuple(
    validityWindow,
    shape(
      {},
      {
        purposes: fc.array(purpose, { minLength: 1, maxLength: 64 }),
        maxUses: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        delegationDepth: fc.nat(16),
        budgets: fc.array(budget, { minLength: 1, maxLength: 4 }),
      },
    ),
  )
  .map(([bounds, others]) => ({ ...bounds, ...others }));

export const grant: fc.Arbitrary<Grant> = shape(
  {
    id: identifier,
    namespaceId: identifier,
    subject: principalRef,
    issuer: principalRef,
    capabilities,
    constraints,
    issuedAt: timestamp,
  },
  { revokedAt: timestamp, parentId: identifier, metadata: jsonObject },
);

export const authorityRequestInput: fc.Arbitrary<AuthorityRequestInput> = shape(
  { capabilities },
  { constraints, metadata: jsonObject },
);
export const authorityRequest: fc.Arbitrary<AuthorityRequest> = shape(
  {
    id: identifier,
    namespaceId: identifier,
    owner: principalRef,
    requester: principalRef,
    purpose,
    requestedAt: timestamp,
    capabilities,
  },
  { constraints, metadata: jsonObject },
);

const contextWithoutAuthority = {
  actor: principalRef,
  enabledToolNamespaces: fc.array(identifier, { maxLength: 256 }),
  namespaceId: identifier,
  now: timestamp,
  owner: principalRef,
  purpose,
  traceId: identifier,
};
export const requestParty: fc.Arbitrary<RequestParty> = shape({ actor: principalRef, credential: identifier });
export const accessContext: fc.Arbitrary<AccessContext> = shape(
  { ...contextWithoutAuthority, authority: principalRef },
  { executionId: identifier, triedBy: requestParty, askedBy: requestParty, credential: identifier },
);
export const discoveryContext: fc.Arbitrary<DiscoveryContext> = shape(contextWithoutAuthority, {
  authority: principalRef,
  executionId: identifier,
  triedBy: requestParty,
  askedBy: requestParty,
  credential: identifier,
});

export const authorizationRequest: fc.Arbitrary<AuthorizationRequest> = shape({ action, resource: resourceRef });
export const authorizeRequest: fc.Arbitrary<AuthorizeRequest> = shape(
  { action, resource: resourceRef },
  { spends: amounts },
);
export const authorizationDecision: fc.Arbitrary<AuthorizationDecision> = shape(
  { allowed: fc.boolean(), reasonCode: identifier },
  { matchedGrantId: identifier, metadata: jsonObject, requiredAuthority: authorityRequest },
);

export const errorObject: fc.Arbitrary<ErrorObject> = shape(
  { code: identifier, message: text(1, 4096) },
  { details: jsonObject, retryable: fc.boolean() },
);
export const requestError: fc.Arbitrary<RequestError> = shape({
  error: shape({ code: text(0, 256), message: text(0, 256), requestId: text(0, 128) }, { details: jsonObject }),
});

export const toolAnnotations: fc.Arbitrary<ToolAnnotations> = shape(
  {},
  { readOnly: fc.boolean(), destructive: fc.boolean(), idempotent: fc.boolean() },
);
const toolFields = {
  name: identifier,
  description: text(1, 8192),
  namespace: identifier,
  source: identifier,
  inputSchema: jsonObject,
  requiredCapability: authorizationRequest,
};
const optionalToolFields = { outputSchema: jsonObject, metadata: jsonObject };
export const toolDescriptor: fc.Arbitrary<ToolDescriptor> = fc.oneof(
  shape(
    { ...toolFields, readWrite: fc.constant("read") },
    {
      ...optionalToolFields,
      annotations: shape({}, { readOnly: fc.boolean(), destructive: fc.constant(false), idempotent: fc.boolean() }),
    },
  ),
  shape(
    { ...toolFields, readWrite: fc.constant("write") },
    {
      ...optionalToolFields,
      annotations: shape({}, { readOnly: fc.constant(false), destructive: fc.boolean(), idempotent: fc.boolean() }),
    },
  ),
);

/** A list with each key once, in the order of the keys' code units. */
function sortedSet<T>(element: fc.Arbitrary<T>, key: (each: T) => string, maxLength: number): fc.Arbitrary<T[]> {
  return fc
    .uniqueArray(element, { selector: key, maxLength, size: "-1" })
    .map((elements) => elements.toSorted((one, other) => (key(one) < key(other) ? -1 : 1)));
}

export const toolCatalog: fc.Arbitrary<ToolDescriptor[]> = sortedSet(toolDescriptor, (tool) => tool.name, 512);

export const toolCall: fc.Arbitrary<ToolCall> = shape({
  id: identifier,
  tool: identifier,
  arguments: jsonObject,
  requestedAt: timestamp,
  traceId: identifier,
});
const toolResultFields = { callId: identifier, tool: identifier, completedAt: timestamp };
export const toolResult: fc.Arbitrary<ToolResult> = fc.oneof(
  shape({ ...toolResultFields, status: fc.constant("succeeded"), output: jsonValue }, { metadata: jsonObject }),
  shape({ ...toolResultFields, status: fc.constant("denied"), error: errorObject }, { metadata: jsonObject }),
  shape({ ...toolResultFields, status: fc.constant("failed"), error: errorObject }, { metadata: jsonObject }),
);

export const namespaceEntry: fc.Arbitrary<NamespaceEntry> = shape({
  namespace: identifier,
  sources: sortedSet(identifier, String, 64).filter((sources) => sources.length > 0),
  toolCount: fc.nat(512),
  enabled: fc.boolean(),
});
export const namespaceCatalog: fc.Arbitrary<NamespaceCatalog> = sortedSet(
  namespaceEntry,
  (entry) => entry.namespace,
  256,
).map((namespaces) => {
  const enabled = namespaces.filter((entry) => entry.enabled).length;
  return { namespaces, summary: { enabled, disabled: namespaces.length - enabled, total: namespaces.length } };
});
const names = fc.array(identifier, { maxLength: 256 });
export const namespaceUpdate: fc.Arbitrary<NamespaceUpdate> = shape({}, { enable: names, disable: names }).filter(
  ({ enable = [], disable = [] }) => !enable.some((name) => disable.includes(name)),
);

export const reachEntry: fc.Arbitrary<ReachEntry> = shape({
  namespace: identifier,
  path,
  actions: fc.array(action),
  scope,
});
export const reachResult: fc.Arbitrary<ReachResult> = fc.oneof(
  shape({ status: fc.constant("computed"), reach: fc.array(reachEntry) }),
  shape({
    status: fc.constant("unavailable"),
    reasonCode: fc.constantFrom("usage_store_unavailable", "authority_unavailable"),
  }),
);

const operationFields = { operationId: identifier, action, resource: resourceRef };
const optionalOperationFields = { input: jsonValue, metadata: jsonObject };
export const resourceOperation: fc.Arbitrary<ResourceOperation> = shape(
  { ...operationFields, context: accessContext },
  optionalOperationFields,
);
export const resourceOperationRequest: fc.Arbitrary<ResourceOperationRequest> = shape(
  operationFields,
  optionalOperationFields,
);
const resourceResultFields = { operationId: identifier, completedAt: timestamp };
export const resourceResult: fc.Arbitrary<ResourceResult> = fc.oneof(
  shape({ ...resourceResultFields, status: fc.constant("succeeded"), output: jsonValue }, { metadata: jsonObject }),
  shape({ ...resourceResultFields, status: fc.constant("denied"), error: errorObject }, { metadata: jsonObject }),
  shape({ ...resourceResultFields, status: fc.constant("failed"), error: errorObject }, { metadata: jsonObject }),
);

export const provenance: fc.Arbitrary<NonNullable<MessageEnvelope["provenance"]>> = shape(
  { source: text(0, 256), parentIds: fc.array(identifier) },
  { metadata: jsonObject },
);
export const messageEnvelope: fc.Arbitrary<MessageEnvelope> = shape(
  {
    version,
    id: identifier,
    createdAt: timestamp,
    traceId: identifier,
    purpose,
    sender: principalRef,
    receiver: principalRef,
    payload: jsonValue,
  },
  { replyTo: identifier, provenance },
);
const actNeeds = fc.array(authorizationRequest, { minLength: 1, maxLength: 4 });
const rulePath = fc
  .tuple(fc.array(fc.constantFrom("to", "$to", "$event.participants"), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([steps, hasOptional]) => (hasOptional ? [...steps, "$cc?"] : steps));
export const argumentRule: fc.Arbitrary<ArgumentRule> = fc.oneof(
  shape({ path: rulePath }),
  shape({ paths: fc.array(rulePath, { minLength: 1, maxLength: 3 }) }),
);
const actParts = { arguments: jsonValue, spends: amounts };
export const actRequest: fc.Arbitrary<ActRequest> = shape(
  { version, id: identifier, tool: identifier, needs: actNeeds, requestedAt: timestamp, traceId: identifier },
  {
    ...actParts,
    write: fc.boolean(),
    executionId: identifier,
    leaseSeconds: fc.integer({ min: 1, max: 86_400 }),
    dryRun: fc.constant(true as const),
  },
);
export const actError: fc.Arbitrary<ActError> = shape(
  { code: identifier, message: text(1, 40) },
  { nothingHappened: fc.constant(true as const) },
);
const outcomeFields = { version, traceId: identifier };
const outcomeParts = { executionId: identifier, spent: amounts, labels: fc.array(identifier, { maxLength: 3 }) };
export const actOutcome: fc.Arbitrary<ActOutcome> = fc.oneof(
  shape({ ...outcomeFields, status: fc.constant("succeeded" as const) }, { ...outcomeParts, output: jsonValue }),
  shape({ ...outcomeFields, status: fc.constant("failed" as const) }, { ...outcomeParts, error: actError }),
);
const endedFields = { id: identifier, completedAt: timestamp };
const late = fc.constant(true as const);
export const actState: fc.Arbitrary<ActState> = fc.oneof(
  shape(
    { id: identifier, status: fc.constant("allowed" as const), grants: fc.array(identifier, { maxLength: 3 }) },
    { expiresAt: timestamp },
  ),
  shape(
    { id: identifier, status: fc.constant("denied" as const), error: errorObject },
    { requiredAuthority: authorityRequest },
  ),
  shape(
    { id: identifier, status: fc.constant("waiting" as const) },
    { escalationId: identifier, requestHash: identifier, expiresAt: timestamp, url: text(0, 20) },
  ),
  shape({ ...endedFields, status: fc.constant("succeeded" as const) }, { late, output: jsonValue }),
  shape({ ...endedFields, status: fc.constant("failed" as const) }, { late, error: actError }),
  shape({ id: identifier, status: fc.constant("interrupted" as const), expiresAt: timestamp }),
);

export const act: fc.Arbitrary<Act> = fc.oneof(
  shape({ kind: fc.constant("act" as const), tool: identifier, needs: actNeeds }, actParts),
  shape({ kind: fc.constant("tool"), tool: identifier, arguments: jsonObject }),
  shape({ kind: fc.constant("resource"), action, resource: resourceRef }, { input: jsonValue, metadata: jsonObject }),
  shape(
    { kind: fc.constant("message"), receiver: principalRef, payload: jsonValue },
    { replyTo: identifier, provenance },
  ),
  shape(
    { kind: fc.constant("turn"), agent: agentRef, sender: principalRef, payload: jsonValue },
    { replyTo: identifier, provenance, state: jsonObject, metadata: jsonObject },
  ),
);
const messageResultFields = { messageId: identifier, timestamp };
export const messageResult: fc.Arbitrary<MessageResult> = fc.oneof(
  shape({ ...messageResultFields, status: fc.constant("accepted") }, { metadata: jsonObject }),
  shape({ ...messageResultFields, status: fc.constant("delivered") }, { metadata: jsonObject }),
  shape({ ...messageResultFields, status: fc.constant("denied"), error: errorObject }, { metadata: jsonObject }),
  shape({ ...messageResultFields, status: fc.constant("failed"), error: errorObject }, { metadata: jsonObject }),
);

export const turnOptions: fc.Arbitrary<TurnOptions> = shape(
  {},
  {
    maxSteps: fc.integer({ min: 1, max: 1000 }),
    maxToolCalls: fc.integer({ min: 1, max: 10_000 }),
    timeoutMs: fc.integer({ min: 1, max: 600_000 }),
  },
);
export const turnRequest: fc.Arbitrary<TurnRequest> = shape(
  { version, executionId: identifier, agent: agentRef, message: messageEnvelope },
  { metadata: jsonObject, state: jsonObject, options: turnOptions },
);
export const turnEvent: fc.Arbitrary<TurnEvent> = shape({
  version,
  eventId: identifier,
  executionId: identifier,
  traceId: identifier,
  sequence: fc.nat(),
  type: fc.constantFrom(
    "turn.started",
    "tool.requested",
    "tool.completed",
    "runtime.event",
    "turn.completed",
    "turn.escalated",
    "turn.failed",
    "turn.denied",
    "turn.cancelled",
  ),
  data: jsonValue,
  occurredAt: timestamp,
});
export const escalationInput: fc.Arbitrary<EscalationInput> = shape(
  { reason: text(1, 4096) },
  { requestedAuthority: authorityRequestInput },
);
export const escalation: fc.Arbitrary<Escalation> = shape(
  { status: fc.constant("pending"), reason: text(0, 256), requestedAt: timestamp, reviewer: principalRef },
  { requestedAuthority: authorityRequest },
);
const turnResultFields = {
  version,
  executionId: identifier,
  traceId: identifier,
  startedAt: timestamp,
  completedAt: timestamp,
  events: fc.array(turnEvent, { size: "-1" }),
};
export const turnResult: fc.Arbitrary<TurnResult> = fc.oneof(
  shape({ ...turnResultFields, status: fc.constant("succeeded"), output: jsonValue }, { metadata: jsonObject }),
  shape({ ...turnResultFields, status: fc.constant("denied"), error: errorObject }, { metadata: jsonObject }),
  shape({ ...turnResultFields, status: fc.constant("failed"), error: errorObject }, { metadata: jsonObject }),
  shape({ ...turnResultFields, status: fc.constant("cancelled") }, { error: errorObject, metadata: jsonObject }),
  shape({ ...turnResultFields, status: fc.constant("escalated"), escalation }, { metadata: jsonObject }),
);
export const turnState: fc.Arbitrary<TurnState> = shape(
  {
    version,
    executionId: identifier,
    traceId: identifier,
    agent: agentRef,
    status: fc.constantFrom("running", "waiting", "succeeded", "denied", "failed", "cancelled", "escalated"),
    startedAt: timestamp,
    updatedAt: timestamp,
    steps: fc.nat(),
    toolCalls: fc.nat(),
  },
  { completedAt: timestamp, escalation, result: turnResult },
);
export const turnList: fc.Arbitrary<TurnList> = shape(
  { turns: fc.array(turnState, { size: "-1" }) },
  { next: fc.string() },
);
export const turnEventList: fc.Arbitrary<TurnEventList> = shape({ events: fc.array(turnEvent, { size: "-1" }) });

export const auditEvent: fc.Arbitrary<AuditEvent> = shape(
  {
    id: identifier,
    version,
    type: fc.constantFrom(
      "authorization.checked",
      "tool.invoked",
      "resource.invoked",
      "message.sent",
      "tool.catalog.listed",
      "tool.namespaces.listed",
      "tool.namespaces.updated",
      "reach.read",
      "turn.started",
      "turn.ended",
      "escalation.requested",
    ),
    outcome: fc.constantFrom("allowed", "denied", "succeeded", "failed", "cancelled", "escalated"),
    at: timestamp,
    traceId: identifier,
    namespaceId: identifier,
    actor: principalRef,
    owner: principalRef,
    purpose,
  },
  {
    authority: principalRef,
    executionId: identifier,
    resource: resourceRef,
    action,
    grantId: identifier,
    tool: identifier,
    operationId: identifier,
    messageId: identifier,
    receiver: principalRef,
    reason: identifier,
    metadata: jsonObject,
  },
);

export const health: fc.Arbitrary<Health> = fc.constant({ status: "ok", protocolVersion: "1" });
