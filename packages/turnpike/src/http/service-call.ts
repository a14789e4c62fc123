import type { AccessContext, Route } from "../contracts/index.ts";
import type { Reply } from "./reply.ts";
import type { ServiceApiCallOptions } from "./service-api.ts";

/** The headers of a request: those of a `Request`, or a host's own object. Names are in lower case. */
export interface RequestHeaders {
  get(name: string): string | null;
}

/** A request that was admitted, with a body that fits its route. */
export interface ServiceCall {
  context: AccessContext;
  body: unknown;
  /** The path by which the route was found. */
  path: string;
  /** The URL, or its path and query alone, as it was sent. */
  target: string;
  headers: RequestHeaders;
  options: ServiceApiCallOptions & { signal: AbortSignal };
  /** Called with an error that occurs after the answer has begun. */
  onLateError(error: unknown): void;
}

/** One route of the service, for a host that has a front of its own. */
export interface ServiceRoute extends Pick<Route, "path" | "request" | "authority"> {
  method: string;
  /** Carries the operation out. Rejects with request-level errors. A route that needs no context ignores its call. */
  answer(call: ServiceCall): Promise<Reply>;
}
