import { AsyncLocalStorage } from "node:async_hooks";
import type { Caller } from "./caller.ts";

/** What the parts of the host that handle one request tell each other about it. */
export interface RequestScope {
  /** Added to the response. */
  readonly headers: Map<string, string>;
  /** Whoever sent the request, once that is known. */
  caller?: Caller;
  /** For the log. */
  facts: { tenant?: string; traceId?: string; credentialId?: string };
}

const storage = new AsyncLocalStorage<RequestScope>();

/** Runs the handling of one request. */
export function withRequestScope<T>(run: (scope: RequestScope) => Promise<T>): Promise<T> {
  const scope: RequestScope = { headers: new Map(), facts: {} };
  return storage.run(scope, run, scope);
}

/** The scope of the request being handled; undefined outside of one. */
export function requestScope(): RequestScope | undefined {
  return storage.getStore();
}
