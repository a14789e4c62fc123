export {
  canonicalJson,
  describeExpectation,
  describeIssues,
  findChangedNumber,
  parseInstant,
  readJsonText,
  type JsonObject,
  type JsonTextReading,
  type JsonValue,
  type UnreadableJson,
} from "../internal/index.ts";
export {
  AccessContextSchema,
  AuthorizationDecisionSchema,
  AuthorizationRequestSchema,
  AuthorizeRequestSchema,
  DiscoveryContextSchema,
  RequestPartySchema,
  type AccessContext,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type AuthorizeRequest,
  type DiscoveryContext,
  type RequestParty,
} from "./access.ts";
export { ActSchema, type Act } from "./act.ts";
export {
  ActErrorSchema,
  ActOutcomeSchema,
  ActRequestSchema,
  ActStateSchema,
  type ActError,
  type ActOutcome,
  type ActRequest,
  type ActState,
} from "./act-request.ts";
export { AmountSchema, AmountsSchema, type Amount } from "./amount.ts";
export {
  ArgumentRuleError,
  ArgumentRuleSchema,
  optionalArguments,
  placesBy,
  writeArgument,
  type ArgumentRule,
  type Places,
} from "./argument-rules.ts";
export {
  AuditEventSchema,
  AuditEventTypeSchema,
  AuditOutcomeSchema,
  type AuditEvent,
  type AuditEventType,
  type AuditOutcome,
} from "./audit.ts";
export { BudgetSchema, type Budget, type BudgetPeriod } from "./budget.ts";
export {
  errorCodes,
  saysNothingRan,
  type CodeEntry,
  type CodeFamily,
  type DelegationRule,
  type ErrorCode,
  type ReasonCode,
} from "./error-codes.ts";
export { ErrorObjectSchema, RequestErrorSchema, type ErrorObject, type RequestError } from "./errors.ts";
export {
  AuthorityRequestInputSchema,
  AuthorityRequestSchema,
  CapabilitySchema,
  ConstraintsSchema,
  GrantSchema,
  ScopeSchema,
  type AuthorityRequestInput,
  type AuthorityRequest,
  type Capability,
  type Constraints,
  type Grant,
  type Scope,
} from "./grant.ts";
export { JsonObjectSchema, JsonValueSchema } from "./json.ts";
export {
  MessageEnvelopeSchema,
  MessageResultSchema,
  ProvenanceSchema,
  type MessageEnvelope,
  type MessageResult,
} from "./message.ts";
export {
  NamespaceCatalogSchema,
  NamespaceEntrySchema,
  NamespaceUpdateSchema,
  type NamespaceCatalog,
  type NamespaceEntry,
  type NamespaceUpdate,
} from "./namespace.ts";
export {
  AgentRefSchema,
  parsePrincipal,
  PrincipalRefSchema,
  principalId,
  principalKey,
  samePrincipal,
  type AgentRef,
  type PrincipalRef,
} from "./principal.ts";
export { ReachEntrySchema, ReachResultSchema, type ReachEntry, type ReachResult } from "./reach.ts";
export { ResourceRefSchema, type ResourceRef } from "./resource.ts";
export {
  ResourceOperationRequestSchema,
  ResourceOperationSchema,
  ResourceResultSchema,
  type ResourceOperation,
  type ResourceOperationRequest,
  type ResourceResult,
} from "./resource-operation.ts";
export { HealthSchema, routes, type Health, type Route, type RouteName } from "./routes.ts";
export {
  ActionSchema,
  IdentifierSchema,
  PathSchema,
  PathSegmentSchema,
  PurposeSchema,
  TimestampSchema,
  VersionSchema,
  type Version,
} from "./scalars.ts";
export {
  ToolAnnotationsSchema,
  ToolCallSchema,
  ToolCatalogSchema,
  ToolDescriptorSchema,
  ToolResultSchema,
  type ToolAnnotations,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
} from "./tool.ts";
export {
  EscalationInputSchema,
  EscalationSchema,
  TurnEventListSchema,
  TurnEventSchema,
  TurnEventTypeSchema,
  TurnListSchema,
  TurnOptionsSchema,
  TurnRequestSchema,
  TurnResultSchema,
  TurnStateSchema,
  TurnStatusSchema,
  type Escalation,
  type EscalationInput,
  type TurnEvent,
  type TurnEventList,
  type TurnEventType,
  type TurnList,
  type TurnOptions,
  type TurnRequest,
  type TurnResult,
  type TurnState,
  type TurnStatus,
} from "./turn.ts";
