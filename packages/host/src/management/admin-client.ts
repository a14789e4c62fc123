import { describeIssues } from "turnpike/contracts";
import { adminRoutes, type AdminOutput, type AdminRoute, type AdminRouteName } from "./admin-routes.ts";

/** The options of a client of the management API. */
export interface AdminClientOptions {
  url: string;
  /** An operator's token. */
  token: string;
  fetch?: typeof fetch;
}

/** A typed client of a host's management API. */
export interface AdminClient {
  /** Requests an operation by its name. Throws an `AdminClientError`. */
  request<Name extends AdminRouteName>(
    name: Name,
    input: Readonly<Record<string, unknown>>,
  ): Promise<AdminOutput<Name>>;
}

/** Why an operation did not succeed. */
export class AdminClientError extends Error {
  override readonly name = "AdminClientError";
  /** The host's code, `unreachable` when no host answers, `invalid_response` for an answer of another version. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Makes a client of a host's management API. */
export function createAdminClient({ url: host, token, fetch: send = fetch }: AdminClientOptions): AdminClient {
  return {
    async request<Name extends AdminRouteName>(name: Name, input: Readonly<Record<string, unknown>>) {
      const { method, path, request, response: schema }: AdminRoute = adminRoutes[name];
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const { url, rest } = placesOf(path, host, input);
      if (request === undefined) addQuery(url, rest);
      const body = request === undefined ? {} : { body: JSON.stringify(rest) };
      const answer = await read(host, send(url, { method, headers, ...body }));
      const checked = schema.safeParse(answer);
      if (checked.success) return checked.data as AdminOutput<Name>;
      const message = `The host's answer is not understood; is it of another version? ${describeIssues(checked.error.issues)}`;
      throw new AdminClientError("invalid_response", message);
    },
  };
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

async function read(host: string, answering: Promise<Response>): Promise<unknown> {
  let response: Response;
  try {
    response = await answering;
  } catch (cause) {
    throw new AdminClientError("unreachable", `No host answers at ${host}. Start one with: turnpike serve`, { cause });
  }
  const answer = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  if (response.ok) return answer;
  const { code = `HTTP ${response.status}`, message = "Is this a Turnpike host?" } = answer.error ?? {};
  throw new AdminClientError(code, `Refused (${code}): ${message}`);
}
