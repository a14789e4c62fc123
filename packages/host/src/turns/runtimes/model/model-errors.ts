import { APICallError, InvalidResponseDataError, NoOutputGeneratedError, type FinishReason } from "ai";
import type { ErrorCode, ErrorObject } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";

/** How a reply ended. `raw` is the provider's own reason, if it sent one. */
export interface ReplyEnd {
  reason: FinishReason;
  raw: string | undefined;
  hasBegun: boolean;
  hasCalls: boolean;
}

/** How a request to a model failed. The message is always ours: a provider's may quote the key or the conversation. */
export function failureOf(error: unknown, hasBegun: boolean): ErrorObject {
  if (isInterrupted(error)) return interrupted(hasBegun);
  if (!APICallError.isInstance(error)) return errorObject(codeOfStreamError(error));
  const { statusCode: status, isRetryable, responseBody, data } = error;
  if (status === undefined || status < 300)
    return errorObject(isRetryable ? "model_unavailable" : "model_response_invalid");
  // The SDK turns an error at the start of a stream into a 500. A 500 of the server itself may be retried.
  if (status >= 500 && !isRetryable) return errorObject(codeOfStreamError(parsed(responseBody)));
  const failure = { ...errorObject(codeOfStatus(status)), details: { status } };
  // A spent quota has the same status as a rate limit, but waiting does not help.
  return status === 429 && isQuota(data) ? { ...failure, retryable: false } : failure;
}

/** Why a whole reply cannot be used; undefined when it can. */
export function failureOfEnd({ reason, raw, hasBegun, hasCalls }: ReplyEnd): ErrorObject | undefined {
  if (reason === "other" && raw === undefined) return interrupted(hasBegun);
  if (reason === "tool-calls" && !hasCalls) return errorObject("model_response_invalid");
  const code = endCodes[reason];
  return code && errorObject(code);
}

const endCodes: Partial<Record<FinishReason, ErrorCode>> = {
  length: "model_output_truncated",
  "content-filter": "model_refused",
  error: "model_response_invalid",
};

/** A stream that breaks off means that the provider is unavailable. A stream that never began was not a valid answer. */
function interrupted(hasBegun: boolean): ErrorObject {
  return errorObject(hasBegun ? "model_unavailable" : "model_response_invalid");
}

function isInterrupted(error: unknown): boolean {
  if (InvalidResponseDataError.isInstance(error)) return error.data === undefined;
  return NoOutputGeneratedError.isInstance(error);
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return "model_rate_limited";
  return status >= 500 || status === 408 ? "model_unavailable" : "model_rejected_request";
}

/** An error inside a stream is an object of the provider, or something that the SDK could not parse. */
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
