import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { errorCodes, type ErrorObject, type JsonObject } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { KernelError } from "turnpike/kernel";

/** A code and a message that a caller may read. */
export interface PublicError {
  code: string;
  message: string;
  retryable?: boolean | undefined;
  details?: ErrorObject["details"];
}

/** The public part of an error that was thrown. An error that is not meant for callers becomes `internal_error`. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof ServiceHttpError || error instanceof KernelError) {
    return { code: error.code, message: error.message };
  }
  return { code: "internal_error", message: errorCodes.internal_error.meaning, retryable: true };
}

/** The error of JSON-RPC. Our own code is in its data. */
export function toProtocolError(error: PublicError, kind: "refused" | "failed"): ProtocolError {
  const number = kind === "refused" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(number, error.message + askedPerson(error.details), { code: error.code });
}

/** The message of an error, and what the caller can do about it. Models read nothing else. */
export function advise({ code, message, retryable, details }: PublicError): string {
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  const asked = askedPerson(details);
  if (asked !== "") return sentence + asked;
  const step = nextSteps[code] ?? (retryable === true ? "Try again later." : "Change the call, or go on without it.");
  return `${sentence} ${step}`;
}

const nextSteps: Readonly<Record<string, string>> = {
  no_matching_grant: "Ask whoever gave you access for this too, or go on without it.",
  grant_exhausted: "Ask whoever gave you access for more, or go on without it.",
  approval_denied: "Do not ask again; go on without it.",
  tool_unavailable: "List the tools to see which you can use.",
  invalid_tool_arguments: "Correct the arguments and call again.",
};

/** What to do about an act that waits for a person's approval. */
function askedPerson(details: JsonObject | undefined): string {
  const asked = details?.["escalationId"];
  return typeof asked === "string"
    ? ` A person has been asked (${asked}). Call again with exactly the same arguments after the approval.`
    : "";
}
