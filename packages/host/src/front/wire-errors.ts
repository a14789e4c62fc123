/**
 * What a request may be refused with before a protocol sees it: the code that comes with each status. The API description of
 * the host names them for every route, because every route has the socket before it.
 */
export const wireErrors = {
  400: "invalid_request",
  405: "method_not_allowed",
  408: "request_timeout",
  413: "payload_too_large",
  417: "invalid_request",
  429: "rate_limited",
  431: "invalid_request",
  500: "internal_error",
  503: "overloaded",
} as const;

/** A status of such a refusal. */
export type WireStatus = keyof typeof wireErrors;

/** Why a request is refused before it is routed. */
export interface Refusal {
  status: WireStatus;
  code: string;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

/** A refusal with the code of its status. */
export function wireRefusal(status: WireStatus, message: string, headers?: Refusal["headers"]): Refusal {
  return { status, code: wireErrors[status], message, ...(headers && { headers }) };
}
