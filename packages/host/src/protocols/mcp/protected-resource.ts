import { jsonReply, ServiceHttpError, type Reply } from "turnpike/http";
import type { RequestHeaders } from "../../access/index.ts";
import type { OriginOf, ProtocolRoute } from "../../front/index.ts";

/** The address of the host, and who issues tokens for it (RFC 9728). */
export interface ProtectedResource {
  originOf: OriginOf;
  /** Whether this host issues tokens itself, to clients that act for people. */
  isIssuer?: boolean;
  /** Who issues the tokens of an identity provider. */
  issuer?: string | undefined;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** The addresses of the metadata: for the host, and for its MCP path. */
export const metadataPaths = [wellKnown, `${wellKnown}/mcp`];

/** The pages from which a client learns how to get a token. */
export function metadataRoutes(about: ProtectedResource): ProtocolRoute<undefined>[] {
  return metadataPaths.map((path) => ({
    method: "GET",
    path,
    answer: async ({ request }) => metadata(about, request.headers),
  }));
}

function metadata(about: ProtectedResource, headers: RequestHeaders): Reply {
  const resource = `${about.originOf(headers)}/mcp`;
  const issuers = issuersOf(about, headers);
  if (issuers.length === 0)
    throw new ServiceHttpError(404, "not_found", "Tokens of this host come from an operator: no server issues them.");
  return jsonReply({
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ["header"],
    ...(about.isIssuer === true && { scopes_supported: ["offline_access"] }),
  });
}

/** Who issues tokens: this host first, because its people decide there what a client may do. */
function issuersOf({ originOf, isIssuer = false, issuer }: ProtectedResource, headers: RequestHeaders): string[] {
  const own = isIssuer ? [originOf(headers)] : [];
  return issuer !== undefined && URL.canParse(issuer) ? [...own, issuer] : own;
}

/**
 * Adds the address of the metadata to a refusal for a missing credential, if the request says under which address the host was
 * reached. Any other error is returned as it is.
 */
export function withMetadata(error: unknown, about: ProtectedResource, headers: RequestHeaders): unknown {
  const origin = originIn(about, headers);
  if (origin === undefined || issuersOf(about, headers).length === 0) return error;
  if (!(error instanceof ServiceHttpError) || error.status !== 401) return error;
  const challenge = `Bearer realm="turnpike", resource_metadata="${origin}${wellKnown}/mcp"`;
  return new ServiceHttpError(401, error.code, error.message, {
    headers: { ...error.headers, "www-authenticate": challenge },
  });
}

function originIn({ originOf }: ProtectedResource, headers: RequestHeaders): string | undefined {
  try {
    return originOf(headers);
  } catch {
    return undefined;
  }
}
