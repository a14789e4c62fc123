import { IdentifierSchema, parsePrincipal, type DiscoveryContext } from "turnpike/contracts";
import { fromHeaderValue, ServiceHttpError, toHeaderValue } from "turnpike/http";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { authenticate, orUnavailable, type AuthenticationPorts } from "./authenticate.ts";
import type { Credential } from "./credential-store.ts";
import { takeAllowance, type RateLimit } from "./rate-limit.ts";
import type { RequestRecord } from "./request-record.ts";

/** What making a context uses. */
export interface AccessPorts extends AuthenticationPorts {
  settings: NamespaceSettingsStore;
  rateLimit: RateLimit;
}

/** Makes the context that a request acts in from its headers. */
export type ContextResolver = (headers: Headers, record: RequestRecord) => Promise<DiscoveryContext>;

/** Makes the trusted context of a request from its credential and headers. Throws 400, 401, 403 or 429. */
export function createContextResolver(ports: AccessPorts): ContextResolver {
  return async (headers, record) => {
    const now = ports.clock();
    const caller = await authenticate(ports, headers);
    const { credential } = caller;
    const { id, namespaceId, access } = credential;
    const traceId = traceIdOf(headers) ?? crypto.randomUUID();
    record.caller = caller;
    record.facts = { tenant: namespaceId, traceId, credentialId: id };
    record.headers.set("x-trace-id", toHeaderValue(traceId));
    takeAllowance(ports.rateLimit, caller, record);
    if (access.admin === true) throw new ServiceHttpError(403, "permission_denied", operatorRefusal);

    const authority = authorityOf(headers, credential);
    return {
      actor: access.actor,
      ...(authority && { authority }),
      owner: access.owner,
      namespaceId,
      enabledToolNamespaces: [...(await orUnavailable(ports.settings.enabled(namespaceId, access.actor)))],
      now: now.toISOString(),
      purpose: purposeOf(headers, credential),
      traceId,
    };
  };
}

const operatorRefusal =
  "This is an operator's credential, which acts for nobody. `turnpike credential create` makes one that does.";

function purposeOf(headers: Headers, { access: { purposes } }: Credential): string {
  const header = headers.get("x-purpose");
  const purpose = header === null ? purposes[0] : fromHeaderValue(header);
  if (purpose !== undefined && purposes.includes(purpose)) return purpose;
  throw new ServiceHttpError(403, "purpose_not_allowed", "This credential does not allow that purpose.");
}

/** Whose grants are exercised. This selects grants and gives none, so any principal may be named. */
function authorityOf(headers: Headers, { access }: Credential): DiscoveryContext["authority"] {
  const header = headers.get("x-authority");
  if (header === null) return access.authority;
  const authority = parsePrincipal(fromHeaderValue(header));
  if (authority !== undefined) return authority;
  throw new ServiceHttpError(400, "invalid_request", "x-authority: expected kind:id, such as human:alice.");
}

/** The caller's own trace id, or that of its distributed trace. */
function traceIdOf(headers: Headers): string | undefined {
  const own = IdentifierSchema.safeParse(fromHeaderValue(headers.get("x-trace-id") ?? ""));
  if (own.success) return own.data;
  const [, traceId] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(
      headers.get("traceparent") ?? "",
    ) ?? [];
  return traceId;
}
