import { ServiceHttpError } from "turnpike/http";
import { isOutage } from "../storage/index.ts";
import { type ClientCertificate, isUsableOver } from "./client-certificate.ts";
import type { Credential, CredentialStore } from "./credential-store.ts";
import type { PresentedCredential } from "./credential-writes.ts";
import type { JwtVerifier } from "./jwt.ts";
import { KeySetUnavailableError } from "./key-set.ts";
import { bearerOf, type RequestHeaders } from "./request-headers.ts";

/** The sender of a request, known by the token that they sent. */
export interface Caller {
  readonly credential: Credential;
  /** Of a token that an identity provider issued: until when it lasts. */
  readonly foreign?: { lastsUntil: string } | undefined;
  /** Of a caller who is known by a certificate alone: the credential as it is now. */
  readonly presented?: PresentedCredential | undefined;
  /** Whether the credential is still valid at a later instant. Throws when that cannot be established. */
  isValidAt(now: Date): Promise<boolean>;
  /**
   * Whether the token, certificate or session that was sent still admits its sender. Streams end when it does not. Turns that were
   * begun with it continue as long as the credential is valid, also after its token was rotated.
   */
  isStillAdmitted(now: Date): Promise<boolean>;
}

/** What authentication uses. */
export interface AuthenticationPorts {
  credentials: CredentialStore;
  /** Absent where only credentials of this host are accepted. */
  jwt?: JwtVerifier | undefined;
  /** Whether a tenant was deleted: it has no callers then, whatever their tokens say. */
  isDeleted?: ((namespaceId: string) => Promise<boolean>) | undefined;
  clock: () => Date;
}

/**
 * The caller, by the bearer token of the request, or without one by the certificate of the connection. Throws the same `401`
 * for a missing, unknown, expired or revoked token, and 403 for a page of another origin that has the certificate alone.
 */
export async function authenticate(
  ports: AuthenticationPorts,
  headers: RequestHeaders,
  expected = "a valid credential",
): Promise<Caller> {
  const caller = await orUnavailable(findLivingCaller(ports, headers));
  if (caller !== undefined) return caller;
  throw unauthenticated(`Send ${expected}: authorization: Bearer <token>.`);
}

/** Throws 401 when the sender of a request that took long is no longer admitted. */
export async function requireAdmitted(caller: Caller | undefined, now: Date): Promise<void> {
  if (caller !== undefined && (await orUnavailable(caller.isStillAdmitted(now)))) return;
  throw unauthenticated("The credential of this request has expired or was revoked meanwhile.");
}

/** 401: what was sent identifies no caller. */
export function unauthenticated(message: string): ServiceHttpError {
  const headers = { "www-authenticate": 'Bearer realm="turnpike"' };
  return new ServiceHttpError(401, "unauthenticated", message, { headers });
}

async function findLivingCaller(ports: AuthenticationPorts, headers: RequestHeaders): Promise<Caller | undefined> {
  const { isDeleted } = ports;
  const caller = await findCaller(ports, headers);
  if (caller === undefined || isDeleted === undefined) return caller;
  const { credential, foreign, presented } = caller;
  const { namespaceId } = credential;
  if (await isDeleted(namespaceId)) return undefined;
  // Written out: copying by spread costs more than all the rest here.
  return {
    credential,
    foreign,
    presented,
    isValidAt: async (later) => !(await isDeleted(namespaceId)) && caller.isValidAt(later),
    isStillAdmitted: async (later) => !(await isDeleted(namespaceId)) && caller.isStillAdmitted(later),
  };
}

async function findCaller(
  { credentials, jwt, clock }: AuthenticationPorts,
  headers: RequestHeaders,
): Promise<Caller | undefined> {
  const { certificate } = headers;
  const now = clock();
  // A sent authorization header decides alone who the caller is: when it is not valid, the certificate does not count.
  if (certificate !== undefined && headers.get("authorization") === null) {
    requireOwnPage(headers);
    requirePageOfConnection(headers);
    const found = await credentials.verifyCertificate(certificate, now);
    if (found === undefined) return undefined;
    const { credential, presented } = found;
    return {
      credential,
      presented,
      isValidAt: (later) => credentials.isValidAt(credential.id, later),
      isStillAdmitted: async (later) => (await credentials.verifyAgain(presented, later)) !== undefined,
    };
  }
  const token = bearerOf(headers);
  if (token.startsWith("tp_") || jwt === undefined) {
    const credential = await credentials.verify(token, now, certificate);
    if (credential === undefined) return undefined;
    return {
      credential,
      isValidAt: (later) => credentials.isValidAt(credential.id, later),
      isStillAdmitted: async (later) => (await credentials.verify(token, later, certificate)) !== undefined,
    };
  }
  return callerByJwt(jwt, token, now, certificate);
}

/**
 * Refuses what a page of another origin asked for. Cookies know no ports, and a certificate is shown whichever page asks: such a
 * page could read nothing, but it could change something, or use up the streams and the requests of the operator who opened it.
 */
export function requireOwnPage(headers: RequestHeaders): void {
  const site = headers.get("sec-fetch-site") ?? "none";
  if (site !== "same-origin" && site !== "none") throw foreignPage();
}

/** The same for browsers that say only where a change comes from. A certificate is shown to this host itself, so over TLS. */
function requirePageOfConnection(headers: RequestHeaders): void {
  const origin = headers.get("origin");
  if (origin !== null && origin !== `https://${headers.get("host")}`) throw foreignPage();
}

function foreignPage(): ServiceHttpError {
  const message = "Pages of other origins may use neither a session nor a client certificate.";
  return new ServiceHttpError(403, "permission_denied", message);
}

/** Turns an outage of a store or a key set into `503`. The host admits no caller while it lasts. */
export async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!isOutage(cause) && !(cause instanceof KeySetUnavailableError)) throw cause;
    const message = "Credentials and settings cannot be read right now.";
    throw new ServiceHttpError(503, "authority_unavailable", message, { cause });
  }
}

/** The bearer of an identity provider's token; undefined when it is not valid. Throws while there are no keys to check it. */
async function callerByJwt(
  jwt: JwtVerifier,
  token: string,
  now: Date,
  shown: ClientCertificate | undefined,
): Promise<Caller | undefined> {
  const credential = await jwt.verify(token, now);
  if (credential === undefined || !isUsableOver(credential.access, shown, now)) return undefined;
  const isValidAt = async (later: Date): Promise<boolean> => (await jwt.verify(token, later)) !== undefined;
  return { credential, foreign: foreignOf(token), isValidAt, isStillAdmitted: isValidAt };
}

/** The last instant that is written with four digits for the year, and so compares with others as text. */
const lastInstant = Date.parse("9999-12-31T23:59:59.999Z");

/** Until when a token lasts. It was verified, so it says so. */
function foreignOf(token: string): { lastsUntil: string } {
  const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp: number };
  return { lastsUntil: new Date(Math.min(exp * 1000, lastInstant)).toISOString() };
}
