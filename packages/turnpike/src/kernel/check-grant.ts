import type { Grant } from "../contracts/index.ts";
import { neverAborted, parseInstant } from "../internal/index.ts";
import { compileGrant, inactivity, type Inactivity } from "./active.ts";
import type { Ports } from "./call-port.ts";
import { walkChain, type ChainVerdict } from "./chain.ts";
import { peek } from "./spend.ts";
import type { CallOptions, KernelOptions } from "./ports.ts";

/** Whether a grant counts, or the first thing that stands against it; `unknown` when that cannot be read. */
export type GrantState = "live" | Inactivity | "invalid" | "exhausted" | "unknown";

/** What a decision would find of a grant before it compares it with a request. */
export interface GrantCheck {
  state: GrantState;
  /** The walk up its chain, which is made whatever else stands against the grant. */
  chain: ChainVerdict;
}

/**
 * For operators: looks at one grant as a decision at `now` would, and consumes nothing. Without a purpose the grant is
 * looked at for the purposes that it has.
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
  const refusal = compiled.maxUses === undefined ? undefined : await peek.look(all, compiled, signal);
  if (refusal === undefined) return { state: "live", chain };
  return { state: refusal === "grant_exhausted" ? "exhausted" : "unknown", chain };
}
