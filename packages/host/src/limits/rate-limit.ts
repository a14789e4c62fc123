/** Whether a request may go on, and what its response says about that. */
interface Allowance {
  isGranted: boolean;
  headers: Record<string, string>;
}

/** A token bucket for each credential. */
export interface RateLimit {
  take(credentialId: string, nowMs: number): Allowance;
}

const maxBuckets = 100_000;

/** `perSecond` requests a second on average, `burst` at once. Counted in this process. */
export function createRateLimit({ perSecond, burst }: { perSecond: number; burst: number }): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    take(credentialId, nowMs) {
      const { tokens, at } = buckets.get(credentialId) ?? { tokens: burst, at: nowMs };
      const filled = Math.min(burst, tokens + (Math.max(0, nowMs - at) / 1000) * perSecond);
      const isGranted = filled >= 1;
      const left = isGranted ? filled - 1 : filled;
      // Full buckets need no memory: dropping all of them at worst forgives a burst.
      if (buckets.size >= maxBuckets) buckets.clear();
      buckets.set(credentialId, { tokens: left, at: Math.max(at, nowMs) });
      const wait = Math.max(1, Math.ceil((1 - left) / perSecond));
      const ratelimit = `"default";r=${Math.floor(left)};t=${wait}`;
      const policy = `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`;
      return {
        isGranted,
        headers: { ratelimit, "ratelimit-policy": policy, ...(!isGranted && { "retry-after": String(wait) }) },
      };
    },
  };
}
