import { jsonReply, ServiceHttpError, type Reply } from "turnpike/http";
import type { RequestHeaders } from "../../access/index.ts";
import type { OriginOf, ProtocolRoute } from "../../front/index.ts";

/** What is said about where the host is, and who issues tokens for it (RFC 9728). */
export interface ProtectedResource {
  originOf: OriginOf;
  /** Who issues the tokens of an identity provider. */
  issuer?: string | undefined;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** Where the metadata is: for the host, and for its MCP address. */
export const metadataPaths = [wellKnown, `${wellKnown}/mcp`];

/** The pages from which a client learns how to get in. */
export function metadataRoutes(about: ProtectedResource): ProtocolRoute<undefined>[] {
  return metadataPaths.map((path) => ({
    method: "GET",
    path,
    answer: async ({ request }) => metadata(about, request.headers),
  }));
}

function metadata(about: ProtectedResource, headers: RequestHeaders): Reply {
  const { originOf, issuer } = about;
  return jsonReply({
    resource: `${originOf(headers)}/mcp`,
    ...(issuer !== undefined && URL.canParse(issuer) && { authorization_servers: [issuer] }),
    bearer_methods_supported: ["header"],
  });
}

/**
 * A refusal for want of a credential that says where to learn how to get one, if the sender says where they reached the host;
 * any other error as it is.
 */
export function withMetadata(error: unknown, about: ProtectedResource, headers: RequestHeaders): unknown {
  const origin = originIn(about, headers);
  if (!(error instanceof ServiceHttpError) || error.status !== 401 || origin === undefined) return error;
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
