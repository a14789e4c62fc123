import { accept, describeIssues, readJson, type Route } from "../contracts/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

type RequestSchema = NonNullable<Route["request"]>;

/** The body of a request, checked against its contract and frozen; throws `invalid_json` or `invalid_request`. */
export async function readBody(request: Request, schema: RequestSchema): Promise<unknown> {
  const document = parseJson(await request.arrayBuffer());
  const reading = readJson(document);
  if (!reading.ok) {
    const { path, expected } = reading.problem;
    throw invalidRequest(describeIssues([{ code: "custom", path, message: expected, input: document }]));
  }
  const accepted = accept(schema, reading.value);
  if (!accepted.ok) throw invalidRequest(accepted.message);
  return accepted.value;
}

function parseJson(body: ArrayBuffer): unknown {
  try {
    return JSON.parse(decoder.decode(body));
  } catch {
    throw new ServiceHttpError(400, "invalid_json", "The body is not JSON.");
  }
}

function invalidRequest(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}
