import { samePrincipal } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { EscalationRecord, PersonAnswers, PersonQuestion } from "../../admin-contract/index.ts";
import type { Answered } from "../../escalations/index.ts";
import { closedText } from "../../display/index.ts";
import type { AdmittedPerson } from "../../people/index.ts";
import type { PersonServices } from "./person-services.ts";

/** How many questions are shown at a time. An act has up to a megabyte. */
const mostQuestions = 20;

/** The questions that wait for a person: what would be done with their authority. What they asked for themselves is for others. */
export async function listQuestions(
  { stores, ports, answeredBy }: PersonServices,
  { namespaceId, principal }: AdmittedPerson,
): Promise<PersonAnswers["questions"]> {
  const { approvalsNeeded } = stores.escalations;
  if (!answeredBy.includes("authority")) return { questions: [], approvalsNeeded };
  const now = ports.clock().toISOString();
  const asked = await stores.escalations.listAsked(namespaceId, principal, { now, limit: mostQuestions });
  const own = asked.filter((one) => mayAnswer(one, principal));
  return { questions: own.map(questionOf), approvalsNeeded };
}

function mayAnswer({ requester, approvals = [] }: EscalationRecord, person: AdmittedPerson["principal"]): boolean {
  return !samePrincipal(requester, person) && !approvals.some(({ by }) => samePrincipal(by, person));
}

function questionOf(record: EscalationRecord): PersonQuestion {
  const { id, ask, requester, purpose, reason, requestedAuthority, approval, requestedAt, expiresAt } = record;
  return {
    id,
    ask,
    requester,
    purpose,
    reason,
    ...(requestedAuthority && { requestedAuthority }),
    ...(approval && { approval }),
    requestedAt,
    expiresAt,
    approvals: record.approvals?.length ?? 0,
  };
}

/** A person's answer to a question about their own authority. It counts as a reviewer's does, and once. */
export async function answerQuestion(
  { stores, ports, wakeTurns }: PersonServices,
  person: AdmittedPerson,
  { id, ask, answer, reason = "" }: { id: string; ask: string; answer: "allow" | "deny"; reason?: string },
): Promise<object> {
  const { escalations } = stores;
  const { namespaceId, principal, credentialId } = person;
  const given = { namespaceId, id, ask, by: credentialId, person: principal, at: ports.clock().toISOString() };
  const found = await escalations.find(namespaceId, id, given.at);
  // A question about the authority of others is none of a person's, and they do not learn that there is one.
  if (found === undefined || !samePrincipal(found.authority, principal)) throw unknownQuestion();
  const isAllowed = answer === "allow";
  const action = isAllowed ? "escalation.approve" : "escalation.deny";
  const preview = isAllowed ? await escalations.previewApproval(given) : await escalations.previewDenial(given);
  const { record: expected } = done(preview);
  const metadata = {
    escalation: id,
    requestHash: ask,
    ...(expected.status === "pending" && isAllowed && { approvals: expected.approvals?.length ?? 0 }),
  };
  const change = { namespaceId, action, receiver: expected.requester, metadata };
  return person.change(change, async () => {
    const { record } = done(isAllowed ? await escalations.approve(given) : await escalations.deny(given, reason));
    if (record.status !== "pending") wakeTurns();
    return { status: record.status };
  });
}

/** The answered question. Throws when the answer does not count. */
function done(answered: Answered): Extract<Answered, { kind: "done" }> {
  switch (answered.kind) {
    case "done":
      return answered;
    case "unknown":
      throw unknownQuestion();
    case "other-request":
      throw conflict("This question is another one now. Read it again before you answer.");
    case "closed":
      throw conflict(closedBy(answered.record));
    case "same-person":
      throw conflict("You have allowed this already. Another person has to allow it, too.");
    case "own-request":
    case "takes-part":
      throw forbidden("You asked for this yourself. Another user has to answer.");
    case "no-reviewer":
      throw forbidden("Your answer does not count here.");
    case "invalid":
      throw new ServiceHttpError(400, "invalid_request", `This cannot be allowed: ${answered.problem}.`);
  }
}

function closedBy({ closed, status }: EscalationRecord): string {
  if (closed !== undefined) return `This question is closed: ${closedText(closed)}.`;
  return status === "expired" ? "This question has expired." : "This question has an answer already.";
}

function unknownQuestion(): ServiceHttpError {
  return new ServiceHttpError(404, "not_found", "There is no such question for you.");
}

function conflict(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "conflict", message);
}

function forbidden(message: string): ServiceHttpError {
  return new ServiceHttpError(403, "permission_denied", message);
}
