import {
  type DiscoveryContext,
  fromHeaderValue,
  IdentifierSchema,
  parsePrincipal,
  toHeaderValue,
} from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { RateLimit } from "./rate-limit.ts";
import { requestScope } from "./request-scope.ts";
import type { Credential, CredentialStore } from "./credential-store.ts";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { callerByCredential, callerByJwt, type Caller } from "./caller.ts";
import type { JwtVerifier } from "./jwt.ts";

/** What credentials become contexts with. */
export interface AccessPorts {
  credentials: CredentialStore;
  jwt?: JwtVerifier | undefined;
  settings: NamespaceSettingsStore;
  rateLimit: RateLimit;
  clock: () => Date;
}

/** From the request's credential to the trusted context it acts in; throws 400, 401, 403 or 429. */
export function createContextResolver(ports: AccessPorts): (request: Request) => Promise<DiscoveryContext> {
  return async ({ headers }) => {
    const now = ports.clock();
    const caller = await orUnavailable(authenticate(ports, headers, now));
    const { credential } = caller;
    const { id, namespaceId, access } = credential;
    const scope = requestScope();
    if (scope !== undefined) scope.caller = caller;
    const traceId = traceIdOf(headers) ?? crypto.randomUUID();
    scope?.headers.set("x-trace-id", toHeaderValue(traceId));
    if (scope !== undefined) scope.facts = { tenant: namespaceId, traceId, credentialId: id };
    const allowance = ports.rateLimit.take(id);
    for (const [name, value] of Object.entries(allowance.headers)) scope?.headers.set(name, value);
    if (!allowance.isGranted)
      throw new ServiceHttpError(429, "rate_limited", "Too many requests with this credential.");
    if (access.admin === true) throw new ServiceHttpError(403, "permission_denied", operatorsOwn);

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

const operatorsOwn =
  "This is an operator's credential, which acts for nobody. `turnpike credential create` makes one that does.";

/** A store that does not answer lets nobody in, and says that it may answer later. */
async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof ServiceHttpError) throw cause;
    throw new ServiceHttpError(503, "authority_unavailable", "Credentials and settings cannot be read right now.", {
      cause,
    });
  }
}

async function authenticate({ credentials, jwt }: AccessPorts, headers: Headers, now: Date): Promise<Caller> {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  const caller = token.startsWith("tp_")
    ? await callerByCredential(credentials, token, now)
    : jwt && (await callerByJwt(jwt, token, now));
  if (caller !== undefined) return caller;
  throw new ServiceHttpError(401, "unauthenticated", "Send a valid credential: authorization: Bearer <token>.", {
    headers: { "www-authenticate": 'Bearer realm="turnpike"' },
  });
}

function purposeOf(headers: Headers, { access: { purposes } }: Credential): string {
  const asked = headers.get("x-purpose");
  const purpose = asked === null ? purposes[0] : fromHeaderValue(asked);
  if (purpose !== undefined && purposes.includes(purpose)) return purpose;
  throw new ServiceHttpError(403, "purpose_not_allowed", "This credential does not allow that purpose.");
}

/** Whose grants are exercised. It selects and grants nothing, so any principal may be named. */
function authorityOf(headers: Headers, { access }: Credential): DiscoveryContext["authority"] {
  const asked = headers.get("x-authority");
  if (asked === null) return access.authority;
  const authority = parsePrincipal(fromHeaderValue(asked));
  if (authority !== undefined) return authority;
  throw new ServiceHttpError(400, "invalid_request", "x-authority: expected kind:id, such as human:alice.");
}

/** The caller's own trace id, or the one of its distributed trace. */
function traceIdOf(headers: Headers): string | undefined {
  const own = IdentifierSchema.safeParse(fromHeaderValue(headers.get("x-trace-id") ?? ""));
  if (own.success) return own.data;
  const [, traceId] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(
      headers.get("traceparent") ?? "",
    ) ?? [];
  return traceId;
}
