import { ServiceHttpError } from "turnpike/http";
import type { AuditSink } from "turnpike/kernel";
import { operatorsTenant } from "../admin-contract/index.ts";
import { unauthenticated } from "./authenticate.ts";
import { type ClientCertificate, isUsableOver } from "./client-certificate.ts";
import type { CredentialStore } from "./credential-store.ts";
import { presentedBy } from "./credential-writes.ts";
import { createOperator, operatorScope } from "./operator.ts";
import { type AdmittedOperator, admitOperator, type OperatorPorts } from "./require-operator.ts";
import type { RequestHeaders } from "./request-headers.ts";
import type { RequestRecord } from "./request-record.ts";
import { freshId } from "./secrets.ts";
import { browserHashOf, readSignInCookie } from "./session-cookie.ts";
import type { Proof, SessionHalves, SessionStore } from "./session-store.ts";

/** What begins a session: an operator's token, or a one-time code. */
interface SignIn {
  token?: string | undefined;
  code?: string | undefined;
}

/** Begins a session. Throws the same 401 for every token or code that is unknown or over, 403 for one that is no operator's. */
export async function beginSession(
  ports: OperatorPorts,
  { token = "", code }: SignIn,
  headers: RequestHeaders,
  record: RequestRecord,
): Promise<SessionHalves & { operator: AdmittedOperator; expiresAt: string }> {
  const { sessions, clock } = ports;
  const { certificate } = headers;
  const now = clock();
  const browser = readSignInCookie(headers, ports.originOf(headers)) ?? "";
  const proof: (Proof & { codeId?: string }) | undefined =
    code === undefined
      ? await proofOfToken(ports, token, now, certificate)
      : await sessions.verifyCode(code, now, browserHashOf(browser));
  if (proof === undefined || !isUsableOver(proof.credential.access, certificate, now)) throw unauthenticated(refusal);
  const operator = admitOperator(ports, proof, record);
  if (ports.isTokenSignInOff === true && proof.credential.access.signedIn !== true)
    throw new ServiceHttpError(403, "permission_denied", providerOnly);
  const id = freshId();
  const metadata = { session: id, ...(proof.codeId !== undefined && { code: proof.codeId }) };
  const begun = await operator.change({ ...changeOf(operator, "session.create"), metadata }, async () => {
    const made = await sessions.begin(id, proof, now);
    // Another request used the code at the same instant.
    if (made === undefined) throw unauthenticated(refusal);
    return made;
  });
  return { operator, ...begun };
}

const refusal =
  "This token or code is unknown, revoked or over. A code works once, for 10 minutes: `turnpike console` makes another.";

const providerOnly = "Tokens do not open the console here: sign in with your identity provider.";

async function proofOfToken(
  { credentials }: Pick<OperatorPorts, "credentials">,
  token: string,
  now: Date,
  shown: ClientCertificate | undefined,
): Promise<Proof | undefined> {
  const credential = await credentials.verify(token, now, shown);
  return credential && { credential, presented: presentedBy(token) };
}

/** Ends the session of an operator. An operator who came with a token has none. */
export async function endSession({ sessions }: { sessions: SessionStore }, operator: AdmittedOperator): Promise<void> {
  const { session } = operator;
  if (session === undefined) return;
  const change = { ...changeOf(operator, "session.end"), metadata: { session: session.id } };
  await operator.change(change, () => sessions.end(session.id));
}

/** Makes a code with which one browser becomes this operator's. */
export function createCode(
  { sessions }: { sessions: SessionStore },
  operator: AdmittedOperator,
  now: Date,
): Promise<{ code: string; expiresAt: string }> {
  const id = freshId();
  const change = { ...changeOf(operator, "code.create"), metadata: { code: id } };
  return operator.change(change, () => sessions.createCode(id, operator.presented, now));
}

/** The same for the bearer of an operator's token, without a request. Throws for any other token. */
export async function createCodeFor(
  { credentials, sessions, audit }: { credentials: CredentialStore; sessions: SessionStore; audit: AuditSink },
  token: string,
): Promise<{ code: string; expiresAt: string }> {
  const now = new Date();
  const credential = await credentials.verify(token, now);
  const scope = credential && operatorScope(credential.access);
  if (credential === undefined || scope === undefined) throw new Error("The token is not an operator's.");
  const { id, access } = credential;
  const who = { id, actor: access.actor, requestId: crypto.randomUUID(), ...scope };
  const operator = createOperator(who, audit, () => {});
  return createCode({ sessions }, { ...operator, presented: presentedBy(token) }, now);
}

/** A link with a code. Browsers send what is behind the `#` to no server, so no log has it. */
export function codeLink(address: string, code: string): string {
  return `${address}#code=${code}`;
}

/** Where the link of an operator leads. */
export function consoleLink(origin: string, code: string): string {
  return codeLink(`${origin}/console/`, code);
}

function changeOf({ actor }: AdmittedOperator, action: string) {
  return { namespaceId: operatorsTenant, action, receiver: actor };
}
