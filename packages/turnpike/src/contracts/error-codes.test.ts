import { expect, test } from "vitest";
import { type CodeEntry, errorCodes, saysNothingRan } from "./error-codes.ts";

const decision = ["authorization", "tool", "resource", "message", "turn"];

const rows = [
  { code: "invalid_json", status: 400, families: ["http"] },
  { code: "invalid_request", status: 400, families: ["http", ...decision] },
  { code: "permission_denied", status: 403, families: ["http"] },
  { code: "not_found", status: 404, families: ["http", "tool", "resource", "host"] },
  { code: "method_not_allowed", status: 405, families: ["http"] },
  { code: "invalid_access_context", status: 500, families: ["http"] },
  { code: "request_aborted", status: 499, families: ["http"] },
  { code: "namespace_settings_not_configured", status: 501, families: ["http"] },
  { code: "authority_unavailable", status: 503, families: ["http", ...decision] },
  { code: "namespace_settings_unavailable", status: 503, families: ["http"] },
  { code: "audit_unavailable", status: 503, families: ["http", ...decision] },
  { code: "internal_error", status: 500, families: ["http"] },

  { code: "outcome_conflict", status: 409, families: ["http"] },
  { code: "tool_is_offered", status: 400, families: ["http"] },

  { code: "allowed", families: ["authorization"] },
  { code: "no_matching_grant", families: decision },
  { code: "grant_exhausted", families: decision },
  { code: "invalid_context", families: decision },
  { code: "host_policy_denied", families: decision },
  { code: "approval_required", families: decision },
  { code: "approval_denied", families: decision },
  { code: "approval_expired", families: decision },
  { code: "permit_store_unavailable", families: decision },
  { code: "usage_store_unavailable", families: decision },
  { code: "budget_store_unavailable", families: decision },
  { code: "budget_exhausted", families: decision },
  { code: "budget_unit", families: decision },
  { code: "amount_required", families: decision },
  { code: "host_policy_unavailable", families: decision },
  { code: "delegation_chain_unverified", families: decision },
  { code: "delegation_chain_invalid", families: decision },

  { code: "credential_revoked", families: ["tool", "turn"] },
  { code: "tool_unavailable", families: ["tool", "turn"] },
  { code: "trace_mismatch", families: ["tool"] },
  { code: "step_limit_exceeded", families: ["tool", "turn"] },
  { code: "token_limit_exceeded", families: ["turn"] },
  { code: "tool_call_limit_exceeded", families: ["tool"] },
  { code: "duplicate_call_id", families: ["tool"] },
  { code: "invalid_tool_arguments", families: ["tool"] },
  { code: "invalid_tool_requirement", families: ["tool"] },
  { code: "tool_requirement_resolution_failed", families: ["tool"] },
  { code: "tool_catalog_unavailable", families: ["tool"] },
  { code: "tool_execution_failed", families: ["tool"] },
  { code: "invalid_tool_result", families: ["tool"] },
  { code: "tool_interrupted", families: ["tool"] },
  { code: "escalation_denied", families: ["tool"] },
  { code: "escalation_expired", families: ["tool"] },

  { code: "resource_provider_not_found", families: ["resource"] },
  { code: "resource_execution_failed", families: ["resource"] },
  { code: "invalid_resource_result", families: ["resource"] },

  { code: "message_context_mismatch", families: ["message", "turn"] },
  { code: "message_transport_not_configured", families: ["message"] },
  { code: "message_delivery_failed", families: ["message"] },
  { code: "invalid_message_receipt", families: ["message"] },

  { code: "actor_mismatch", families: ["turn"] },
  { code: "receiver_mismatch", families: ["turn"] },
  { code: "runtime_failed", families: ["turn"] },
  { code: "invalid_runtime_outcome", families: ["turn"] },
  { code: "driver_failed", families: ["turn"] },
  { code: "invalid_driver_decision", families: ["turn"] },
  { code: "turn_cancelled", families: ["turn"] },
  { code: "turn_interrupted", families: ["turn"] },
  { code: "escalation_unavailable", families: ["turn"] },
  { code: "too_many_escalations", families: ["turn"] },

  { code: "already_exists", families: ["tool", "resource"] },
  { code: "version_conflict", families: ["tool", "resource"] },
  { code: "content_too_large", families: ["tool", "resource"] },
  { code: "quota_exceeded", families: ["tool", "resource", "message"] },
  { code: "invalid_pattern", families: ["tool", "resource"] },
  { code: "invalid_cursor", status: 400, families: ["tool", "resource", "host"] },
  { code: "invalid_turn_state", families: ["turn"] },
  { code: "model_unavailable", families: ["turn"] },
  { code: "model_rate_limited", families: ["turn"] },
  { code: "model_rejected_request", families: ["turn"] },
  { code: "model_response_invalid", families: ["turn"] },
  { code: "model_output_truncated", families: ["turn"] },
  { code: "model_refused", families: ["turn"] },

  { code: "invalid_parent", families: ["derivation"] },
  { code: "invalid_ask", families: ["derivation"] },
  { code: "parent_missing", families: ["derivation"] },
  { code: "parent_inactive", families: ["derivation"] },
  { code: "parent_elsewhere", families: ["derivation"] },
  { code: "parent_not_held", families: ["derivation"] },
  { code: "parent_bounded", families: ["derivation"] },
  { code: "delegation_not_allowed", families: ["derivation"] },
  { code: "delegation_too_deep", families: ["derivation"] },
  { code: "chain_too_long", families: ["derivation"] },
  { code: "capability_exceeds_parent", families: ["derivation"] },
  { code: "purposes_exceed_parent", families: ["derivation"] },
  { code: "window_exceeds_parent", families: ["derivation"] },
  { code: "budget_exceeds_parent", families: ["derivation"] },
  { code: "empty_window", families: ["derivation"] },

  { code: "invalid_response", families: ["client"] },
  { code: "request_failed", families: ["client"] },

  { code: "unauthenticated", status: 401, families: ["host"] },
  { code: "purpose_not_allowed", status: 403, families: ["host"] },
  { code: "sender_not_allowed", status: 403, families: ["host"] },
  { code: "request_timeout", status: 408, families: ["host"] },
  { code: "payload_too_large", status: 413, families: ["host"] },
  { code: "invariant_violated", status: 409, families: ["host"] },
  { code: "conflict", status: 409, families: ["host"] },
  { code: "rate_limited", status: 429, families: ["host"] },
  { code: "overloaded", status: 503, families: ["host"] },
  { code: "replay_pending", status: 409, families: ["http", "host"] },
  { code: "replay_interrupted", status: 409, families: ["http", "host"] },
  { code: "replay_conflict", status: 409, families: ["http", "host"] },
  { code: "replay_unavailable", status: 503, families: ["host"] },
  { code: "database_went_back", status: 503, families: ["host"] },
  { code: "output_too_large", families: ["host", "tool"] },
  { code: "mcp_tool_error", families: ["host", "tool"] },
  { code: "mcp_server_error", families: ["host", "tool"] },
  { code: "mcp_unsupported", families: ["host", "tool"] },
];

const table = new Map<string, CodeEntry>(Object.entries(errorCodes));

test("the codes are those of the specification, and no other", () => {
  expect([...table.keys()].toSorted()).toEqual(rows.map(({ code }) => code).toSorted());
});

for (const { code, status, families } of rows) {
  test(`${code} is of ${families.join(", ")} and ${status === undefined ? "has no status" : `answers ${status}`}`, () => {
    expect(table.get(code)?.families).toEqual(families);
    expect(table.get(code)?.status).toBe(status);
  });
}

for (const { what, codes } of [
  { what: "failed in the middle", codes: ["tool_execution_failed", "resource_execution_failed", "runtime_failed"] },
  { what: "failed inside", codes: ["internal_error", "message_delivery_failed", "turn_cancelled"] },
  { what: "ran and answered nonsense", codes: ["invalid_tool_result", "invalid_message_receipt", "output_too_large"] },
  { what: "is a tool's own answer", codes: ["not_found", "version_conflict", "quota_exceeded", "mcp_tool_error"] },
  {
    what: "ends a turn that ran",
    codes: ["step_limit_exceeded", "token_limit_exceeded", "driver_failed", "escalation_unavailable"],
  },
  { what: "is another request's fate", codes: ["replay_pending", "replay_interrupted", "replay_conflict"] },
  { what: "is no code of ours", codes: ["constructor", "credential_of_a_stranger", ""] },
]) {
  test(`a code of what ${what} never says that nothing ran`, () => {
    expect(codes.filter((code) => saysNothingRan(code))).toEqual([]);
  });
}

test("what was refused before any effect says that nothing ran", () => {
  const refused = ["no_matching_grant", "grant_exhausted", "audit_unavailable", "tool_catalog_unavailable"];
  expect(refused.filter((code) => !saysNothingRan(code))).toEqual([]);
});

for (const [code, { meaning }] of table) {
  test(`the meaning of ${code} is one sentence`, () => {
    expect(meaning).toMatch(/^[A-Z][^.\n]+\.$/);
  });
}
