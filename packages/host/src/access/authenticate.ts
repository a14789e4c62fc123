import { ServiceHttpError } from "turnpike/http";
import { isOutage } from "../storage/index.ts";
import { callerByCredential, callerByJwt, type Caller } from "./caller.ts";
import type { CredentialStore } from "./credential-store.ts";
import type { JwtVerifier } from "./jwt.ts";
import { KeySetUnavailableError } from "./key-set.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { RequestRecord } from "./request-record.ts";

/** What callers are known by. */
export interface AuthenticationPorts {
  credentials: CredentialStore;
  /** Absent where only credentials that the host made count. */
  jwt?: JwtVerifier | undefined;
  clock: () => Date;
}

/** Whoever sends a request, by its bearer token; throws `401` for a token that is not good, whatever is wrong with it. */
export async function authenticate(
  ports: AuthenticationPorts,
  headers: Headers,
  expected = "a valid credential",
): Promise<Caller> {
  const caller = await orUnavailable(findCaller(ports, headers.get("authorization") ?? ""));
  if (caller !== undefined) return caller;
  throw new ServiceHttpError(401, "unauthenticated", `Send ${expected}: authorization: Bearer <token>.`, {
    headers: { "www-authenticate": 'Bearer realm="turnpike"' },
  });
}

async function findCaller(
  { credentials, jwt, clock }: AuthenticationPorts,
  header: string,
): Promise<Caller | undefined> {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(header) ?? [];
  if (token.startsWith("tp_") || jwt === undefined) return callerByCredential(credentials, token, clock());
  return callerByJwt(jwt, token, clock());
}

/** Counts a request against the rate of its credential; throws `429` when that is used up. */
export function takeAllowance(rateLimit: RateLimit, { credential }: Caller, record: RequestRecord): void {
  const allowance = rateLimit.take(credential.id);
  for (const [name, value] of Object.entries(allowance.headers)) record.headers.set(name, value);
  if (!allowance.isGranted) throw new ServiceHttpError(429, "rate_limited", "Too many requests with this credential.");
}

/** A store or a key set that does not answer lets nobody in, and says that it may answer later. */
export async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!isOutage(cause) && !(cause instanceof KeySetUnavailableError)) throw cause;
    const message = "Credentials and settings cannot be read right now.";
    throw new ServiceHttpError(503, "authority_unavailable", message, { cause });
  }
}
