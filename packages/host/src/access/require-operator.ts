import { ServiceHttpError } from "turnpike/http";
import type { AuditSink } from "turnpike/kernel";
import { authenticate, type AuthenticationPorts, requireOwnPage, unauthenticated } from "./authenticate.ts";
import { isUsableOver } from "./client-certificate.ts";
import { type PresentedCredential, presentedBy } from "./credential-writes.ts";
import { createOperator, operatorScope, type Operator } from "./operator.ts";
import { takeAllowance, type RateLimit } from "./rate-limit.ts";
import { bearerOf, type RequestHeaders } from "./request-headers.ts";
import type { RequestRecord } from "./request-record.ts";
import { isSameHash } from "./secrets.ts";
import { readCookie } from "./session-cookie.ts";
import type { Proof, Session, SessionStore } from "./session-store.ts";

/** What admitting operators uses. */
export interface OperatorPorts extends Omit<AuthenticationPorts, "jwt"> {
  sessions: SessionStore;
  /** The origin under which the sender reaches this host. Throws 400 for a `host` that is none. */
  originOf(headers: RequestHeaders): string;
  rateLimit: RateLimit;
  /** Whether only who signs in with an identity provider begins a session. */
  isTokenSignInOff?: boolean | undefined;
  audit: AuditSink;
  onAuditError(error: unknown): void;
}

/** An operator who sent a request. */
export interface AdmittedOperator extends Operator {
  /** Their credential as it is now: what begins in their name ends with it. */
  presented: PresentedCredential;
  /** The session that admitted them; absent for a token. */
  session?: Session;
}

/** A request, as far as its sender is concerned. */
export interface SentRequest {
  method: string;
  headers: RequestHeaders;
}

/**
 * The operator behind a request: by the token in its authorization header, which counts alone, by the session in its cookie, or
 * by the certificate of its connection.
 * Throws 400, 401, 403, 429 or 503 to refuse the request.
 */
export async function requireOperator(
  ports: OperatorPorts,
  request: SentRequest,
  record: RequestRecord,
): Promise<AdmittedOperator> {
  const { headers } = request;
  const { credentials, clock } = ports;
  if (headers.get("authorization") === null && headers.get("cookie") !== null) {
    const cookie = readCookie(headers, ports.originOf(headers));
    if (cookie !== undefined) return operatorBySession(ports, request, record, cookie);
  }
  const { credential, presented = presentedBy(bearerOf(headers)) } = await authenticate(
    { credentials, clock },
    headers,
    "an operator's credential",
  );
  // An operator begins nothing that continues without them, so all of it ends with the token.
  const isValidAt = async (later: Date): Promise<boolean> =>
    (await credentials.verifyAgain(presented, later)) !== undefined;
  record.caller = { credential, isValidAt, isStillAdmitted: isValidAt };
  return admitOperator(ports, { credential, presented }, record);
}

/** Browsers send a cookie whichever page asks them to, so it counts only beside the half that the console's own page holds. */
async function operatorBySession(
  ports: OperatorPorts,
  request: SentRequest,
  record: RequestRecord,
  cookie: string,
): Promise<AdmittedOperator> {
  const { sessions, clock } = ports;
  const { headers, method } = request;
  requireOwnPage(headers);
  if (!["GET", "HEAD"].includes(method)) requireOwnOrigin(ports, request);
  const now = clock();
  const halves = { cookie, page: headers.get("x-turnpike-console") ?? "" };
  const proof = await sessions.verify(halves, now);
  if (proof === undefined || !isUsableOver(proof.credential.access, headers.certificate, now))
    throw unauthenticated(sessionRefusal);
  const isValidAt = async (later: Date): Promise<boolean> => (await sessions.verify(halves, later)) !== undefined;
  record.caller = { credential: proof.credential, isValidAt, isStillAdmitted: isValidAt };
  return admitOperator(ports, proof, record);
}

const sessionRefusal =
  "This session has ended, or x-turnpike-console is not the half of it that its page holds. Sign in again.";

/** Refuses a request that a page of another origin sent. Programs send no origin. */
export function requireOwnOrigin({ originOf }: Pick<OperatorPorts, "originOf">, { headers }: SentRequest): void {
  const origin = headers.get("origin");
  if (origin !== null && origin !== originOf(headers))
    throw new ServiceHttpError(403, "permission_denied", "Pages of other origins may change nothing here.");
}

/**
 * Refuses an operator whom a session admits, unless they show the token that the session is for. INVARIANT: what lasts as long
 * as a token is made with one: else a person who has a browser for a minute would be an operator for ever.
 */
export function requireOwnToken({ session, presented }: AdmittedOperator, token = ""): void {
  if (session === undefined) return;
  const { id, secretHash } = presentedBy(token);
  if (id !== presented.id || !isSameHash(secretHash, presented.secretHash))
    throw new ServiceHttpError(403, "permission_denied", ownTokenRefusal);
}

const ownTokenRefusal = "With a session this needs your own token as well: send it as `currentToken`.";

/** The operator whose proof was verified. Throws 403 for a caller who is none, and 429. */
export function admitOperator(
  ports: OperatorPorts,
  proof: Proof & { session?: Session },
  record: RequestRecord,
): AdmittedOperator {
  const { credential, presented, session } = proof;
  const { id, namespaceId, access } = credential;
  record.facts = { tenant: namespaceId, credentialId: id };
  takeAllowance(ports.rateLimit, proof, record);
  const scope = operatorScope(access);
  if (scope === undefined)
    throw new ServiceHttpError(403, "permission_denied", "This credential is not an operator's.");
  const { requestId } = record;
  const who = { id, actor: access.actor, requestId, ...scope };
  const operator = createOperator(who, ports.audit, (error) => ports.onAuditError(error));
  return { ...operator, presented, ...(session && { session }) };
}
