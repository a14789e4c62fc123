import { performance } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import { errorCodes, type AuditEvent, type AuditEventType, type TurnResult } from "turnpike/contracts";
import { registerFigures, type Depth } from "./metric-definitions.ts";

/** What the host counts and times, for Prometheus. INVARIANT: every label has few values, and none is a caller's. */
export interface Metrics {
  readonly contentType: string;
  /** All figures as they are now. */
  text(): Promise<string>;
  /** One request that was answered. A route that is not known counts as `other`. */
  request(route: string, status: number, seconds: number): void;
  /** One event that is on the audit trail. */
  event(event: AuditEvent): void;
  /** One turn that begins. What is returned ends it; without an outcome it was no turn, and is not timed. */
  startTurn(): (outcome?: TurnResult["status"]) => void;
  /** One statement of the database. Both names have to be words of the source. */
  query(operation: string, table: string, seconds: number): void;
  /** Asks for the depth of a queue whenever the figures are read. */
  watchQueue(queue: string, depth: Depth): void;
}

/** Makes figures in a registry of their own; `routes` are the paths by which requests are told apart. */
export function createMetrics({ routes }: { routes: Iterable<string> }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const known = new Set(routes);
  const queues = new Map<string, Depth>();
  const figures = registerFigures(registry, queues);
  const counted: Partial<Record<AuditEventType, (event: AuditEvent) => void>> = {
    "authorization.checked": ({ outcome, reason }) => figures.decisions(reasonOf(reason ?? outcome)).inc(),
    "tool.invoked": ({ outcome }) => figures.toolCalls(outcome).inc(),
    "turn.ended": ({ outcome, reason }) =>
      figures.turns(outcome, reason === undefined ? "none" : reasonOf(reason)).inc(),
  };
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    request(route, status, seconds) {
      const path = known.has(route) ? route : "other";
      figures.requests(path, String(status)).inc();
      figures.requestSeconds(path).observe(seconds);
    },
    event: (event) => counted[event.type]?.(event),
    startTurn() {
      const started = performance.now();
      figures.runningTurns.inc();
      return (outcome) => {
        figures.runningTurns.dec();
        if (outcome !== undefined) figures.turnSeconds(outcome).observe((performance.now() - started) / 1000);
      };
    },
    query: (operation, table, seconds) => figures.storeSeconds(operation, table).observe(seconds),
    watchQueue: (queue, depth) => void queues.set(queue, depth),
  };
}

/** Runtimes may give reasons of their own making: only those of the table are told apart. */
function reasonOf(reason: string): string {
  return Object.hasOwn(errorCodes, reason) ? reason : "other";
}
