import type { ServiceApi } from "turnpike/http";
import type { ActStore, AuditSink, DecisionLedger } from "turnpike/kernel";
import { withMembers } from "../shared/index.ts";
import type { Metrics } from "./metrics.ts";

/** The same sink, which also counts the events that it stored. */
export function countAuditEvents(sink: AuditSink, metrics: Metrics): AuditSink {
  return withMembers(sink, {
    async record(event, call) {
      await sink.record(event, call);
      metrics.event(event);
    },
  });
}

/** The same ledger, which also counts the decisions that it stored. */
export function countDecisions(ledger: DecisionLedger, metrics: Metrics): DecisionLedger {
  return withMembers(ledger, {
    async decide(choices, call) {
      const place = await ledger.decide(choices, call);
      for (const { event } of choices.slice(place, place + 1)) metrics.event(event);
      return place;
    },
  });
}

/** The same store of acts, which also counts the outcomes that it stored. */
export function countOutcomes(acts: ActStore, metrics: Metrics): ActStore {
  return withMembers(acts, {
    async finish(key, act, report) {
      const stored = await acts.finish(key, act, report);
      if (stored === "stored" && report.event !== undefined) metrics.event(report.event);
      return stored;
    },
  });
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
