import type { Route } from "../contracts/index.ts";
import { accept, readJsonText } from "../internal/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

type RequestSchema = NonNullable<Route["request"]>;

/** The source of a body's bytes: a `Request`, or a host's own reader, which can avoid a copy. */
export type BodySource = { bytes(): Promise<Uint8Array> } | { arrayBuffer(): Promise<ArrayBuffer> };

/**
 * The body of a request, checked against its contract and frozen; throws `invalid_json` or `invalid_request`.
 *
 * @example
 * import { AuthorizationRequestSchema } from "turnpike/contracts";
 * import { readBody } from "turnpike/http";
 *
 * const body = '{"action":"read","resource":{"namespace":"notes","path":["a"]}}';
 * const request = new Request("https://example.com", { method: "POST", body });
 * console.log(await readBody(request, AuthorizationRequestSchema)); // { action: 'read', resource: { namespace: 'notes', path: [ 'a' ] } }
 */
export async function readBody(source: BodySource, schema: RequestSchema): Promise<unknown> {
  const accepted = accept(schema, await readJsonBody(source));
  if (!accepted.ok) throw invalidRequest(accepted.message);
  return accepted.value;
}

/**
 * Reads the body of a request as JSON. Throws like `readBody`, also when it is too deep, has too many parts or a number that parsing changes.
 *
 * @example
 * import { readJsonBody } from "turnpike/http";
 *
 * console.log(await readJsonBody(new Response('{"a":1}'))); // { a: 1 }
 */
export async function readJsonBody(source: BodySource): Promise<unknown> {
  const bytes = "arrayBuffer" in source ? new Uint8Array(await source.arrayBuffer()) : await source.bytes();
  const reading = readJsonText(bytes);
  if (reading.ok) return reading.value;
  if (reading.kind === "syntax") throw new ServiceHttpError(400, "invalid_json", "The body is not JSON.");
  throw invalidRequest(reading.message);
}

function invalidRequest(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
