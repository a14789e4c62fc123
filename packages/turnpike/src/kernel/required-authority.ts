import type { AccessContext, AuthorityAsk, AuthorityRequest, AuthorizationRequest } from "../contracts/index.ts";
import { canonicalJson, sha256 } from "../internal/index.ts";

/** The ask that a denial restates: exactly what was asked, and nothing of what exists. */
export function requiredAuthority(
  context: AccessContext,
  { action, resource }: AuthorizationRequest,
): AuthorityRequest {
  return mintAuthorityRequest(context, { capabilities: [{ resource, actions: [action], scope: "exact" }] });
}

/** An authority request whose identity comes from the trusted context. The same ask has the same id at any time. */
export function mintAuthorityRequest(context: AccessContext, ask: AuthorityAsk): AuthorityRequest {
  const { namespaceId, owner, actor: requester, purpose, now: requestedAt } = context;
  const { capabilities, constraints, metadata } = ask;
  const identity = { namespaceId, owner, requester, purpose, capabilities, constraints };
  return {
    id: sha256(canonicalJson(identity)),
    namespaceId,
    owner,
    requester,
    purpose,
    requestedAt,
    capabilities,
    ...(constraints && { constraints }),
    ...(metadata && { metadata }),
  };
}
