import { ServiceHttpError } from "turnpike/http";
import { isOutage } from "../storage/index.ts";
import type { Credential, CredentialStore } from "./credential-store.ts";
import type { JwtVerifier } from "./jwt.ts";
import { KeySetUnavailableError } from "./key-set.ts";

/** Who sent a request, by what they showed for it. */
export interface Caller {
  readonly credential: Credential;
  /** Whether what they showed is still good at a later moment. Throws when that cannot be established. */
  stands(now: Date): Promise<boolean>;
}

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

/** The bearer of a credential that the host made; undefined when it is not good. */
export async function callerByCredential(
  credentials: CredentialStore,
  token: string,
  now: Date,
): Promise<Caller | undefined> {
  const credential = await credentials.verify(token, now);
  return credential && { credential, stands: (later) => credentials.stands(credential.id, later) };
}

/** The bearer of an identity provider's token; undefined when it is not good. Throws while there are no keys to tell by. */
export async function callerByJwt(jwt: JwtVerifier, token: string, now: Date): Promise<Caller | undefined> {
  const credential = await jwt.verify(token, now);
  return credential && { credential, stands: async (later) => (await jwt.verify(token, later)) !== undefined };
}
