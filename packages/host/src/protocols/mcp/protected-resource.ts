import { jsonReply, ServiceHttpError, type Reply } from "turnpike/http";
import type { RequestHeaders } from "../../access/index.ts";
import type { ProtocolRoute } from "../../front/index.ts";

/** What is said about where the host is, and who issues tokens for it (RFC 9728). */
export interface ProtectedResource {
  /** The origin under which clients reach the host; each request's own Host when not set. */
  publicUrl?: string | undefined;
  /** Whether the host itself speaks TLS. */
  hasTls: boolean;
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
  const origin = originOf(about, headers);
  if (origin === undefined)
    throw new ServiceHttpError(400, "invalid_request", "Send a Host header that names this host.");
  const { issuer } = about;
  return jsonReply({
    resource: `${origin}/mcp`,
    ...(issuer !== undefined && URL.canParse(issuer) && { authorization_servers: [issuer] }),
    bearer_methods_supported: ["header"],
  });
}

/** A refusal for want of a credential that says where to learn how to get one; any other error as it is. */
export function withMetadata(error: unknown, about: ProtectedResource, headers: RequestHeaders): unknown {
  const origin = originOf(about, headers);
  if (!(error instanceof ServiceHttpError) || error.status !== 401 || origin === undefined) return error;
  const challenge = `Bearer realm="turnpike", resource_metadata="${origin}${wellKnown}/mcp"`;
  return new ServiceHttpError(401, error.code, error.message, {
    headers: { ...error.headers, "www-authenticate": challenge },
  });
}

/**
 * A name or an address and a port, and nothing that means something in a header or in JSON. What checks the head of a
 * request lets `%22` through, which URLs read as a quote.
 */
const plainHost = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/;

/** The origin at which the sender of a request has reached the host; undefined when their Host header does not say. */
function originOf({ publicUrl, hasTls }: ProtectedResource, headers: RequestHeaders): string | undefined {
  if (publicUrl !== undefined) return new URL(publicUrl).origin;
  const address = `${hasTls ? "https" : "http"}://${headers.get("host") ?? ""}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url !== undefined && url.href === `${url.origin}/` && plainHost.test(url.host) ? url.origin : undefined;
}
