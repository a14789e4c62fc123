import type { JsonObject } from "../contracts/index.ts";

/** The options of a `ServiceHttpError`. */
export interface ServiceHttpErrorOptions {
  cause?: unknown;
  /** For programs: what the message says in words. */
  details?: JsonObject;
  /** Headers for the response, such as `www-authenticate` or `retry-after`. */
  headers?: Readonly<Record<string, string>>;
}

/** An error that is the answer to the request, with its status and code. A host's context resolver or the api throws it. */
export class ServiceHttpError extends Error {
  override readonly name = "ServiceHttpError";
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: JsonObject | undefined;

  constructor(status: number, code: string, message: string, options: ServiceHttpErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.status = status;
    this.code = code;
    this.headers = lowerCased(options.headers);
    this.details = options.details;
  }
}

/** Writes header names in lower case, so that no name occurs twice. */
function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
