/** What `ServiceHttpError` takes besides status, code and message. */
export interface ServiceHttpErrorOptions {
  cause?: unknown;
  /** Headers for the response, such as `www-authenticate` or `retry-after`. */
  headers?: Readonly<Record<string, string>>;
}

/** An error that answers the request as it is: thrown by a host's context resolver or by the api, passed through unrenamed. */
export class ServiceHttpError extends Error {
  override readonly name = "ServiceHttpError";
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, options: ServiceHttpErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.status = status;
    this.code = code;
    this.headers = lowerCased(options.headers);
  }
}

/** Header names have no case; one spelling keeps two of the same name from meeting. */
function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
