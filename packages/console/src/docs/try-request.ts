import type { Operation } from "./document.ts";

/** What the operator typed to try an operation. */
export interface Trial {
  token: string;
  values: Readonly<Record<string, string>>;
  body: string;
}

/** The request of a trial. */
export interface TrialRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** What path and query begin with. Headers are left out: most requests need none, and one of them changes who acts. */
export function exampleValues({ parameters }: Pick<Operation, "parameters">): Readonly<Record<string, string>> {
  const shown = parameters.filter(
    ({ in: place, required, example }) => place !== "header" && required && example !== undefined,
  );
  return Object.fromEntries(shown.map(({ name, example }) => [name, String(example)]));
}

export function requestOf(operation: Operation, { token, values, body }: Trial, origin: string): TrialRequest {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const url = new URL(path, origin);
  const headers: Record<string, string> = {};
  if (token !== "") headers["authorization"] = `Bearer ${token}`;
  for (const { name, in: where } of operation.parameters) {
    const value = values[name] ?? "";
    if (value === "") continue;
    if (where === "query") url.searchParams.set(name, value);
    if (where === "header") headers[name] = value;
  }
  const hasBody = operation.body !== undefined;
  if (hasBody) headers["content-type"] = "application/json";
  // A call that names its trace in the body has to name it in the header, too.
  const traceId = hasBody ? traceOf(body) : undefined;
  if (traceId !== undefined && operation.path.startsWith("/v1/")) headers["x-trace-id"] ??= traceId;
  return { method: operation.method, url: url.href, headers, body: hasBody ? body : undefined };
}

function traceOf(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { traceId?: unknown; message?: { traceId?: unknown } };
    const traceId = body.traceId ?? body.message?.traceId;
    return typeof traceId === "string" ? traceId : undefined;
  } catch {
    return undefined;
  }
}

/** The same request for a terminal. The token is named, not shown. */
export function curlText({ method, url, headers, body }: TrialRequest): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const shown = Object.entries(headers).map(([name, value]) =>
    name === "authorization" ? `-H "authorization: Bearer $TURNPIKE_TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const lines = [`curl -X ${method} ${quoted(url)}`, ...shown, ...(body === undefined ? [] : [`-d ${quoted(body)}`])];
  return lines.join(" \\\n  ");
}
