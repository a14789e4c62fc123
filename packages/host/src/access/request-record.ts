import type { ServiceApiCallOptions } from "turnpike/http";
import type { Caller } from "./authenticate.ts";

/** What is known of a request while it is handled. The front opens it, and it travels in the call options. */
export interface RequestRecord {
  readonly requestId: string;
  /** Headers that are added to the answer. */
  readonly headers: Record<string, string>;
  /** The sender of the request, once that is known. */
  caller?: Caller;
  /** Facts for the log. */
  facts: { tenant?: string; traceId?: string; credentialId?: string };
}

export function openRecord(requestId: string): RequestRecord {
  return { requestId, headers: {}, facts: {} };
}

/** The record of the request behind a call of the api; undefined for a call without a request. */
export function recordOf(options: ServiceApiCallOptions | undefined): RequestRecord | undefined {
  return options?.host as RequestRecord | undefined;
}
