import { ServiceHttpError } from "turnpike/http";
import { isOutage } from "../storage/index.ts";
import type { Credential, CredentialStore } from "./credential-store.ts";
import type { JwtVerifier } from "./jwt.ts";
import { KeySetUnavailableError } from "./key-set.ts";
import type { RequestHeaders } from "./request-headers.ts";

/** The sender of a request, known by the token that they sent. */
export interface Caller {
  readonly credential: Credential;
  /** Of a token that somebody else issued: until when it lasts, if it says so. */
  readonly foreign?: { lastsUntil?: string };
  /** Whether the token is still valid at a later moment. Throws when that cannot be established. */
  stands(now: Date): Promise<boolean>;
}

/** What authentication uses. */
export interface AuthenticationPorts {
  credentials: CredentialStore;
  /** Absent where only credentials of this host are accepted. */
  jwt?: JwtVerifier | undefined;
  /** Whether a tenant was deleted: nobody is a caller of it then, whatever their token says. */
  isDeleted?: ((namespaceId: string) => Promise<boolean>) | undefined;
  clock: () => Date;
}

/** The caller, by the bearer token of the request. Throws the same `401` for a missing, unknown, expired or revoked token. */
export async function authenticate(
  ports: AuthenticationPorts,
  headers: RequestHeaders,
  expected = "a valid credential",
): Promise<Caller> {
  const caller = await orUnavailable(findLivingCaller(ports, headers.get("authorization") ?? ""));
  if (caller !== undefined) return caller;
  throw new ServiceHttpError(401, "unauthenticated", `Send ${expected}: authorization: Bearer <token>.`, {
    headers: { "www-authenticate": 'Bearer realm="turnpike"' },
  });
}

async function findLivingCaller(ports: AuthenticationPorts, header: string): Promise<Caller | undefined> {
  const { isDeleted } = ports;
  const caller = await findCaller(ports, header);
  if (caller === undefined || isDeleted === undefined) return caller;
  const { namespaceId } = caller.credential;
  if (await isDeleted(namespaceId)) return undefined;
  return {
    ...caller,
    stands: async (later) => !(await isDeleted(namespaceId)) && caller.stands(later),
  };
}

async function findCaller(
  { credentials, jwt, clock }: AuthenticationPorts,
  header: string,
): Promise<Caller | undefined> {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(header) ?? [];
  if (token.startsWith("tp_") || jwt === undefined) return callerByCredential(credentials, token, clock());
  return callerByJwt(jwt, token, clock());
}

/** Turns an outage of a store or a key set into `503`. Nobody is admitted while it lasts. */
export async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!isOutage(cause) && !(cause instanceof KeySetUnavailableError)) throw cause;
    const message = "Credentials and settings cannot be read right now.";
    throw new ServiceHttpError(503, "authority_unavailable", message, { cause });
  }
}

/** The bearer of a credential of this host; undefined when it is not valid. */
export async function callerByCredential(
  credentials: CredentialStore,
  token: string,
  now: Date,
): Promise<Caller | undefined> {
  const credential = await credentials.verify(token, now);
  return credential && { credential, stands: (later) => credentials.stands(credential.id, later) };
}

/** The bearer of an identity provider's token; undefined when it is not valid. Throws while there are no keys to check it. */
export async function callerByJwt(jwt: JwtVerifier, token: string, now: Date): Promise<Caller | undefined> {
  const credential = await jwt.verify(token, now);
  return (
    credential && {
      credential,
      foreign: foreignOf(token),
      stands: async (later) => (await jwt.verify(token, later)) !== undefined,
    }
  );
}

/** Until when a token lasts, which was verified. */
function foreignOf(token: string): { lastsUntil?: string } {
  const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: number };
  return exp === undefined ? {} : { lastsUntil: new Date(exp * 1000).toISOString() };
}
