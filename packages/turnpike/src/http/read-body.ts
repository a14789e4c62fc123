import type { Route } from "../contracts/index.ts";
import { accept, checkJsonText, describeProblem } from "../internal/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

type RequestSchema = NonNullable<Route["request"]>;

/** Where the bytes of a body come from: a `Request`, or a host's own reader of it, which need not copy them. */
export type BodySource = { bytes(): Promise<Uint8Array> } | { arrayBuffer(): Promise<ArrayBuffer> };

/** The body of a request, checked against its contract and frozen; throws `invalid_json` or `invalid_request`. */
export async function readBody(source: BodySource, schema: RequestSchema): Promise<unknown> {
  const accepted = accept(schema, await readJsonBody(source));
  if (!accepted.ok) throw invalidRequest(accepted.message);
  return accepted.value;
}

/** The body of a request as JSON that is not too deep and has not too many parts; throws like `readBody`. */
export async function readJsonBody(source: BodySource): Promise<unknown> {
  const bytes = "arrayBuffer" in source ? new Uint8Array(await source.arrayBuffer()) : await source.bytes();
  const problem = checkJsonText(bytes);
  if (problem !== undefined) throw invalidRequest(describeProblem(problem));
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new ServiceHttpError(400, "invalid_json", "The body is not JSON.");
  }
}

function invalidRequest(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
