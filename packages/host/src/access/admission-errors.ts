/**
 * The codes that may refuse a sender before the request is read, by what the route requires of the sender: a valid
 * credential, a context to act in, or an operator. The API description has these lists.
 */
export const admissionErrors = {
  credential: ["unauthenticated", "rate_limited", "authority_unavailable"],
  context: [
    "unauthenticated",
    "rate_limited",
    "authority_unavailable",
    "invalid_request",
    "permission_denied",
    "purpose_not_allowed",
    "invalid_access_context",
  ],
  operator: ["unauthenticated", "rate_limited", "authority_unavailable", "invalid_request", "permission_denied"],
} as const;
