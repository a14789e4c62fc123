/**
 * The codes with which a sender may be refused before the request is read, by what has to be known of the sender: a
 * credential that is valid, the context that it acts in, or that it is an operator's. The API description has these lists.
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
