import { performance } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import { errorCodes, type AuditEvent, type AuditEventType, type TurnResult } from "turnpike/contracts";
import type { Log } from "./log.ts";
import { registerMetrics, type Depth, type ReportCounts } from "./metric-definitions.ts";

/** What the host counts and times, for Prometheus. INVARIANT: every label has few values, and none is a caller's. */
export interface Metrics {
  readonly contentType: string;
  /** All metrics as they are now. */
  text(): Promise<string>;
  /** Counts one answered request. The route has to be one of the host's own paths, or `other`. */
  request(route: string, status: number, seconds: number): void;
  /** Counts one event of the audit log. */
  event(event: AuditEvent): void;
  /** Counts a turn that begins. The returned function ends it. A turn that ends without an outcome is not timed. */
  startTurn(): (outcome?: TurnResult["status"]) => void;
  /** Counts one statement of the database. Both names have to come from the source code, never from a caller. */
  query(operation: string, table: string, seconds: number): void;
  /** Counts messages to webhooks: those sent, attempts that failed, and those dropped. */
  webhookMessages(outcome: "sent" | "failed" | "dropped", count?: number): void;
  /** Counts spans of traces that were not sent. */
  spansDropped(count: number): void;
  /** Counts a report that was refused, because too many waited or it waited for too long. */
  reportRefused(): void;
  /** Reads how many reports run and wait whenever the metrics are read. */
  watchReports(reports: ReportCounts): void;
  /** Reads how many lines of the log were dropped whenever the metrics are read. */
  watchLog(log: Pick<Log, "countDropped">): void;
  /** Reads the depth of a queue whenever the metrics are read. */
  watchQueue(queue: string, depth: Depth): void;
}

/** Makes metrics in a registry of their own, so that two hosts in one process count separately. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const queues = new Map<string, Depth>();
  let watched: ReportCounts = { running: 0, waiting: 0 };
  let watchedLog: Pick<Log, "countDropped"> = {};
  const registered = registerMetrics(
    registry,
    queues,
    () => watched,
    () => watchedLog.countDropped?.() ?? 0,
  );
  const counted: Partial<Record<AuditEventType, (event: AuditEvent) => void>> = {
    "authorization.checked": ({ outcome, reason }) => registered.decisions(reasonOf(reason ?? outcome)).inc(),
    "tool.invoked": ({ outcome }) => registered.toolCalls(outcome).inc(),
    "act.finished": ({ outcome }) => registered.toolCalls(outcome).inc(),
    "turn.ended": ({ outcome, reason }) =>
      registered.turns(outcome, reason === undefined ? "none" : reasonOf(reason)).inc(),
  };
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    request(route, status, seconds) {
      registered.requests(route, String(status)).inc();
      registered.requestSeconds(route).observe(seconds);
    },
    event: (event) => counted[event.type]?.(event),
    startTurn() {
      const started = performance.now();
      registered.runningTurns.inc();
      return (outcome) => {
        registered.runningTurns.dec();
        if (outcome !== undefined) registered.turnSeconds(outcome).observe((performance.now() - started) / 1000);
      };
    },
    query: (operation, table, seconds) => registered.storeSeconds(operation, table).observe(seconds),
    webhookMessages: (outcome, count = 1) => registered.webhookMessages(outcome).inc(count),
    spansDropped: (count) => registered.spansDropped.inc(count),
    reportRefused: () => registered.reportsRefused.inc(),
    watchReports: (reports) => void (watched = reports),
    watchLog: (log) => void (watchedLog = log),
    watchQueue: (queue, depth) => void queues.set(queue, depth),
  };
}

/** A runtime can report any reason. Only the known codes become labels. */
function reasonOf(reason: string): string {
  return Object.hasOwn(errorCodes, reason) ? reason : "other";
}
