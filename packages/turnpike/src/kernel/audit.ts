import {
  quietly,
  type AuditEvent,
  type AuditEventType,
  type AuditOutcome,
  type DiscoveryContext,
} from "../contracts/index.ts";
import type { Ports } from "./call-port.ts";

/** What one event says beyond the context it happened in. */
export type AuditFacts = { type: AuditEventType; outcome: AuditOutcome } & Partial<
  Pick<
    AuditEvent,
    "resource" | "action" | "grantId" | "tool" | "operationId" | "messageId" | "receiver" | "reason" | "metadata"
  >
>;

/**
 * Puts one event on the trail; `facts` is asked only when there is one.
 * False when the sink refused, which `onAuditError` is told: an effect that has not happened yet must not happen then.
 */
export async function record(ports: Ports, context: DiscoveryContext, facts: () => AuditFacts): Promise<boolean> {
  if (ports.audit === "none") return true;
  const event = auditEvent(context, facts());
  try {
    await ports.audit.record(event);
    return true;
  } catch (error) {
    quietly(() => ports.onAuditError?.(error, event));
    return false;
  }
}

function auditEvent(context: DiscoveryContext, facts: AuditFacts): AuditEvent {
  const { now: at, traceId, namespaceId, actor, authority, owner, purpose, executionId } = context;
  // The facts come last: an object literal that begins with a spread costs twenty times as much.
  return {
    id: crypto.randomUUID(),
    version: 1,
    at,
    traceId,
    namespaceId,
    actor,
    ...(authority && { authority }),
    owner,
    purpose,
    ...(executionId && { executionId }),
    ...facts,
  };
}
