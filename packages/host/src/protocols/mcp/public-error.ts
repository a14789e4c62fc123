import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { errorCodes } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { KernelError } from "turnpike/kernel";

/** A code and a message that a caller may read. */
export interface PublicError {
  code: string;
  message: string;
  retryable?: boolean | undefined;
}

/** The public part of an error that was thrown. An error that is not meant for callers becomes `internal_error`. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof ServiceHttpError || error instanceof KernelError) {
    return { code: error.code, message: error.message };
  }
  return { code: "internal_error", message: errorCodes.internal_error.meaning };
}

/** The error of JSON-RPC. Our own code is in its data. */
export function toProtocolError({ code, message }: PublicError, kind: "refused" | "failed"): ProtocolError {
  const number = kind === "refused" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(number, message, { code });
}
