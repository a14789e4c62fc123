import type { ReasonCode } from "../contracts/index.ts";

/** Why a covering grant did not carry the act. */
export type Refusal = Extract<
  ReasonCode,
  | "usage_store_unavailable"
  | "budget_store_unavailable"
  | "host_policy_unavailable"
  | "delegation_chain_unverified"
  | "permit_store_unavailable"
  | "approval_denied"
  | "approval_expired"
  | "approval_required"
  | "delegation_chain_invalid"
  | "host_policy_denied"
  | "budget_exhausted"
  | "budget_unit"
  | "amount_required"
  | "grant_exhausted"
>;

/** The order of refusals. The first one that occurs is the reason of a denial. */
export const refusalOrder: readonly Refusal[] = [
  "usage_store_unavailable",
  "budget_store_unavailable",
  "host_policy_unavailable",
  "delegation_chain_unverified",
  "permit_store_unavailable",
  "approval_denied",
  "approval_expired",
  "approval_required",
  "delegation_chain_invalid",
  "host_policy_denied",
  "budget_exhausted",
  "budget_unit",
  "amount_required",
  "grant_exhausted",
];
