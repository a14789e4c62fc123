import type {
  AccessContext,
  AuthorityRequestInput,
  AuthorityRequest,
  AuthorizationRequest,
} from "../contracts/index.ts";
import { canonicalJson, sha256 } from "../internal/index.ts";

/** The authority request in a denial. It repeats what the caller asked for, and reveals nothing of what exists. */
export function requiredAuthority(
  context: AccessContext,
  { action, resource }: AuthorizationRequest,
): AuthorityRequest {
  return mintAuthorityRequest(context, { capabilities: [{ resource, actions: [action], scope: "exact" }] });
}

/** An authority request whose identity comes from the trusted context. The same input has the same id at any time. */
export function mintAuthorityRequest(context: AccessContext, input: AuthorityRequestInput): AuthorityRequest {
  const { namespaceId, owner, actor: requester, purpose, now: requestedAt } = context;
  const { capabilities, constraints, metadata } = input;
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
