import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const prefix = "turnpike";
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
const turnBuckets = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const storeBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15];

/** Reads how many items wait in a queue now. */
export type Depth = () => number | Promise<number>;

/** How many reports run and wait now. */
export interface ReportCounts {
  readonly running: number;
  readonly waiting: number;
}

/** Registers every metric of the host. A metric with labels is a function of their values. */
export function registerMetrics(
  registry: Registry,
  queues: ReadonlyMap<string, Depth>,
  countReports: () => ReportCounts,
  countDroppedLines: () => number,
) {
  const registers = [registry];
  const requests = new Counter({
    name: `${prefix}_requests_total`,
    help: "Requests that were answered.",
    labelNames: ["route", "status"],
    registers,
  });
  const requestSeconds = new Histogram({
    name: `${prefix}_request_duration_seconds`,
    help: "How long requests took to be answered.",
    labelNames: ["route"],
    buckets: requestBuckets,
    registers,
  });
  const decisions = new Counter({
    name: `${prefix}_decisions_total`,
    help: "Decisions in the audit log.",
    labelNames: ["reason"],
    registers,
  });
  const toolCalls = new Counter({
    name: `${prefix}_tool_calls_total`,
    help: "Tool calls in the audit log.",
    labelNames: ["outcome"],
    registers,
  });
  const turns = new Counter({
    name: `${prefix}_turns_total`,
    help: "Turns whose end is in the audit log.",
    labelNames: ["outcome", "reason"],
    registers,
  });
  const turnSeconds = new Histogram({
    name: `${prefix}_turn_duration_seconds`,
    help: "How long turns ran.",
    labelNames: ["outcome"],
    buckets: turnBuckets,
    registers,
  });
  const runningTurns = new Gauge({ name: `${prefix}_turns_running`, help: "Turns that run now.", registers });
  const storeSeconds = new Histogram({
    name: `${prefix}_store_duration_seconds`,
    help: "How long statements of the database took.",
    labelNames: ["operation", "table"],
    buckets: storeBuckets,
    registers,
  });
  const webhookMessages = new Counter({
    name: `${prefix}_webhook_messages_total`,
    help: "Messages to webhooks that were sent or dropped, and attempts that failed.",
    labelNames: ["outcome"],
    registers,
  });
  const spansDropped = new Counter({
    name: `${prefix}_spans_dropped_total`,
    help: "Spans of traces that were not sent, because too many waited or the collector did not take them.",
    registers,
  });
  const logLinesDropped = new Counter({
    name: `${prefix}_log_lines_dropped_total`,
    help: "Lines of the log that were not written, because they were not read, or the disk was full.",
    registers,
    collect() {
      this.reset();
      this.inc(countDroppedLines());
    },
  });
  const queueDepth = new Gauge({
    name: `${prefix}_queue_depth`,
    help: "What waits: audit events to be written, heads of audit logs to be signed, escalations to be answered, messages to be acknowledged, webhooks to be told.",
    labelNames: ["queue"],
    registers: [],
    async collect() {
      const depths = await Promise.all(
        [...queues].map(async ([queue, depth]) => [queue, await readDepth(depth)] as const),
      );
      for (const [queue, value] of depths) this.set({ queue }, value);
    },
  });
  registry.registerMetric(queueDepth);
  const reports = new Gauge({
    name: `${prefix}_reports`,
    help: "Reports of operators that run, and that wait for a place.",
    labelNames: ["state"],
    registers,
    collect() {
      const { running, waiting } = countReports();
      this.set({ state: "running" }, running);
      this.set({ state: "waiting" }, waiting);
    },
  });
  const reportsRefused = new Counter({
    name: `${prefix}_reports_refused_total`,
    help: "Reports of operators that were refused, because too many waited or they waited for too long.",
    registers,
  });
  return {
    requests: childrenOf((route, status) => requests.labels(route, status)),
    requestSeconds: childrenOf((route) => requestSeconds.labels(route)),
    decisions: childrenOf((reason) => decisions.labels(reason)),
    toolCalls: childrenOf((outcome) => toolCalls.labels(outcome)),
    turns: childrenOf((outcome, reason) => turns.labels(outcome, reason)),
    turnSeconds: childrenOf((outcome) => turnSeconds.labels(outcome)),
    runningTurns,
    webhookMessages: childrenOf((outcome) => webhookMessages.labels(outcome)),
    spansDropped,
    logLinesDropped,
    reports,
    reportsRefused,
    storeSeconds: childrenOf((operation, table) => storeSeconds.labels(operation, table)),
  };
}

/** A queue that cannot be read must not hide the other metrics. */
async function readDepth(depth: Depth): Promise<number> {
  try {
    return await depth();
  } catch {
    return Number.NaN;
  }
}

/** Caches the child of a metric for each combination of labels, so that counting builds no label objects. */
export function childrenOf<Child>(make: (one: string, other: string) => Child): (one: string, other?: string) => Child {
  const families = new Map<string, Map<string, Child>>();
  return (one, other = "") => {
    let family = families.get(one);
    if (family === undefined) families.set(one, (family = new Map()));
    let child = family.get(other);
    if (child === undefined) family.set(other, (child = make(one, other)));
    return child;
  };
}
