import { z } from "zod";

/** What is said of a limit. */
interface LimitRow {
  /** What it bounds. */
  bounds: string;
  /** For whom, or for what, it is counted. */
  per: string;
  /** What happens beyond it. */
  refusal: string;
}

/** A limit that can be set, to at least 1. */
interface LimitSetting extends LimitRow {
  /** Its value unless it is set. */
  default?: number;
  /** Where it comes from when it is not set and has no default. */
  otherwise?: string;
  max: number;
}

/** A limit that is as it is. */
interface FixedLimit extends LimitRow {
  value: number;
}

const [manyCounts, manyBytes] = [10_000_000, 1_099_511_627_776];
/** Timers cannot wait any longer than this. */
const longestMs = 2_147_483_647;
const busy = "`503 overloaded` with `retry-after`";
const tooOften = "`429 rate_limited` with `retry-after`";

/** Every limit below `limits` in the configuration, in the order in which it shows them. */
export const limitSettings = {
  bodyBytes: {
    default: 1_048_576,
    max: 1_073_741_824,
    bounds: "bytes of a body, declared or real",
    per: "request",
    refusal: "`413 payload_too_large`, and the connection is closed",
  },
  headers: {
    default: 100,
    max: 10_000,
    bounds: "headers, which have 16 KiB together",
    per: "request",
    refusal: "`431 invalid_request`, and the connection is closed",
  },
  headersMs: {
    default: 10_000,
    max: longestMs,
    bounds: "milliseconds for the headers to arrive",
    per: "request",
    refusal: "`408 request_timeout`",
  },
  bodyMs: {
    default: 60_000,
    max: longestMs,
    bounds: "further milliseconds for the body; milliseconds for which an answer waits unread",
    per: "request",
    refusal: "`408 request_timeout`; the connection is closed",
  },
  idleMs: {
    default: 65_000,
    max: longestMs,
    bounds: "milliseconds for which it is unused",
    per: "connection",
    refusal: "closed",
  },
  sockets: {
    default: 10_000,
    max: 1_000_000,
    bounds: "connections at once",
    per: "host",
    refusal: "only `/health` and `/ready` are answered, anything else `503 overloaded`",
  },
  shutdownMs: {
    default: 30_000,
    max: longestMs,
    bounds: "milliseconds for running requests to finish when it stops",
    per: "host",
    refusal: "cancelled",
  },
  concurrentTurns: {
    default: 64,
    max: manyCounts,
    bounds: "turns that run at once",
    per: "all hosts of a database",
    refusal: busy,
  },
  tenantTurns: {
    otherwise: "three quarters of `concurrentTurns`",
    max: manyCounts,
    bounds: "of these, turns that run at once",
    per: "tenant",
    refusal: busy,
  },
  credentialTurns: {
    otherwise: "half of `concurrentTurns`",
    max: manyCounts,
    bounds: "of these, turns that run at once",
    per: "credential",
    refusal: busy,
  },
  requestsPerSecond: {
    default: 50,
    max: manyCounts,
    bounds: "requests a second",
    per: "credential",
    refusal: tooOften,
  },
  burst: { default: 100, max: manyCounts, bounds: "requests at once", per: "credential", refusal: tooOften },
  callerStreams: {
    default: 100,
    max: manyCounts,
    bounds: "streams of turns open at once",
    per: "credential",
    refusal: tooOften,
  },
  eventStreams: {
    default: 100,
    max: manyCounts,
    bounds: "streams of events open at once",
    per: "operator's credential",
    refusal: tooOften,
  },
  openEscalations: {
    default: 100,
    max: manyCounts,
    bounds: "escalations that wait for an answer",
    per: "tenant and actor",
    refusal: "the turn fails, `too_many_escalations`",
  },
  openTurns: {
    default: 1_000,
    max: manyCounts,
    bounds: "turns that have not ended: they run or wait",
    per: "tenant and actor",
    refusal: `${tooOften}; the id stays free`,
  },
  openTurnBytes: {
    default: 67_108_864,
    max: manyBytes,
    bounds: "bytes that turns hold that have not ended: what they were asked, and what is kept of them when they wait",
    per: "tenant and actor",
    refusal: `${tooOften}; the id stays free`,
  },
  unreadMessages: {
    default: 10_000,
    max: manyCounts,
    bounds: "messages that nobody has acknowledged",
    per: "inbox",
    refusal: "the message fails, `quota_exceeded`",
  },
} as const satisfies Record<string, LimitSetting>;

/** Limits that cannot be set. */
export const fixedLimits = {
  senderShare: {
    value: 1 / 10,
    bounds: "part of `limits.unreadMessages`, rounded up, that one sender has",
    per: "inbox and sender",
    refusal: "the message fails, `quota_exceeded`",
  },
  streamShare: {
    value: 1 / 2,
    bounds: "part of `limits.sockets` that all streams have together",
    per: "host",
    refusal: tooOften,
  },
  reservedSockets: {
    value: 32,
    bounds: "connections beyond `limits.sockets`, for `/health` and `/ready`",
    per: "host",
    refusal: "the one is closed that has been open for longest",
  },
  unansweredRequests: {
    value: 64,
    bounds: "requests that wait for their answers",
    per: "connection",
    refusal: "`429 rate_limited`, and the connection is closed",
  },
  reports: {
    value: 2,
    bounds: "reports that run at once: explanations, previews, reach, verifying and exporting a trail",
    per: "host",
    refusal: "it waits",
  },
  operatorReports: { value: 1, bounds: "of these, reports that run at once", per: "operator", refusal: "it waits" },
  waitingReports: { value: 4, bounds: "reports that wait", per: "operator", refusal: tooOften },
  reportWaitMs: { value: 10_000, bounds: "milliseconds for which it waits", per: "report", refusal: tooOften },
  reportShare: {
    value: 1 / 2,
    bounds: "part of the event loop's time that all reports have together",
    per: "host",
    refusal: "they pause",
  },
} as const satisfies Record<string, FixedLimit>;

type LimitName = keyof typeof limitSettings;
type SchemaOf<Row> = Row extends { default: number } ? z.ZodDefault<z.ZodInt> : z.ZodOptional<z.ZodInt>;

/** The schemas of some limits, with their ranges and defaults. */
export function limitSchemas<Name extends LimitName>(
  ...names: readonly Name[]
): { [One in Name]: SchemaOf<(typeof limitSettings)[One]> } {
  const schemas = names.map((name) => {
    const row: LimitSetting = limitSettings[name];
    const range = z.int().min(1).max(row.max).describe(`${row.bounds}, per ${row.per}`);
    return [name, row.default === undefined ? range.optional() : range.default(row.default)] as const;
  });
  return Object.fromEntries(schemas) as { [One in Name]: SchemaOf<(typeof limitSettings)[One]> };
}

/** The schemas of all limits. */
export function allLimitSchemas() {
  return limitSchemas(...(Object.keys(limitSettings) as LimitName[]));
}
