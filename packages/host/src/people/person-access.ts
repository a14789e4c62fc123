import type { PrincipalRef } from "turnpike/contracts";
import {
  browserHashOf,
  createOperator,
  freshId,
  type Operator,
  type OperatorPorts,
  readCookie,
  readSignInCookie,
  type RequestHeaders,
  type RequestRecord,
  requireOwnOrigin,
  requireOwnPage,
  type SessionHalves,
  takeAllowance,
  unauthenticated,
} from "../access/index.ts";

/** What admitting people uses. */
export type PersonPorts = Pick<
  OperatorPorts,
  "sessions" | "originOf" | "rateLimit" | "audit" | "onAuditError" | "clock"
>;

/** A user with a session of their own. */
export interface AdmittedPerson extends Pick<Operator, "change" | "changeAll" | "recordMade"> {
  namespaceId: string;
  principal: PrincipalRef;
  credentialId: string;
  session: { id: string; expiresAt: string };
}

type PersonProof = NonNullable<Awaited<ReturnType<PersonPorts["sessions"]["verify"]>>>;

/**
 * The person behind a request, by their session. INVARIANT: nothing else admits a person: no token does, and no session of an operator,
 * who acts for no one.
 */
export async function requirePerson(
  ports: PersonPorts,
  request: { method: string; headers: RequestHeaders },
  record: RequestRecord,
): Promise<AdmittedPerson> {
  const { headers, method } = request;
  requireOwnPage(headers);
  if (!["GET", "HEAD"].includes(method)) requireOwnOrigin(ports, request);
  const halves = {
    cookie: readCookie(headers, ports.originOf(headers), "me") ?? "",
    page: headers.get("x-turnpike-me") ?? "",
  };
  const proof = await ports.sessions.verify(halves, ports.clock());
  if (proof === undefined || !isPerson(proof)) throw unauthenticated(noSession);
  const isValidAt = async (later: Date): Promise<boolean> => (await ports.sessions.verify(halves, later)) !== undefined;
  record.caller = { credential: proof.credential, isValidAt, isStillAdmitted: isValidAt };
  return admitPerson(ports, proof, record);
}

/** Begins a person's session with the code that their sign-in ended with, in the browser that signed in. */
export async function beginPersonSession(
  ports: PersonPorts,
  code: string,
  headers: RequestHeaders,
  record: RequestRecord,
): Promise<SessionHalves & { person: AdmittedPerson }> {
  const { sessions, clock } = ports;
  const now = clock();
  const proof = await findSignedIn(ports, code, headers);
  if (proof === undefined) throw unauthenticated(noCode);
  const id = freshId();
  const person = admitPerson(ports, { ...proof, session: { id, expiresAt: "" } }, record);
  const change = { ...changeOf(person, "session.create"), metadata: { session: id, code: proof.codeId } };
  const begun = await person.change(change, async () => {
    const made = await sessions.begin(id, proof, now);
    // Another request used the code at the same instant.
    if (made === undefined) throw unauthenticated(noCode);
    return made;
  });
  const { cookie, page, expiresAt } = begun;
  return { cookie, page, person: { ...person, session: { id, expiresAt } } };
}

/** The person who has just signed in, in this browser, by the code that their sign-in ended with. The code can be used afterwards. */
export async function findSignedIn(
  { sessions, originOf, clock }: Pick<PersonPorts, "sessions" | "originOf" | "clock">,
  code: string,
  headers: RequestHeaders,
): Promise<(Omit<PersonProof, "session"> & { codeId: string }) | undefined> {
  const browser = readSignInCookie(headers, originOf(headers)) ?? "";
  const proof = await sessions.verifyCode(code, clock(), browserHashOf(browser));
  return proof !== undefined && isPerson(proof) ? proof : undefined;
}

/** Ends a session of a person: this one, or another one of theirs. */
export async function endPersonSession(
  { sessions }: Pick<PersonPorts, "sessions">,
  person: AdmittedPerson,
  id = person.session.id,
): Promise<void> {
  const change = { ...changeOf(person, "session.end"), metadata: { session: id } };
  await person.change(change, () => sessions.end(id));
}

function changeOf({ namespaceId, principal }: AdmittedPerson, action: string) {
  return { namespaceId, action, receiver: principal };
}

const noSession = "Sign in: this session has ended, or it is not a person's.";
const noCode = "This sign-in is over, or was begun in another browser. Sign in again.";

/** Whether a credential is a person's own. That of an agent is no person's, also one that acts for a person. */
function isPerson({ credential: { access } }: Pick<PersonProof, "credential">): boolean {
  return access.signedIn === true && access.admin !== true && access.actor.kind === "human";
}

function admitPerson(ports: PersonPorts, proof: PersonProof, record: RequestRecord): AdmittedPerson {
  return { ...admitSignedIn(ports, proof, record), session: proof.session };
}

/** A person whose sign-in was verified, as far as it admits them to something without a session. Throws 429. */
export function admitSignedIn(
  ports: PersonPorts,
  proof: Omit<PersonProof, "session" | "presented">,
  record: RequestRecord,
): Omit<AdmittedPerson, "session"> {
  const { id, namespaceId, access } = proof.credential;
  record.facts = { tenant: namespaceId, credentialId: id };
  takeAllowance(ports.rateLimit, proof, record);
  const who = { id, actor: access.actor, role: "reviewer" as const, requestId: record.requestId };
  const { change, changeAll, recordMade } = createOperator(who, ports.audit, (error) => ports.onAuditError(error));
  return {
    namespaceId,
    principal: access.actor,
    credentialId: id,
    change,
    changeAll,
    recordMade,
  };
}
