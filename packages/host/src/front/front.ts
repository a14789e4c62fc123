import { performance } from "node:perf_hooks";
import {
  commonHeaders,
  errorReply,
  pathOf,
  requestIdOf,
  ServiceHttpError,
  toHttpError,
  type BodySource,
  type Reply,
} from "turnpike/http";
import { openRecord, type RequestRecord } from "../access/index.ts";
import { bugFacts, errorFacts, type Log, type Metrics } from "../observe/index.ts";
import { isOutage } from "../storage/index.ts";
import type { ServedProtocol } from "./protocol.ts";

/** What the front serves and reports to. */
export interface FrontOptions {
  /** The first protocol that owns a path serves it. */
  protocols: readonly ServedProtocol[];
  log: Log;
  metrics: Metrics;
}

/** Answers a request. The body is read through the second argument, which enforces the limit. */
export type Front = (request: Request, body?: BodySource) => Promise<Response>;

const unavailable = new ServiceHttpError(503, "authority_unavailable", "The stores cannot be reached right now.");

/** The front of every protocol: request id, path, error envelope, log line and metrics, once for all of them. */
export function createFront({ protocols, log, metrics }: FrontOptions): Front {
  const paths = new Set(protocols.flatMap((protocol) => protocol.paths));
  return async (request, body = request) => {
    const started = performance.now();
    const { method, headers, signal } = request;
    const record = openRecord(requestIdOf(headers.get("x-request-id")));
    const { requestId } = record;
    const path = pathOf(request.url);
    const onLateError = (error: unknown): void => log.warn({ requestId, ...errorFacts(error) }, "request refused");
    const serve = async (): Promise<Response> => {
      const protocol = protocols.find(({ owns }) => owns(path));
      if (protocol === undefined) throw new ServiceHttpError(404, "not_found", "There is nothing at this path.");
      return complete(await protocol.serve({ request, path, body, record, onLateError }), record);
    };
    const response = await serve().catch((error: unknown) => {
      const refusal = isOutage(error) ? unavailable : toHttpError(error, signal);
      logError(log, error, refusal, requestId);
      return refuse(refusal, record);
    });
    const ms = performance.now() - started;
    const route = paths.has(path) ? path : "other";
    metrics.request(route, response.status, ms / 1000);
    const { status } = response;
    log.info({ requestId, ...record.facts, method, route, status, ms: Math.round(ms * 1000) / 1000 }, "request");
    return response;
  };
}

/** Logs a refusal as a warning and a failure as an error; only a bug is logged with its stack. */
function logError(log: Log, error: unknown, { status, code }: ServiceHttpError, requestId: string): void {
  if (status < 500) log.warn({ requestId, ...errorFacts(error) }, "request refused");
  else log.error({ requestId, ...(code === "internal_error" ? bugFacts(error) : errorFacts(error)) }, "request failed");
}

function refuse(error: ServiceHttpError, record: RequestRecord): Response {
  try {
    return complete(errorReply(error, record.requestId), record);
  } catch {
    // If the refusal has headers that HTTP cannot carry, it is sent without them.
    const { status, code, message } = error;
    return complete(errorReply({ status, code, message }, record.requestId), record);
  }
}

/** The answer with the headers of every answer and those of the record. */
function complete(answer: Reply | Response, { requestId, headers }: RequestRecord): Response {
  const added = { ...commonHeaders(requestId), ...Object.fromEntries(headers) };
  if (!(answer instanceof Response)) {
    return new Response(answer.body, { status: answer.status, headers: { ...answer.headers, ...added } });
  }
  for (const [name, value] of Object.entries(added)) answer.headers.set(name, value);
  return answer;
}
