import { RequestErrorSchema, type RequestError, type Route } from "../contracts/index.ts";
import { toHeaderValue } from "../internal/index.ts";
import { ServiceClientError } from "./service-client-error.ts";

/** How a client reaches the service. */
export interface ServiceClientOptions {
  /** Where the service is, such as `http://127.0.0.1:8787`, or `https://app.test/api/turnpike` for a base path. */
  baseUrl: string;
  /** The bearer token, or a function that is asked for it before every request. */
  token?: string | (() => string | Promise<string>);
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>;
  fetch?: typeof globalThis.fetch;
  /** The purpose of requests whose body names none. */
  purpose?: string;
}

/** The last argument of every method. */
export interface ClientCallOptions {
  signal?: AbortSignal | undefined;
}

/** One request of the client. */
export interface SentRequest {
  method: string;
  /** The path and the query. */
  path: string;
  body?: unknown;
  /** Those of this request alone; `accept` is for JSON unless it is here. */
  headers?: Readonly<Record<string, string>>;
}

/** Sends a request and returns a response that is 2xx; anything else is thrown as `ServiceClientError`. */
export async function send(
  options: ServiceClientOptions,
  request: SentRequest,
  signal: AbortSignal | undefined,
): Promise<Response> {
  signal?.throwIfAborted();
  const { fetch = globalThis.fetch } = options;
  const { method, path, body } = request;
  const headers = await headersFor(options, request);
  let response: Response;
  try {
    response = await fetch(`${withoutLastSlashes(options.baseUrl)}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ServiceClientError("The service could not be reached.", { status: 0, code: "request_failed", cause });
  }
  signal?.throwIfAborted();
  if (!response.ok) throw await errorOf(response, signal);
  return response;
}

/** As a loop, because an expression for it takes the square of the slashes in the middle of a text. */
function withoutLastSlashes(url: string): string {
  let end = url.length;
  while (url.endsWith("/", end)) end -= 1;
  return url.slice(0, end);
}

/** The response's JSON, if it fits the route's contract; fields this client does not know are tolerated. */
export async function readResult(
  response: Response,
  schema: Route["response"],
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return checkResult(await readJsonBody(response, signal), schema, response);
}

/** Throws `invalid_response` when the value does not fit. */
export function checkResult(value: unknown, schema: Route["response"], { status, headers }: Response): unknown {
  if (fits(schema, value)) return value;
  throw new ServiceClientError("The service answered with something that does not fit the contract.", {
    status,
    code: "invalid_response",
    requestId: headers.get("x-request-id") ?? undefined,
  });
}

/** True when the value has everything the contract asks for; newer servers may say more than this client knows. */
function fits(schema: Route["response"], value: unknown): boolean {
  const parsed = schema.safeParse(value);
  return parsed.success || parsed.error.issues.every(({ code }) => code === "unrecognized_keys");
}

async function headersFor(
  { token, headers, purpose }: ServiceClientOptions,
  { body, headers: own }: SentRequest,
): Promise<Headers> {
  const bearer = typeof token === "function" ? await token() : token;
  const named = namedIn(body);
  const declared = named.purpose ?? purpose;
  const all = new Headers({ accept: "application/json", ...own });
  if (body !== undefined) all.set("content-type", "application/json");
  if (bearer !== undefined) all.set("authorization", `Bearer ${bearer}`);
  if (named.traceId !== undefined) all.set("x-trace-id", toHeaderValue(named.traceId));
  if (declared !== undefined) all.set("x-purpose", toHeaderValue(declared));
  for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value);
  return all;
}

/** The trace and purpose that a body carries: its own, or its message's. */
function namedIn(body: unknown): { traceId?: string; purpose?: string } {
  if (typeof body !== "object" || body === null) return {};
  const { traceId, purpose, message } = body as { traceId?: string; purpose?: string; message?: unknown };
  if (message !== undefined) return namedIn(message);
  return { ...(traceId !== undefined && { traceId }), ...(purpose !== undefined && { purpose }) };
}

async function errorOf(response: Response, signal: AbortSignal | undefined): Promise<ServiceClientError> {
  const { status, headers } = response;
  const about = { status, requestId: headers.get("x-request-id") ?? undefined, retryAfter: retryAfterOf(headers) };
  let body: unknown;
  try {
    body = await readJsonBody(response, signal);
  } catch (error) {
    if (!(error instanceof ServiceClientError)) throw error;
    body = undefined;
  }
  if (isRequestError(body)) return new ServiceClientError(body.error.message, { ...about, code: body.error.code });
  return new ServiceClientError(`The service answered with status ${status}.`, { ...about, code: "invalid_response" });
}

function isRequestError(body: unknown): body is RequestError {
  return fits(RequestErrorSchema, body);
}

async function readJsonBody(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const about = { status: response.status, requestId: response.headers.get("x-request-id") ?? undefined };
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ServiceClientError("The answer broke off.", { ...about, code: "request_failed", cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceClientError("The service answered with something that is not JSON.", {
      ...about,
      code: "invalid_response",
      cause,
    });
  }
}

/** Seconds from now, from either form the header may have. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
