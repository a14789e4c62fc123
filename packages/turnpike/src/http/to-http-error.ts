import { errorCodes, type ErrorCode } from "../contracts/index.ts";
import { KernelError } from "../kernel/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

/**
 * The error that the caller sees. Any error that is not meant for callers becomes `internal_error`.
 *
 * @example
 * import { KernelError } from "turnpike/kernel";
 * import { toHttpError } from "turnpike/http";
 *
 * const { signal } = new AbortController();
 * console.log(toHttpError(new KernelError("authority_unavailable"), signal).status); // 503
 * console.log(toHttpError(new Error("secret"), signal).code); // internal_error
 */
export function toHttpError(error: unknown, caller: AbortSignal): ServiceHttpError {
  if (error instanceof ServiceHttpError && isErrorStatus(error.status)) return error;
  if (caller.aborted) return ownError("request_aborted");
  if (error instanceof KernelError && hasStatus(error.code)) return ownError(error.code);
  if (isPermissionDenied(error)) return ownError("permission_denied");
  return ownError("internal_error");
}

/** The codes that are answers to requests. */
type RequestCode = {
  [Code in ErrorCode]: (typeof errorCodes)[Code] extends { status: number } ? Code : never;
}[ErrorCode];

function ownError(code: RequestCode): ServiceHttpError {
  const { status, meaning } = errorCodes[code];
  return new ServiceHttpError(status, code, meaning);
}

function hasStatus(code: ErrorCode): code is RequestCode {
  return "status" in errorCodes[code];
}

/** Only these are statuses of an error with a body. A `Response` with any other status could not be made. */
function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

function isPermissionDenied(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "permission_denied";
}
