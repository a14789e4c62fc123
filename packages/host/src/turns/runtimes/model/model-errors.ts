import { APICallError, InvalidResponseDataError, NoOutputGeneratedError, type FinishReason } from "ai";
import type { ErrorCode, ErrorObject } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";

/** How far a reply had come when it ended: `raw` is the provider's own word for the end, when it came to one. */
export interface ReplyEnd {
  reason: FinishReason;
  raw: string | undefined;
  hasBegun: boolean;
  hasCalls: boolean;
}

/** How a request to a model failed, in our own words alone: a provider's may quote the key or the conversation. */
export function failureOf(error: unknown, hasBegun: boolean): ErrorObject {
  if (isCut(error)) return cut(hasBegun);
  if (!APICallError.isInstance(error)) return errorObject(codeOfStreamError(error));
  const { statusCode: status, isRetryable, responseBody, data } = error;
  if (status === undefined || status < 300)
    return errorObject(isRetryable ? "model_unavailable" : "model_response_invalid");
  // The SDK makes a 500 of an error that begins a stream; a server's own may be tried again.
  if (status >= 500 && !isRetryable) return errorObject(codeOfStreamError(parsed(responseBody)));
  const failure = { ...errorObject(codeOfStatus(status)), details: { status } };
  // A quota that is spent answers like a rate that is too high, and does not come back by waiting.
  return status === 429 && isQuota(data) ? { ...failure, retryable: false } : failure;
}

/** Why a reply that was read to its end cannot be taken; undefined when it can. */
export function failureOfEnd({ reason, raw, hasBegun, hasCalls }: ReplyEnd): ErrorObject | undefined {
  if (reason === "other" && raw === undefined) return cut(hasBegun);
  if (reason === "tool-calls" && !hasCalls) return errorObject("model_response_invalid");
  const code = endCodes[reason];
  return code && errorObject(code);
}

const endCodes: Partial<Record<FinishReason, ErrorCode>> = {
  length: "model_output_truncated",
  "content-filter": "model_refused",
  error: "model_response_invalid",
};

/** A stream that stops is a provider that went away; one that never began was none. */
function cut(hasBegun: boolean): ErrorObject {
  return errorObject(hasBegun ? "model_unavailable" : "model_response_invalid");
}

function isCut(error: unknown): boolean {
  if (InvalidResponseDataError.isInstance(error)) return error.data === undefined;
  return NoOutputGeneratedError.isInstance(error);
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return "model_rate_limited";
  return status >= 500 || status === 408 ? "model_unavailable" : "model_rejected_request";
}

/** An error inside a stream is an object of the provider's, or what the SDK could not read. */
function codeOfStreamError(error: unknown): ErrorCode {
  if (typeof error !== "object" || error === null || "name" in error) return "model_response_invalid";
  const kind = "type" in error ? String(error.type) : "";
  if (/rate_limit/.test(kind)) return "model_rate_limited";
  return /invalid|authentication|permission|not_found/.test(kind) ? "model_rejected_request" : "model_unavailable";
}

function isQuota(data: unknown): boolean {
  const { error } = (data ?? {}) as { error?: { code?: unknown; type?: unknown } | null };
  return /quota/.test(`${String(error?.code)} ${String(error?.type)}`);
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "") as unknown;
  } catch {
    return undefined;
  }
}
