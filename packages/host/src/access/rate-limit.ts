import { ServiceHttpError } from "turnpike/http";
import type { Caller } from "./authenticate.ts";
import type { RequestRecord } from "./request-record.ts";

/** Whether a request is within the limit, and the headers that say so. */
interface Allowance {
  isGranted: boolean;
  headers: Record<string, string>;
}

/** A token bucket for each credential. */
export interface RateLimit {
  take(credentialId: string): Allowance;
}

const maxBuckets = 100_000;

/** The options of a rate limit. */
export interface RateLimitOptions {
  perSecond: number;
  burst: number;
  /** A monotonic clock in milliseconds. The time of day can go back, which would lock everybody out for as long. */
  clock?: () => number;
}

/** `perSecond` requests a second on average, `burst` at once. Counted in this process. */
export function createRateLimit({ perSecond, burst, clock = () => performance.now() }: RateLimitOptions): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    take(credentialId) {
      const now = clock();
      const { tokens, at } = buckets.get(credentialId) ?? { tokens: burst, at: now };
      const filled = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
      const isGranted = filled >= 1;
      const left = isGranted ? filled - 1 : filled;
      // Dropping all buckets bounds the memory. At worst it allows one more burst.
      if (buckets.size >= maxBuckets) buckets.clear();
      buckets.set(credentialId, { tokens: left, at: now });
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

/** Counts a request against the rate of its credential. Throws `429` when that is used up. */
export function takeAllowance(rateLimit: RateLimit, { credential }: Caller, record: RequestRecord): void {
  const allowance = rateLimit.take(credential.id);
  for (const [name, value] of Object.entries(allowance.headers)) record.headers.set(name, value);
  if (!allowance.isGranted) throw new ServiceHttpError(429, "rate_limited", "Too many requests with this credential.");
}
