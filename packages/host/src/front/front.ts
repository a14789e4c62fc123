import { validateHeaderName, validateHeaderValue } from "node:http";
import { performance } from "node:perf_hooks";
import {
  commonHeaders,
  errorReply,
  patternOf,
  requestIdOf,
  ServiceHttpError,
  toHttpError,
  type Reply,
} from "turnpike/http";
import { openRecord, type RequestRecord } from "../access/index.ts";
import {
  bugFacts,
  errorFacts,
  type Log,
  type Metrics,
  type OpenSpan,
  runIn,
  type Tracing,
} from "../telemetry/index.ts";
import { isOutage } from "../storage/index.ts";
import type { ServedProtocol } from "./protocol.ts";
import type { WireRequest } from "./wire-request.ts";

/** What the front serves and reports to. */
export interface FrontOptions {
  /** The first protocol that owns a path serves it. */
  protocols: readonly ServedProtocol[];
  log: Log;
  metrics: Metrics;
  /** Absent where nothing is traced. */
  tracing?: Tracing | undefined;
}

/** Answers a request, whatever happens. */
export type Front = (request: WireRequest) => Promise<Reply | Response>;

/** What the answer of any protocol may become: an outage of the stores, a bug, or a caller who has gone. */
export const frontErrors = ["authority_unavailable", "internal_error", "request_aborted"] as const;

const unavailable = new ServiceHttpError(503, "authority_unavailable", "The stores cannot be reached right now.");

/** The front of every protocol: request id, path, error envelope, log line and metrics, once for all of them. */
export function createFront({ protocols, log, metrics, tracing }: FrontOptions): Front {
  const paths = new Set(protocols.flatMap((protocol) => protocol.paths));
  const patterns = [...paths].filter((path) => path.includes("{"));
  const serve = async (request: WireRequest, span?: OpenSpan): Promise<Reply | Response> => {
    const started = performance.now();
    const { method, headers, signal } = request;
    const record = openRecord(requestIdOf(headers.get("x-request-id")));
    const { requestId } = record;
    const path = pathOf(request.target);
    const onLateError = (error: unknown): void => log.warn({ requestId, ...errorFacts(error) }, "request refused");
    let answer: Reply | Response;
    try {
      const protocol = protocols.find(({ owns }) => owns(path));
      if (protocol === undefined) throw new ServiceHttpError(404, "not_found", "There is nothing at this path.");
      answer = complete(await protocol.serve({ request, path, record, onLateError }), record);
    } catch (error) {
      const refusal = isOutage(error) ? unavailable : toHttpError(error, signal);
      logError(log, error, refusal, requestId);
      answer = refuse(refusal, record);
    }
    const ms = performance.now() - started;
    // A route with an id in its path is counted and logged as one, whatever the id is.
    const route = paths.has(path) ? path : (patternOf(patterns, path) ?? "other");
    const { status } = answer;
    const { tenant, traceId, credentialId } = record.facts;
    // Behind everything that promises still do, and so behind the answer: no caller waits for the log.
    process.nextTick(() => {
      metrics.request(route, status, ms / 1000);
      const rounded = Math.round(ms * 1000) / 1000;
      log.info({ requestId, tenant, traceId, credentialId, method, route, status, ms: rounded }, "request");
    });
    if (span !== undefined) describeRequest(span, { method, route, status, tenant, traceId });
    return answer;
  };
  if (tracing === undefined) return serve;
  return (request) => runIn(tracing.begin(requestSpan, request.headers), (span) => serve(request, span));
}

const requestSpan = { name: "request", kind: "server" as const };
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What a trace tells of a request: its route and not its path, which may contain names of people. */
function describeRequest(
  span: OpenSpan,
  answered: { method: string; route: string; status: number; tenant: string | undefined; traceId: string | undefined },
): void {
  const { route, status, tenant, traceId } = answered;
  const method = methods.has(answered.method) ? answered.method : "_OTHER";
  span.rename(route === "other" ? method : `${method} ${route}`);
  span.set({
    "http.request.method": method,
    ...(route !== "other" && { "http.route": route }),
    "http.response.status_code": status,
    ...(tenant !== undefined && { "turnpike.tenant": tenant }),
    ...(traceId !== undefined && { "turnpike.trace_id": traceId }),
  });
  if (status >= 500) span.fail();
}

/** Logs a refusal as a warning and a failure as an error; only a bug is logged with its stack. */
function logError(log: Log, error: unknown, { status, code }: ServiceHttpError, requestId: string): void {
  if (status < 500) log.warn({ requestId, ...errorFacts(error) }, "request refused");
  else log.error({ requestId, ...(code === "internal_error" ? bugFacts(error) : errorFacts(error)) }, "request failed");
}

function refuse(refusal: ServiceHttpError, record: RequestRecord): Reply | Response {
  const { status, code, message, headers = {}, details } = refusal;
  // If the refusal has headers that HTTP cannot carry, it is sent without them.
  const carried = Object.entries(headers).every(([name, value]) => isHeader(name, value)) && { headers };
  return complete(errorReply({ status, code, message, details, ...carried }, record.requestId), record);
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** The answer with the headers of every answer and those of the record, which count most. */
function complete(answer: Reply | Response, { requestId, headers: added }: RequestRecord): Reply | Response {
  // No browser is to guess that words in an answer are a page.
  const headers = Object.assign(commonHeaders(requestId), { "x-content-type-options": "nosniff" }, added);
  if (answer instanceof Response) {
    for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
    return answer;
  }
  const { status, body } = answer;
  for (const name in answer.headers) headers[name] ??= answer.headers[name] ?? "";
  return { status, headers, body };
}

function pathOf(target: string): string {
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}
