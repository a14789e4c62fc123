export { readServerSentEvents } from "turnpike/client";

/** What sending a call needs to know of its route. */
export interface CallShape {
  method: "GET" | "POST";
  path: string;
  /** Whether the input is sent as a body, and not in the query string. */
  hasBody: boolean;
}

/** Where calls are sent, and how. */
export interface CallTarget {
  url: string;
  headers: Readonly<Record<string, string>>;
  fetch?: typeof fetch;
  signal?: AbortSignal;
}

/** Why an operation did not succeed. */
export class AdminClientError extends Error {
  override readonly name = "AdminClientError";
  /** The host's code, `unreachable` when no host answers, `invalid_response` for an answer of another version. */
  readonly code: string;
  /** The HTTP status of a refusal; 0 when no host answered. */
  readonly status: number;

  constructor(code: string, message: string, { status = 0, ...options }: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.code = code;
    this.status = status;
  }
}

/** Sends one call of the management API, and returns its answer unchecked. Throws an `AdminClientError`. */
export async function callAdmin(
  shape: CallShape,
  input: Readonly<Record<string, unknown>>,
  target: CallTarget,
): Promise<unknown> {
  const response = await sendAdmin(shape, input, target);
  return response.json().catch(() => ({}));
}

/** Sends one call of the management API, and returns the response of a host that took it. Throws an `AdminClientError`. */
export async function sendAdmin(
  { method, path, hasBody }: CallShape,
  input: Readonly<Record<string, unknown>>,
  { url: host, headers, fetch: send = fetch, signal }: CallTarget,
): Promise<Response> {
  const { url, rest } = placesOf(path, host, input);
  if (!hasBody) addQuery(url, rest);
  const init: RequestInit = {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(hasBody && { body: JSON.stringify(rest) }),
    ...(signal && { signal }),
  };
  return accepted(host, send(url, init));
}

/** The URL of an operation, and the part of its input that the path does not name. */
function placesOf(
  path: string,
  host: string,
  input: Readonly<Record<string, unknown>>,
): { url: URL; rest: Record<string, unknown> } {
  const rest = { ...input };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    delete rest[name];
    return segmentOf(name, String(input[name]));
  });
  return { url: new URL(filled, host), rest };
}

function addQuery(url: URL, values: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) url.searchParams.set(key, String(value));
  }
}

/** Half of a surrogate pair has no encoding, and URLs leave out segments of dots however they are encoded. */
function segmentOf(name: string, text: string): string {
  if (/^(|\.|\.\.)$/.test(text) || /\p{Surrogate}/u.test(text))
    throw new AdminClientError("invalid_request", `/${name}: expected an id that a URL can name`);
  return encodeURIComponent(text);
}

async function accepted(host: string, answering: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await answering;
  } catch (cause) {
    throw new AdminClientError("unreachable", `No host answers at ${host}. Start one with: turnpike serve`, { cause });
  }
  if (response.ok) return response;
  const answer = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  const { code = `HTTP ${response.status}`, message = "Is this a Turnpike host?" } = answer.error ?? {};
  throw new AdminClientError(code, `Refused (${code}): ${message}`, { status: response.status });
}
