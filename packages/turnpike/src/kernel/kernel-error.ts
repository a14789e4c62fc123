import { errorCodes, type ErrorCode, type ErrorObject } from "../contracts/index.ts";

/** Thrown by operations whose answer has no room for a code. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, options?: ErrorOptions) {
    super(errorCodes[code].meaning, options);
    this.code = code;
  }
}

/** The error object of a result: the code's own words, so that equal codes read alike to every caller. */
export function errorObject(code: ErrorCode, message: string = errorCodes[code].meaning): ErrorObject {
  return { code, message, retryable: errorCodes[code].retry };
}
