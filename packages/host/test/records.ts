import type { CredentialAccess, EscalationRecord } from "../src/admin-contract/records.ts";
import type { AccessContext, AgentRef, AuditEvent, Grant, PrincipalRef } from "turnpike/contracts";
import type { GrantScope } from "turnpike/kernel";

export const now = "2026-01-01T12:00:00Z";
export const alice: PrincipalRef = { kind: "human", userId: "alice" };
export const assistant: AgentRef = { kind: "agent", agentId: "assistant" };
export const neverAborted: AbortSignal = new AbortController().signal;

export function grant(id: string, changes: Partial<Grant> = {}): Grant {
  return {
    id,
    namespaceId: "tenant-1",
    subject: assistant,
    issuer: alice,
    capabilities: [{ resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "descendants" }],
    constraints: {},
    issuedAt: "2026-01-01T10:00:00Z",
    ...changes,
  };
}

/** An escalation of the assistant to Alice that waits for her answer. */
export const pendingEscalation: EscalationRecord = {
  id: "q1",
  namespaceId: "tenant-1",
  status: "pending",
  ask: "0".repeat(64),
  requester: assistant,
  reviewer: alice,
  authority: alice,
  purpose: "support",
  reason: "May I?",
  traceId: "trace-1",
  requestedAt: "2026-01-01T12:00:00.000Z",
  expiresAt: "2026-01-02T12:00:00.000Z",
};

/** What the assistant asks for on Alice's authority. */
export const scope: GrantScope = {
  namespaceId: "tenant-1",
  actor: assistant,
  authority: alice,
  owner: alice,
  purpose: "support",
  now,
  traceId: "trace-1",
};

export function context(changes: Partial<AccessContext> = {}): AccessContext {
  return {
    actor: assistant,
    authority: alice,
    enabledToolNamespaces: [],
    namespaceId: "tenant-1",
    now,
    owner: alice,
    purpose: "support",
    traceId: "trace-1",
    ...changes,
  };
}

export const access: CredentialAccess = {
  actor: assistant,
  owner: alice,
  authority: alice,
  purposes: ["support", "billing"],
};

export function auditEvent(id: string, changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    id,
    version: 1,
    type: "tool.invoked",
    outcome: "allowed",
    at: now,
    traceId: "trace-1",
    namespaceId: "tenant-1",
    actor: assistant,
    owner: alice,
    purpose: "support",
    ...changes,
  };
}
