import { jsonReply, type Reply } from "turnpike/http";
import type { OAuthServices } from "./oauth-services.ts";
import type { IncomingRequest } from "../../front/index.ts";

/** What the authorization server can do (RFC 8414). */
export async function describeServer(
  { config, ownOrigin }: Pick<OAuthServices, "config" | "ownOrigin">,
  { request }: IncomingRequest,
): Promise<Reply> {
  const issuer = ownOrigin(request.headers);
  return jsonReply({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    revocation_endpoint: `${issuer}/revoke`,
    ...(config.dcr && { registration_endpoint: `${issuer}/register` }),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ["offline_access"],
  });
}
