import { ServiceHttpError } from "turnpike/http";
import type { Caller } from "./authenticate.ts";
import type { Credential } from "./credential-store.ts";
import type { RequestRecord } from "./request-record.ts";

/** Whether a request is within the limit, and the headers that say so. */
interface Allowance {
  isGranted: boolean;
  headers: Record<string, string>;
}

/** A token bucket for each credential. */
export interface RateLimit {
  take(bucket: string): Allowance;
  /** Counts further requests that came inside one that was granted. A sender of many waits for that afterwards. */
  charge(bucket: string, requests: number): void;
}

/** A sender is forgotten when so many others have come since its last request, or up to twice as many. */
const rememberedSenders = 100_000;

interface TokenBucket {
  tokens: number;
  at: number;
}

/** The options of a rate limit. */
export interface RateLimitOptions {
  perSecond: number;
  burst: number;
  /** A monotonic clock in milliseconds. The time of day can go back, which would lock all callers out for as long. */
  clock?: () => number;
}

/** `perSecond` requests a second on average, `burst` at once. Counted in this process. */
export function createRateLimit({ perSecond, burst, clock = () => performance.now() }: RateLimitOptions): RateLimit {
  // INVARIANT: a sender that goes on sending has its own bucket, however many others come.
  let recent = new Map<string, TokenBucket>();
  let earlier = new Map<string, TokenBucket>();
  const policy = `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`;
  const remember = (name: string, bucket: TokenBucket): TokenBucket => {
    if (recent.size >= rememberedSenders) [recent, earlier] = [new Map(), recent];
    recent.set(name, bucket);
    return bucket;
  };
  return {
    take(name) {
      const now = clock();
      const bucket = recent.get(name) ?? remember(name, earlier.get(name) ?? { tokens: burst, at: now });
      const filled = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
      const isGranted = filled >= 1;
      const left = isGranted ? filled - 1 : filled;
      bucket.tokens = left;
      bucket.at = now;
      const wait = Math.max(1, Math.ceil((1 - left) / perSecond));
      const ratelimit = `"default";r=${Math.max(0, Math.floor(left))};t=${wait}`;
      const headers: Record<string, string> = { ratelimit, "ratelimit-policy": policy };
      if (!isGranted) headers["retry-after"] = String(wait);
      return { isGranted, headers };
    },
    charge(name, requests) {
      const bucket = recent.get(name) ?? earlier.get(name);
      if (bucket !== undefined) bucket.tokens -= requests;
    },
  };
}

/** Counts a request against the rate of its credential. Throws `429` when that is used up. */
export function takeAllowance(
  rateLimit: RateLimit,
  { credential }: Pick<Caller, "credential">,
  record: RequestRecord,
): void {
  const allowance = rateLimit.take(bucketOf(credential));
  Object.assign(record.headers, allowance.headers);
  if (!allowance.isGranted) throw new ServiceHttpError(429, "rate_limited", "Too many requests with this credential.");
}

/** Counts further requests of a credential that came inside one. */
export function chargeAllowance(rateLimit: RateLimit, credential: Bucketed, requests: number): void {
  rateLimit.charge(bucketOf(credential), requests);
}

type Bucketed = Pick<Credential, "id" | "namespaceId">;

/** An identity provider issues tokens for several tenants under one id: what is used up in one tenant is not in another. */
function bucketOf({ id, namespaceId }: Bucketed): string {
  return `${id} ${namespaceId}`;
}
