import { z } from "zod";

/** The description of a limit. */
interface LimitRow {
  /** What it bounds. */
  bounds: string;
  /** Who or what it is counted for. */
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

/** A limit that cannot be set. */
interface FixedLimit extends LimitRow {
  value: number;
}

const [manyCounts, manyBytes] = [10_000_000, 1_099_511_627_776];
/** The longest time that a timer can wait. */
const longestMs = 2_147_483_647;
const busy = "`503 overloaded` with `retry-after`";
const invalid = "`400 invalid_request`, which names the place";
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
    bounds: "headers",
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
    bounds: "streams open at once: of turns, and of MCP clients that listen",
    per: "credential",
    refusal: tooOften,
  },
  held: {
    default: 5_000,
    max: manyCounts,
    bounds:
      "requests that wait while a person is asked; three quarters of them of one tenant, and half of them of one credential",
    per: "host",
    refusal: "answered at once, as if they did not want to wait",
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
    bounds:
      "bytes that turns hold that have not ended: what they were asked, and what is stored of them when they wait",
    per: "tenant and actor",
    refusal: `${tooOften}; the id stays free`,
  },
  unreadMessages: {
    default: 10_000,
    max: manyCounts,
    bounds: "messages that the receiver has not acknowledged",
    per: "inbox",
    refusal: "the message fails, `quota_exceeded`",
  },
} as const satisfies Record<string, LimitSetting>;

/** Every limit below `tools` in the configuration. */
export const toolLimitSettings = {
  timeoutMs: {
    default: 120_000,
    max: longestMs,
    bounds: "milliseconds that a tool, an operation on a resource or the transport of a message takes",
    per: "call",
    refusal: "the call fails, or is denied",
  },
  outputBytes: {
    default: 1_048_576,
    max: Number.MAX_SAFE_INTEGER,
    bounds: "bytes of the JSON that it answers with, MCP servers' tools included",
    per: "call",
    refusal: "the call fails, `output_too_large`",
  },
} as const satisfies Record<string, LimitSetting>;

/** Limits that cannot be set. */
export const fixedLimits = {
  headerBytes: {
    value: 16_384,
    bounds: "bytes of all headers together",
    per: "request",
    refusal: "`431 invalid_request`, and the connection is closed",
  },
  unadmittedBytes: {
    value: 16_384,
    bounds: "bytes of bodies before the sender is admitted",
    per: "connection",
    refusal: "`413 payload_too_large`, and the connection is closed",
  },
  allUnadmittedBytes: {
    value: 16_777_216,
    bounds: "bytes of bodies of all senders who are not admitted",
    per: "host",
    refusal: "the body that has been coming for longest is `503 overloaded`",
  },
  evaluations: {
    value: 256,
    bounds: "evaluations of AuthZEN",
    per: "request",
    refusal: "`400 invalid_request`",
  },
  senderShare: {
    value: 1 / 10,
    bounds: "part of `limits.unreadMessages`, rounded up, that one sender has",
    per: "inbox and sender",
    refusal: "the message fails, `quota_exceeded`",
  },
  streamShare: {
    value: 1 / 2,
    bounds: "part of `limits.sockets` that all streams and all requests that are held have together",
    per: "host",
    refusal: `${tooOften}; a request is not held`,
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
    bounds:
      "reports that run at once: explanations, previews, reach, searches, lists filtered by what their rows say, verifying and exporting an audit log",
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

/** Limits that the library has, whatever its host. */
export const libraryLimits = {
  jsonValues: { value: 100_000, bounds: "values of a JSON document", per: "request", refusal: invalid },
  jsonLevels: { value: 64, bounds: "levels of nesting of a JSON document", per: "request", refusal: invalid },
  jsonKeys: { value: 10_000, bounds: "different keys of a JSON document", per: "request", refusal: invalid },
  pathSegments: { value: 64, bounds: "segments of a path", per: "resource", refusal: invalid },
  delegationLinks: {
    value: 16,
    bounds: "links of delegation",
    per: "grant",
    refusal: "it is not derived, and not valid",
  },
  heldGrants: {
    value: 16_384,
    bounds: "grants that have not ended",
    per: "holder",
    refusal: "decisions about the holder fail, `authority_unavailable`",
  },
} as const satisfies Record<string, FixedLimit>;

type LimitName = keyof typeof limitSettings;
type SchemaOf<Row> = Row extends { default: number } ? z.ZodDefault<z.ZodInt> : z.ZodOptional<z.ZodInt>;

/** The schemas of some limits, with their ranges and defaults. */
export function limitSchemas<Name extends LimitName>(
  ...names: readonly Name[]
): { [One in Name]: SchemaOf<(typeof limitSettings)[One]> } {
  return schemasOf(limitSettings, names);
}

/** The schemas of all limits below `limits`. */
export function allLimitSchemas() {
  return limitSchemas(...(Object.keys(limitSettings) as LimitName[]));
}

/** The schemas of all limits below `tools`. */
export function toolLimitSchemas() {
  return schemasOf(toolLimitSettings, Object.keys(toolLimitSettings) as (keyof typeof toolLimitSettings)[]);
}

function schemasOf<Rows extends Readonly<Record<string, LimitSetting>>, Name extends keyof Rows & string>(
  rows: Rows,
  names: readonly Name[],
): { [One in Name]: SchemaOf<Rows[One]> } {
  const schemas = names.map((name) => {
    const row = rows[name] as LimitSetting;
    const range = z.int().min(1).max(row.max).describe(`${row.bounds}, per ${row.per}`);
    return [name, row.default === undefined ? range.optional() : range.default(row.default)] as const;
  });
  return Object.fromEntries(schemas) as { [One in Name]: SchemaOf<Rows[One]> };
}
