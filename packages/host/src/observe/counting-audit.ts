import type { AuditSink } from "turnpike/kernel";
import type { Metrics } from "./metrics.ts";

/** The same sink; what it kept is counted. */
export function countingAudit(sink: AuditSink, metrics: Metrics): AuditSink {
  return {
    async record(event) {
      await sink.record(event);
      metrics.event(event);
    },
  };
}
