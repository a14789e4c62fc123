import {
  APICallError,
  InvalidResponseDataError,
  NoOutputGeneratedError,
  UnsupportedFunctionalityError,
  type FinishReason,
} from "ai";
import type { ErrorCode, ErrorObject } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { retryAfterMs } from "./retry-after.ts";

/** How a reply ended. `raw` is the provider's own reason, if it sent one. */
export interface ReplyEnd {
  reason: FinishReason;
  raw: string | undefined;
  hasBegun: boolean;
  hasText: boolean;
  hasCalls: boolean;
  /** The provider's own reason is there because the reply is not complete. */
  isIncomplete: boolean;
}

/** How a request to a model failed, and what may help: the same model later, another model, or nothing. */
export interface Failure {
  error: ErrorObject;
  remedy: "retry" | "fallback" | "none";
  /** How long the provider asks to wait. */
  retryAfterMs?: number | undefined;
}

/**
 * What an error of the SDK means. The message is always ours: a provider's may quote the key or the conversation. Once a
 * reply has begun there is no remedy, because the caller has seen a part of it.
 */
export function failureOf(error: unknown, hasBegun: boolean): Failure {
  const failure = APICallError.isInstance(error) ? failureOfCall(error) : failureOfStream(error, hasBegun);
  return hasBegun ? { error: failure.error, remedy: "none" } : failure;
}

/** Why a whole reply cannot be used; undefined when it can. */
export function failureOfEnd(end: ReplyEnd): ErrorObject | undefined {
  const { reason, raw, hasBegun, hasText, hasCalls, isIncomplete } = end;
  const code = endCodes[reason] ?? (isIncomplete ? "model_output_truncated" : undefined);
  if (code !== undefined) return errorObject(code);
  if (reason === "other" && raw === undefined) return interrupted(hasBegun);
  // An unknown reason ends a reply like any other, but an empty reply is still a failure.
  const isNothing = reason === "other" && !hasText && !hasCalls;
  return isNothing || (reason === "tool-calls" && !hasCalls) ? errorObject("model_response_invalid") : undefined;
}

const endCodes: Partial<Record<FinishReason, ErrorCode>> = {
  length: "model_output_truncated",
  "content-filter": "model_refused",
  error: "model_response_invalid",
};

function failureOfCall({
  statusCode: status,
  isRetryable,
  responseHeaders,
  responseBody,
  data,
}: APICallError): Failure {
  if (status === undefined || status < 300)
    return byRetrying(errorObject(isRetryable ? "model_unavailable" : "model_response_invalid"));
  const body = parsed(responseBody);
  // The SDK turns an error at the start of a stream into a 500. A 500 of the server itself may be retried.
  if (status >= 500 && !isRetryable) return byRetrying(errorObject(codeOfStreamError(body)));

  const error = { ...errorObject(codeOfStatus(status)), details: { status } };
  // A spent quota has the same status as a rate limit, but waiting does not help.
  if (status === 429 && isQuota(data)) return { error: { ...error, retryable: false }, remedy: "fallback" };
  // A missing model will not appear by waiting.
  if (status === 404) return { error, remedy: "fallback" };
  const wait = retryAfterMs(responseHeaders, body);
  return status === 409 ? { error, remedy: "retry", retryAfterMs: wait } : { ...byRetrying(error), retryAfterMs: wait };
}

function failureOfStream(error: unknown, hasBegun: boolean): Failure {
  if (UnsupportedFunctionalityError.isInstance(error))
    return { error: errorObject("model_rejected_request", unsupported), remedy: "none" };
  return byRetrying(isInterrupted(error) ? interrupted(hasBegun) : errorObject(codeOfStreamError(error)));
}

const unsupported = "The model's provider does not take something in the request, such as a kind of file.";

function byRetrying(error: ErrorObject): Failure {
  return { error, remedy: error.retryable === true ? "retry" : "none" };
}

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
  const { type, code } = error as { type?: unknown; code?: unknown };
  const kind = `${String(type)} ${String(code)}`;
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
