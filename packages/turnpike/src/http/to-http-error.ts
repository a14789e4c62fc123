import { errorCodes, type ErrorCode } from "../contracts/index.ts";
import { KernelError } from "../kernel/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

/** What the caller learns of an error; whatever is not meant for callers becomes `internal_error`. */
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

/** A response with a body takes these only; anything else would fail when it is built. */
function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

function isPermissionDenied(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "permission_denied";
}
