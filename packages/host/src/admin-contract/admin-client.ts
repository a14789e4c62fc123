import { describeIssues } from "turnpike/contracts";
import { AdminClientError, callAdmin, type CallTarget, sendAdmin } from "./admin-call.ts";
import type { AdminRoute } from "./admin-route.ts";
import { adminRoutes, type AdminCallName, type AdminFileName, type AdminOutput } from "./admin-routes.ts";
import { followEvents, type FollowedEvent, type FollowOptions } from "./follow-events.ts";

/** The options of a client of the management API. */
export interface AdminClientOptions {
  url: string;
  /** An operator's token. */
  token: string;
  fetch?: typeof fetch;
  /** How long to wait before a stream that broke off is opened again; a second unless given. */
  retryMs?: number;
}

/** A typed client of a host's management API. */
export interface AdminClient {
  /** Requests an operation by its name. Throws an `AdminClientError`. */
  request<Name extends AdminCallName>(name: Name, input: Readonly<Record<string, unknown>>): Promise<AdminOutput<Name>>;
  /** Requests a file, and returns the response with it. Throws an `AdminClientError` when the host refuses. */
  download(name: AdminFileName, input: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Response>;
  /**
   * What happens in a tenant, without an end. A stream that breaks off is opened again, behind the last event. Throws an
   * `AdminClientError` when the host refuses it, or when none answers at the beginning.
   */
  follow(options: FollowOptions): AsyncIterable<FollowedEvent>;
}

/** Makes a client of a host's management API. */
export function createAdminClient({ url, token, fetch, retryMs = 1000 }: AdminClientOptions): AdminClient {
  const target: CallTarget = { url, headers: { authorization: `Bearer ${token}` }, ...(fetch && { fetch }) };
  return {
    download(name, input, signal) {
      const { method, path } = adminRoutes[name];
      return sendAdmin({ method, path, hasBody: true }, input, { ...target, ...(signal && { signal }) });
    },
    follow: (options) => followEvents(target, options, retryMs),
    async request<Name extends AdminCallName>(name: Name, input: Readonly<Record<string, unknown>>) {
      const { method, path, request, response: schema }: AdminRoute = adminRoutes[name];
      const answer = await callAdmin({ method, path, hasBody: request !== undefined }, input, target);
      const checked = schema.safeParse(answer);
      if (checked.success) return checked.data as AdminOutput<Name>;
      const message = `The host's answer is not understood; is it of another version? ${describeIssues(checked.error.issues)}`;
      throw new AdminClientError("invalid_response", message);
    },
  };
}
