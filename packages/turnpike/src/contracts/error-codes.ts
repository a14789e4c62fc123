/** Where a code is seen: in an HTTP error, in one family of results, in an authorization decision, or elsewhere. */
export type CodeFamily =
  | "http"
  | "authorization"
  | "tool"
  | "resource"
  | "message"
  | "turn"
  | "derivation"
  | "client"
  | "host";

/** What there is to know about one code. */
export interface CodeEntry {
  families: readonly [CodeFamily, ...CodeFamily[]];
  /** The HTTP status of a request-level error with this code. */
  status?: number;
  meaning: string;
  /** Whether the same request may succeed later without anything being changed for it. */
  retry: boolean;
}

const decision = ["authorization", "tool", "resource", "message", "turn"] as const;

/** Every code that Turnpike produces. The set is open: hosts add their own, clients tolerate what they do not know. */
export const errorCodes = {
  // Requests that never became an operation
  invalid_json: { families: ["http"], status: 400, meaning: "The body is not JSON.", retry: false },
  permission_denied: { families: ["http"], status: 403, meaning: "The host refused the request.", retry: false },
  not_found: {
    families: ["http", "tool", "resource", "host"],
    status: 404,
    meaning: "There is nothing of that name or at that path.",
    retry: false,
  },
  method_not_allowed: { families: ["http"], status: 405, meaning: "The path does not know this verb.", retry: false },
  request_aborted: { families: ["http"], status: 499, meaning: "The caller went away before any effect.", retry: true },
  internal_error: {
    families: ["http"],
    status: 500,
    meaning: "Something failed inside; nothing more is said.",
    retry: true,
  },
  invalid_access_context: {
    families: ["http"],
    status: 500,
    meaning: "The host resolved no valid access context for this operation.",
    retry: false,
  },
  namespace_settings_not_configured: {
    families: ["http"],
    status: 501,
    meaning: "This deployment has no store for tool namespace settings.",
    retry: false,
  },
  namespace_settings_unavailable: {
    families: ["http"],
    status: 503,
    meaning: "The store for tool namespace settings did not answer.",
    retry: true,
  },

  // Acts
  outcome_conflict: {
    families: ["http"],
    status: 409,
    meaning: "Another outcome of this act was reported before.",
    retry: false,
  },
  tool_is_offered: {
    families: ["http"],
    status: 400,
    meaning: "The service offers a tool of this name itself: invoke it instead of beginning an act.",
    retry: false,
  },

  // Decisions
  allowed: { families: ["authorization"], meaning: "A grant covers the act.", retry: false },
  invalid_request: {
    families: ["http", ...decision],
    status: 400,
    meaning: "The request does not fit the contract.",
    retry: false,
  },
  invalid_context: { families: decision, meaning: "The access context does not fit the contract.", retry: false },
  no_matching_grant: { families: decision, meaning: "No grant covers the act.", retry: false },
  grant_exhausted: { families: decision, meaning: "Every grant that covers the act has been used up.", retry: false },
  budget_exhausted: {
    families: decision,
    meaning: "The act asks for more than a budget of the grant has left, or lets one act spend.",
    retry: false,
  },
  budget_unit: {
    families: decision,
    meaning: "The act names no amount in a unit for which the grant has a budget.",
    retry: false,
  },
  amount_required: {
    families: decision,
    meaning: "The grant has a budget, and the act does not say what it costs.",
    retry: false,
  },
  host_policy_denied: { families: decision, meaning: "The host's policy refused what a grant allows.", retry: false },
  approval_required: {
    families: decision,
    meaning: "A grant covers the act once a person has approved it.",
    retry: true,
  },
  approval_denied: { families: decision, meaning: "A person denied this act.", retry: false },
  approval_expired: { families: decision, meaning: "The act was not approved in time.", retry: false },
  permit_store_unavailable: {
    families: decision,
    meaning: "The approvals of the act could not be read, or its approval could not be asked for.",
    retry: true,
  },
  authority_unavailable: {
    families: ["http", ...decision],
    status: 503,
    meaning: "The grants could not be read or cannot be trusted.",
    retry: true,
  },
  usage_store_unavailable: {
    families: decision,
    meaning: "The uses of a bounded grant could not be counted.",
    retry: true,
  },
  budget_store_unavailable: {
    families: decision,
    meaning: "What was spent of a grant's budget could not be read or counted.",
    retry: true,
  },
  host_policy_unavailable: { families: decision, meaning: "The host's policy gave no usable answer.", retry: true },
  delegation_chain_unverified: {
    families: decision,
    meaning: "A grant's delegation chain could not be read.",
    retry: true,
  },
  delegation_chain_invalid: { families: decision, meaning: "A grant's delegation chain breaks a rule.", retry: false },
  audit_unavailable: {
    families: ["http", ...decision],
    status: 503,
    meaning: "The decision could not be recorded, so nothing was done.",
    retry: true,
  },

  credential_revoked: {
    families: ["tool", "turn"],
    meaning: "The access that the turn was admitted with was revoked while it ran.",
    retry: false,
  },

  // Tools
  tool_unavailable: { families: ["tool", "turn"], meaning: "The caller cannot use this tool.", retry: false },
  trace_mismatch: {
    families: ["tool"],
    meaning: "The call's trace is not the request's: send the header x-trace-id: <the call's traceId>.",
    retry: false,
  },
  tool_call_limit_exceeded: { families: ["tool"], meaning: "The turn has used up its tool calls.", retry: false },
  duplicate_call_id: { families: ["tool"], meaning: "This call id was already used in the turn.", retry: false },
  invalid_tool_arguments: { families: ["tool"], meaning: "The tool does not accept these arguments.", retry: false },
  invalid_tool_requirement: {
    families: ["tool"],
    meaning: "The tool asked for more than the ceiling it declares.",
    retry: false,
  },
  tool_requirement_resolution_failed: {
    families: ["tool"],
    meaning: "The tool could not say what this call needs.",
    retry: false,
  },
  tool_catalog_unavailable: { families: ["tool"], meaning: "The provider of this tool did not answer.", retry: true },
  tool_execution_failed: { families: ["tool"], meaning: "The tool failed; it may have had an effect.", retry: false },
  tool_interrupted: {
    families: ["tool"],
    meaning: "The process ended while the tool ran; it may have had its effect.",
    retry: false,
  },
  escalation_denied: { families: ["tool"], meaning: "The escalation was denied.", retry: false },
  escalation_expired: { families: ["tool"], meaning: "The escalation was not answered in time.", retry: false },
  invalid_tool_result: {
    families: ["tool"],
    meaning: "The tool answered with something that is no result.",
    retry: false,
  },

  // Resources
  resource_provider_not_found: { families: ["resource"], meaning: "No provider serves this namespace.", retry: false },
  resource_execution_failed: {
    families: ["resource"],
    meaning: "The provider failed; it may have had an effect.",
    retry: false,
  },
  invalid_resource_result: {
    families: ["resource"],
    meaning: "The provider answered with something that is no result.",
    retry: false,
  },

  // Messages
  message_context_mismatch: {
    families: ["message", "turn"],
    meaning:
      "Sender, purpose or trace of the message are not the caller's: send the headers x-purpose: <the message's purpose> and " +
      "x-trace-id: <the message's traceId>.",
    retry: false,
  },
  message_transport_not_configured: {
    families: ["message"],
    meaning: "This deployment delivers no messages.",
    retry: false,
  },
  message_delivery_failed: {
    families: ["message"],
    meaning: "The transport failed; the message may have been delivered.",
    retry: false,
  },
  invalid_message_receipt: {
    families: ["message"],
    meaning: "The transport answered with something that is no result.",
    retry: false,
  },

  // Turns
  actor_mismatch: { families: ["turn"], meaning: "The context's actor is not the turn's agent.", retry: false },
  receiver_mismatch: { families: ["turn"], meaning: "The message is not addressed to the turn's agent.", retry: false },
  runtime_failed: { families: ["turn"], meaning: "The runtime failed.", retry: true },
  invalid_runtime_outcome: {
    families: ["turn"],
    meaning: "The runtime ended with something that is no outcome.",
    retry: false,
  },
  step_limit_exceeded: { families: ["tool", "turn"], meaning: "The turn has used up its steps.", retry: false },
  token_limit_exceeded: { families: ["turn"], meaning: "The turn has used up its tokens.", retry: false },
  turn_interrupted: {
    families: ["turn"],
    meaning: "The process that ran the turn ended, and the turn cannot go on; its calls may have had effects.",
    retry: false,
  },
  driver_failed: { families: ["turn"], meaning: "The driver failed.", retry: true },
  invalid_driver_decision: {
    families: ["turn"],
    meaning: "The driver answered with something that is no decision.",
    retry: false,
  },
  turn_cancelled: { families: ["turn"], meaning: "The turn reached its deadline or was cancelled.", retry: true },
  invalid_turn_state: { families: ["turn"], meaning: "The turn's state holds no conversation of ours.", retry: false },
  model_unavailable: { families: ["turn"], meaning: "The model's provider did not answer to the end.", retry: true },
  model_rate_limited: { families: ["turn"], meaning: "The model's provider takes no more requests now.", retry: true },
  model_rejected_request: {
    families: ["turn"],
    meaning: "The model's provider refused the request.",
    retry: false,
  },
  model_response_invalid: {
    families: ["turn"],
    meaning: "The model's provider answered with something that is no reply.",
    retry: false,
  },
  model_output_truncated: {
    families: ["turn"],
    meaning: "The model's reply ended at its token limit.",
    retry: false,
  },
  model_refused: {
    families: ["turn"],
    meaning: "The model, or its provider's filter, refused to reply.",
    retry: false,
  },

  // Rules of delegation, as deriveGrant refuses and a chain breaks them
  invalid_parent: { families: ["derivation"], meaning: "The parent does not fit the contract.", retry: false },
  invalid_ask: { families: ["derivation"], meaning: "The ask does not fit the contract.", retry: false },
  parent_missing: { families: ["derivation"], meaning: "The parent does not exist.", retry: false },
  parent_inactive: { families: ["derivation"], meaning: "The parent is not active at that instant.", retry: false },
  parent_elsewhere: { families: ["derivation"], meaning: "The parent belongs to another namespace.", retry: false },
  parent_not_held: {
    families: ["derivation"],
    meaning: "The parent was not issued to the child's issuer.",
    retry: false,
  },
  parent_bounded: {
    families: ["derivation"],
    meaning: "A parent with counted uses cannot be delegated.",
    retry: false,
  },
  delegation_not_allowed: { families: ["derivation"], meaning: "The parent may not be delegated.", retry: false },
  delegation_too_deep: {
    families: ["derivation"],
    meaning: "The child may be delegated as far as its parent or further.",
    retry: false,
  },
  chain_too_long: { families: ["derivation"], meaning: "The chain has more than 16 links.", retry: false },
  capability_exceeds_parent: {
    families: ["derivation"],
    meaning: "A capability reaches beyond the parent's.",
    retry: false,
  },
  purposes_exceed_parent: { families: ["derivation"], meaning: "A purpose is not among the parent's.", retry: false },
  window_exceeds_parent: {
    families: ["derivation"],
    meaning: "The child is valid when its parent is not.",
    retry: false,
  },
  budget_exceeds_parent: {
    families: ["derivation"],
    meaning: "A budget is larger than one above it of the same unit and window.",
    retry: false,
  },
  empty_window: { families: ["derivation"], meaning: "The child would never be valid.", retry: false },

  // The client's own
  invalid_response: {
    families: ["client"],
    meaning: "The server answered with something that fits no contract.",
    retry: false,
  },
  request_failed: { families: ["client"], meaning: "No answer arrived.", retry: true },

  // The host's own
  unauthenticated: {
    families: ["host"],
    status: 401,
    meaning: "No valid credential came with the request.",
    retry: false,
  },
  purpose_not_allowed: {
    families: ["host"],
    status: 403,
    meaning: "The credential does not allow this purpose.",
    retry: false,
  },
  sender_not_allowed: {
    families: ["host"],
    status: 403,
    meaning: "The credential may not start turns with a message from this sender.",
    retry: false,
  },
  replay_pending: {
    families: ["http", "host"],
    status: 409,
    meaning: "The same request is still running.",
    retry: true,
  },
  replay_interrupted: {
    families: ["http", "host"],
    status: 409,
    meaning: "The same request died with its process; its effect may have happened.",
    retry: false,
  },
  replay_conflict: {
    families: ["http", "host"],
    status: 409,
    meaning: "This id was used for another request.",
    retry: false,
  },
  replay_unavailable: {
    families: ["host"],
    status: 503,
    meaning: "The replay store did not answer; nothing ran.",
    retry: true,
  },
  database_went_back: {
    families: ["host"],
    status: 503,
    meaning: "The database lost rows that were acknowledged, and no operator has accepted that yet; nothing ran.",
    retry: true,
  },
  request_timeout: { families: ["host"], status: 408, meaning: "The request did not arrive in time.", retry: true },
  payload_too_large: {
    families: ["host"],
    status: 413,
    meaning: "The body is larger than the host takes.",
    retry: false,
  },
  rate_limited: { families: ["host"], status: 429, meaning: "Too many requests with this credential.", retry: true },
  conflict: {
    families: ["host"],
    status: 409,
    meaning: "Another operator was first; read it again before you decide.",
    retry: false,
  },
  invariant_violated: {
    families: ["host"],
    status: 409,
    meaning: "Grants would break a rule that operators have set; nothing was changed.",
    retry: false,
  },
  escalation_unavailable: {
    families: ["turn"],
    meaning: "The escalation to the owner could not be stored, so the owner was not asked.",
    retry: true,
  },
  too_many_escalations: {
    families: ["turn"],
    meaning:
      "The actor has as many open escalations as it may have: no more are opened until some are answered or expire.",
    retry: true,
  },
  already_exists: { families: ["tool", "resource"], meaning: "There is something at this path.", retry: false },
  version_conflict: {
    families: ["tool", "resource"],
    meaning: "The file has another version than the one that was expected.",
    retry: false,
  },
  content_too_large: { families: ["tool", "resource"], meaning: "The content is larger than allowed.", retry: false },
  quota_exceeded: {
    families: ["tool", "resource", "message"],
    meaning: "There are as many as there may be.",
    retry: false,
  },
  invalid_pattern: { families: ["tool", "resource"], meaning: "The pattern cannot be searched for.", retry: false },
  invalid_cursor: {
    families: ["tool", "resource", "host"],
    status: 400,
    meaning: "The cursor is not one.",
    retry: false,
  },
  output_too_large: {
    families: ["host", "tool"],
    meaning: "The tool's output is larger than the host takes; it may have had an effect.",
    retry: false,
  },
  mcp_tool_error: { families: ["host", "tool"], meaning: "The MCP server says that its tool failed.", retry: false },
  mcp_server_error: {
    families: ["host", "tool"],
    meaning: "The MCP server refused to read a resource or to use a prompt.",
    retry: false,
  },
  mcp_unsupported: {
    families: ["host", "tool"],
    meaning: "The MCP server asks for something that the host does not carry; it may have had an effect.",
    retry: false,
  },
  overloaded: { families: ["host"], status: 503, meaning: "The host runs as many turns as it can.", retry: true },
} as const satisfies Record<string, CodeEntry>;

/** A code of Turnpike's own. */
export type ErrorCode = keyof typeof errorCodes;

const beforeAnyEffect: ReadonlySet<string> = new Set<ErrorCode>([
  // Requests that never became an operation
  "invalid_json",
  "permission_denied",
  "method_not_allowed",
  "request_aborted",
  "request_timeout",
  "invalid_access_context",
  "tool_is_offered",
  "unauthenticated",
  "purpose_not_allowed",
  "payload_too_large",
  "rate_limited",
  "overloaded",
  // Decisions
  "invalid_request",
  "invalid_context",
  "no_matching_grant",
  "grant_exhausted",
  "budget_exhausted",
  "budget_unit",
  "amount_required",
  "host_policy_denied",
  "approval_required",
  "approval_denied",
  "approval_expired",
  "permit_store_unavailable",
  "authority_unavailable",
  "usage_store_unavailable",
  "budget_store_unavailable",
  "host_policy_unavailable",
  "delegation_chain_unverified",
  "delegation_chain_invalid",
  "audit_unavailable",
  // What is checked before a tool, a provider, a transport or a runtime is called
  "tool_unavailable",
  "trace_mismatch",
  "tool_call_limit_exceeded",
  "duplicate_call_id",
  "invalid_tool_arguments",
  "invalid_tool_requirement",
  "tool_requirement_resolution_failed",
  "tool_catalog_unavailable",
  "resource_provider_not_found",
  "message_transport_not_configured",
  "message_context_mismatch",
  "actor_mismatch",
  "receiver_mismatch",
]);

/**
 * Whether an operation that was refused with this code surely did nothing. Of a code it does not know it says no.
 *
 * @example
 * import { saysNothingRan } from "turnpike/contracts";
 *
 * console.log(saysNothingRan("no_matching_grant"), saysNothingRan("tool_failed")); // true false
 */
export function saysNothingRan(code: string): boolean {
  return beforeAnyEffect.has(code);
}

type CodeOf<Family extends CodeFamily> = {
  [Code in ErrorCode]: Family extends (typeof errorCodes)[Code]["families"][number] ? Code : never;
}[ErrorCode];

/** Why a decision is what it is. */
export type ReasonCode = CodeOf<"authorization">;

/** The rule of delegation that is broken. */
export type DelegationRule = CodeOf<"derivation">;
