import type { ServiceApi } from "turnpike/http";
import type { AuditSink } from "turnpike/kernel";
import type { Metrics } from "./metrics.ts";

/** The same sink, which also counts the events that it kept. */
export function countAuditEvents(sink: AuditSink, metrics: Metrics): AuditSink {
  return {
    async record(event) {
      await sink.record(event);
      metrics.event(event);
    },
  };
}

/** The same api, which also times turns. It belongs below every layer that refuses or replays turns. */
export function measureTurns(api: ServiceApi, metrics: Metrics): ServiceApi {
  return {
    ...api,
    async executeTurn(context, request, options) {
      const end = metrics.startTurn();
      try {
        const result = await api.executeTurn(context, request, options);
        end(result.status);
        return result;
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}
