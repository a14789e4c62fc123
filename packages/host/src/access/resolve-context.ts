import { IdentifierSchema, parsePrincipal, type DiscoveryContext } from "turnpike/contracts";
import { acceptContext, contextAt, fromHeaderValue, ServiceHttpError, toHeaderValue } from "turnpike/http";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { authenticate, orUnavailable, type AuthenticationPorts } from "./authenticate.ts";
import type { Credential } from "./credential-store.ts";
import { isForeign } from "./jwt.ts";
import { takeAllowance, type RateLimit } from "./rate-limit.ts";
import type { RequestHeaders } from "./request-headers.ts";
import type { RequestRecord } from "./request-record.ts";

/** What making a context uses. */
export interface AccessPorts extends AuthenticationPorts {
  settings: NamespaceSettingsStore;
  rateLimit: RateLimit;
}

/** Makes the context that a request acts in from its headers. */
export type ContextResolver = (headers: RequestHeaders, record: RequestRecord) => Promise<DiscoveryContext>;

/** Makes the trusted context of a request from its credential and headers. Throws 400, 401, 403 or 429. */
export function createContextResolver(ports: AccessPorts): ContextResolver {
  const contextOf = createBearerContexts(ports);
  return async (headers, record) => {
    const now = ports.clock();
    const { credential, traceId } = await admitCaller(ports, headers, record);
    const choice = { purpose: headers.get("x-purpose"), authority: headers.get("x-authority") };
    return contextOf(credential, choice, now, traceId);
  };
}

/** Makes the context in which the bearer of a valid credential acts. */
export type BearerContexts = (
  credential: Credential,
  choice: Choice,
  now: Date,
  traceId: string,
) => Promise<DiscoveryContext>;

/** Makes the contexts of bearers. Throws 403 for an operator's credential, and 400 or 403 for a choice it does not allow. */
export function createBearerContexts({ settings }: Pick<AccessPorts, "settings">): BearerContexts {
  const contextFor = createContextCache();
  return async (credential, choice, now, traceId) => {
    const { namespaceId, access } = credential;
    if (access.admin === true) throw new ServiceHttpError(403, "permission_denied", operatorRefusal);
    const enabled = await orUnavailable(settings.enabled(namespaceId, access.actor));
    return contextAt(contextFor(credential, choice, enabled), now, traceId);
  };
}

/** The caller of a request, who is within their rate, and the id of its trace. */
export interface AdmittedCaller {
  credential: Credential;
  traceId: string;
}

/** Admits a caller with a valid credential, operators too, and puts them on the record. Throws 401 or 429. */
export async function admitCaller(
  ports: AuthenticationPorts & { rateLimit: RateLimit },
  headers: RequestHeaders,
  record: RequestRecord,
): Promise<AdmittedCaller> {
  const caller = await authenticate(ports, headers);
  const { credential } = caller;
  const traceId = traceIdOf(headers) ?? crypto.randomUUID();
  const isFirst = record.caller === undefined;
  record.caller = caller;
  record.facts = { tenant: credential.namespaceId, traceId, credentialId: credential.id };
  record.headers["x-trace-id"] = toHeaderValue(traceId);
  // A request that is tried again counts once.
  if (isFirst) takeAllowance(ports.rateLimit, caller, record);
  return { credential, traceId };
}

/** What a request chooses by its headers. */
interface Choice {
  purpose: string | null;
  authority: string | null;
}

const maxChoices = 16;

/**
 * The contexts of a credential, made and checked once for each choice. They go with the record that was read from the
 * store, so a change of the credential is seen at the next call, and so is a change of the tool namespaces.
 */
function createContextCache(): (
  credential: Credential,
  choice: Choice,
  enabled: readonly string[],
) => DiscoveryContext {
  const known = new WeakMap<object, Map<string, { context: DiscoveryContext; enabled: readonly string[] }>>();
  return (credential, choice, enabled) => {
    const { namespaceId, access } = credential;
    const name = nameOf(choice);
    let contexts = known.get(access);
    if (contexts === undefined) known.set(access, (contexts = new Map()));
    const found = contexts.get(name);
    if (found?.enabled === enabled && found.context.namespaceId === namespaceId) return found.context;
    const authority = authorityOf(choice, credential);
    const context = acceptContext(
      {
        actor: access.actor,
        ...(authority && { authority }),
        owner: access.owner,
        namespaceId,
        enabledToolNamespaces: [...enabled],
        now: new Date(0).toISOString(),
        purpose: purposeOf(choice, credential),
        traceId: "none",
        ...(!isForeign(credential) && { credential: credential.id }),
      },
      "optional",
    );
    if (contexts.size >= maxChoices) contexts.clear();
    contexts.set(name, { context, enabled });
    return context;
  };
}

/** Most requests choose nothing. */
function nameOf({ purpose, authority }: Choice): string {
  return purpose === null && authority === null ? "" : JSON.stringify([purpose, authority]);
}

const operatorRefusal =
  "This is an operator's credential, which acts for no principal. `turnpike credential create` makes one that does.";

function purposeOf({ purpose: header }: Choice, { access: { purposes } }: Credential): string {
  const purpose = header === null ? purposes[0] : fromHeaderValue(header);
  if (purpose !== undefined && purposes.includes(purpose)) return purpose;
  throw new ServiceHttpError(403, "purpose_not_allowed", "This credential does not allow that purpose.");
}

/** Whose grants are exercised. This selects grants and gives none, so any principal may be named. */
function authorityOf({ authority: header }: Choice, { access }: Credential): DiscoveryContext["authority"] {
  if (header === null) return access.authority;
  const authority = parsePrincipal(fromHeaderValue(header));
  if (authority !== undefined) return authority;
  throw new ServiceHttpError(400, "invalid_request", "x-authority: expected kind:id, such as human:alice.");
}

/** The caller's own trace id, or that of its distributed trace. */
function traceIdOf(headers: RequestHeaders): string | undefined {
  const own = IdentifierSchema.safeParse(fromHeaderValue(headers.get("x-trace-id") ?? ""));
  if (own.success) return own.data;
  const [, traceId] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(
      headers.get("traceparent") ?? "",
    ) ?? [];
  return traceId;
}
