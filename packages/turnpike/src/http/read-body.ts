import type { Route } from "../contracts/index.ts";
import { accept, readJsonText } from "../internal/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

type RequestSchema = NonNullable<Route["request"]>;

/** Where the bytes of a body come from: a `Request`, or a host's own reader of it, which need not copy them. */
export type BodySource = { bytes(): Promise<Uint8Array> } | { arrayBuffer(): Promise<ArrayBuffer> };

/** The body of a request, checked against its contract and frozen; throws `invalid_json` or `invalid_request`. */
export async function readBody(source: BodySource, schema: RequestSchema): Promise<unknown> {
  const accepted = accept(schema, await readJsonBody(source));
  if (!accepted.ok) throw invalidRequest(accepted.message);
  return accepted.value;
}

/** The body of a request as JSON that is not too deep, has not too many parts and no number that parsing changes; throws like `readBody`. */
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
