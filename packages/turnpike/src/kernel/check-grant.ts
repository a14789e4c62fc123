import type { Grant } from "../contracts/index.ts";
import { neverAborted, parseInstant } from "../internal/index.ts";
import { compileGrant, inactivity, type Inactivity } from "./active.ts";
import type { Ports } from "./call-port.ts";
import { walkChain, type ChainVerdict } from "./chain.ts";
import { checkUse } from "./spend.ts";
import type { CallOptions, KernelOptions } from "./ports.ts";

/** Whether a grant counts, or the first reason why it does not; `unknown` when that cannot be read. */
export type GrantState = "live" | Inactivity | "invalid" | "exhausted" | "unknown";

/** The result of checking a grant without comparing it with a request. */
export interface GrantCheck {
  state: GrantState;
  /** The walk up its chain, which is also made when the grant does not count for another reason. */
  chain: ChainVerdict;
}

/**
 * For operators: checks one grant as a decision at `now` would, and consumes nothing. Without a purpose the grant is
 * checked for the purposes that it has.
 *
 * @example
 * import { checkGrant } from "turnpike/kernel";
 * import { memoryGrants } from "turnpike/testing";
 *
 * const { state } = await checkGrant({ grants: memoryGrants([grant]) }, grant, { now: context.now });
 * console.log(state); // live
 */
export async function checkGrant(
  ports: Pick<KernelOptions, "grants" | "usage" | "onPortError">,
  grant: Grant,
  { now, purpose }: { now: string; purpose?: string },
  { signal = neverAborted() }: CallOptions = {},
): Promise<GrantCheck> {
  const compiled = compileGrant(grant);
  if (compiled === undefined) return { state: "unknown", chain: { kind: "unverified", parents: [] } };
  const all: Ports = { ...ports, audit: "none" };
  const at = parseInstant(now) ?? Number.NaN;
  const chain = await walkChain(all, compiled, { now: at, ...(purpose !== undefined && { purpose }) }, signal);
  const inactive = inactivity(compiled, at, purpose);
  if (inactive !== undefined) return { state: inactive, chain };
  if (chain.kind !== "valid") return { state: chain.kind === "invalid" ? "invalid" : "unknown", chain };
  const refusal = compiled.maxUses === undefined ? undefined : await checkUse(all, compiled, signal);
  if (refusal === undefined) return { state: "live", chain };
  return { state: refusal === "grant_exhausted" ? "exhausted" : "unknown", chain };
}
