import type { AuditEvent } from "../contracts/index.ts";
import type { AuditSink } from "../kernel/index.ts";

/** An audit log in memory. */
export interface MemoryAudit extends AuditSink {
  readonly events: readonly AuditEvent[];
}

/**
 * Stores every event, in order.
 *
 * @example
 * import { createKernel } from "turnpike/kernel";
 * import { memoryAudit, memoryGrants } from "turnpike/testing";
 *
 * const audit = memoryAudit();
 * const kernel = createKernel({ grants: memoryGrants(), audit });
 * await kernel.authorize(context, { action: "read", resource: { namespace: "notes", path: [] } });
 * console.log(audit.events.map(({ outcome }) => outcome)); // [ 'denied' ]
 */
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
