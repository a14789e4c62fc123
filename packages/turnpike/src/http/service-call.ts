import type { AccessContext, Route } from "../contracts/index.ts";
import type { Reply } from "./reply.ts";
import type { ServiceApiCallOptions } from "./service-api.ts";

/** Where the headers of a request are: in a `Request`, or in what a host has of it. Names are written in lower case. */
export interface RequestHeaders {
  get(name: string): string | null;
}

/** A request of somebody who was let in, with a body that fits its route. */
export interface ServiceCall {
  context: AccessContext;
  body: unknown;
  /** The path, as its route was found by it. */
  path: string;
  /** The URL, or its path and query alone, as it was sent. */
  target: string;
  headers: RequestHeaders;
  options: ServiceApiCallOptions & { signal: AbortSignal };
  /** Told about an error that comes when the answer has begun. */
  onLateError(error: unknown): void;
}

/** One route of the service, for a host that has a front of its own. */
export interface ServiceRoute extends Pick<Route, "path" | "request" | "authority"> {
  method: string;
  /** Carries the operation out. Rejects for what is a request-level error. A route that needs no context ignores its call. */
  answer(call: ServiceCall): Promise<Reply>;
}
