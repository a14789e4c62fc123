import type { ToolDescriptor } from "../contracts/index.ts";
import type { ServiceHttpError } from "./service-http-error.ts";

/** An answer before it is a `Response`: a host may write it to its socket as it is. */
export interface Reply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | ReadableStream<Uint8Array> | null;
}

const json = { "content-type": "application/json" };
const eventStream = { "content-type": "text/event-stream" };

/**
 * Any JSON value.
 *
 * @example
 * import { jsonReply } from "turnpike/http";
 *
 * console.log(jsonReply({ ok: true }, 201).status, jsonReply([1]).body); // 201 [1]
 */
export function jsonReply(value: unknown, status = 200, headers?: Reply["headers"]): Reply {
  const body: string | undefined = JSON.stringify(value);
  if (body === undefined) throw new TypeError("A result has to be JSON.");
  return { status, headers: headers === undefined ? json : { ...json, ...headers }, body };
}

/** The answer to `HEAD`: that of `jsonReply` without its body. */
export function emptyReply(): Reply {
  return { status: 200, headers: json, body: null };
}

/** Server-sent events. */
export function streamReply(body: ReadableStream<Uint8Array>, headers?: Reply["headers"]): Reply {
  return { status: 200, headers: { ...eventStream, ...headers }, body };
}

/** The JSON texts of frozen tool descriptors. A catalog is made of these texts. */
const written = new WeakMap<ToolDescriptor, string>();

/** A tool catalog. */
export function catalogReply(tools: readonly ToolDescriptor[]): Reply {
  return { status: 200, headers: json, body: `[${tools.map(write).join(",")}]` };
}

function write(tool: ToolDescriptor): string {
  const known = written.get(tool);
  if (known !== undefined) return known;
  const text = JSON.stringify(tool);
  // The kernel's descriptors are frozen to the last leaf.
  if (Object.isFrozen(tool)) written.set(tool, text);
  return text;
}

/**
 * The one envelope of request-level errors.
 *
 * @example
 * import { errorReply } from "turnpike/http";
 *
 * const { body } = errorReply({ status: 404, code: "not_found", message: "No such note." }, "request-1");
 * console.log(body); // {"error":{"code":"not_found","message":"No such note.","requestId":"request-1"}}
 */
export function errorReply(
  {
    status,
    code,
    message,
    headers,
    details,
  }: Pick<ServiceHttpError, "status" | "code" | "message"> & Partial<ServiceHttpError>,
  requestId: string,
): Reply {
  const error = { code, message, requestId, ...(details && { details }) };
  return { status, headers: { ...headers, ...json }, body: JSON.stringify({ error }) };
}

/**
 * The id of a request: the one that was sent if it has 1-128 visible ASCII characters, otherwise a new one.
 *
 * @example
 * import { requestIdOf } from "turnpike/http";
 *
 * console.log(requestIdOf("mine-1")); // mine-1
 * console.log(requestIdOf(null).length); // 36
 */
export function requestIdOf(sent: string | null): string {
  return sent !== null && /^[\x21-\x7e]{1,128}$/.test(sent) ? sent : crypto.randomUUID();
}

/**
 * The headers that every answer has.
 *
 * @example
 * import { commonHeaders } from "turnpike/http";
 *
 * console.log(commonHeaders("request-1")["x-request-id"]); // request-1
 */
export function commonHeaders(requestId: string): Record<string, string> {
  return { "cache-control": "no-store", "x-request-id": requestId };
}

/**
 * The answer as a `Response`.
 *
 * @example
 * import { jsonReply, toResponse } from "turnpike/http";
 *
 * const response = toResponse(jsonReply({ ok: true }), "request-1");
 * console.log(response.status, await response.text()); // 200 {"ok":true}
 */
export function toResponse({ status, headers, body }: Reply, requestId: string): Response {
  return new Response(body, { status, headers: allHeaders(headers, requestId) });
}

function allHeaders(headers: Reply["headers"], requestId: string): Record<string, string> {
  if (headers !== json) return { ...headers, ...commonHeaders(requestId) };
  // For almost every answer. Fetch reads an object literal much faster than one that was merged.
  return { "content-type": "application/json", "cache-control": "no-store", "x-request-id": requestId };
}
