import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { errorCodes } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { KernelError } from "turnpike/kernel";

/** A code and words that a caller may read. */
export interface SaidError {
  code: string;
  message: string;
  retryable?: boolean | undefined;
}

/** What a caller learns of an error that was thrown; whatever is not meant for callers becomes `internal_error`. */
export function toSaidError(error: unknown): SaidError {
  if (error instanceof ServiceHttpError || error instanceof KernelError) {
    return { code: error.code, message: error.message };
  }
  return { code: "internal_error", message: errorCodes.internal_error.meaning };
}

/** An error as JSON-RPC says it, with the code that says more in its data. */
export function toProtocolError({ code, message }: SaidError, kind: "refused" | "failed"): ProtocolError {
  const number = kind === "refused" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(number, message, { code });
}
