/** What is known about a failed call. */
export interface ServiceClientErrorDetails {
  /** The HTTP status; 0 when no answer arrived. */
  status: number;
  /** The server's code, or the client's own `invalid_response` or `request_failed`. Tolerate codes you do not know. */
  code: string;
  requestId?: string | undefined;
  /** Seconds to wait before another try, when the server said so. */
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A call that got no result. A denied or failed result is not an error: it is an answer. */
export class ServiceClientError extends Error {
  override readonly name = "ServiceClientError";
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(message: string, { status, code, requestId, retryAfter, cause }: ServiceClientErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}
