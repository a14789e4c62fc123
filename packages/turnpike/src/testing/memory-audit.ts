import type { AuditEvent } from "../contracts/index.ts";
import type { AuditSink } from "../kernel/index.ts";

/** An audit trail in memory. */
export interface MemoryAudit extends AuditSink {
  readonly events: readonly AuditEvent[];
}

/** Keeps every event, in order. */
export function memoryAudit(): MemoryAudit {
  const events: AuditEvent[] = [];
  return {
    events,
    record(event) {
      events.push(event);
      return Promise.resolve();
    },
  };
}
