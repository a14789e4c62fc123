import type { Question } from "../../management/index.ts";
import { type Answered, approvedGrant } from "../../escalations/index.ts";
import { GrantIdTaken } from "../../grants/index.ts";
import { conflict, invalid, notFound, pageOf, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Reading and answering the questions that turns ended with. */
export function escalationOperations({
  stores: { escalations },
  clock,
}: AdminServices): AdminOperations<"listEscalations" | "approveEscalation" | "denyEscalation"> {
  const find = async (namespaceId: string, id: string, ask: string, at: string): Promise<Question> => {
    const question = await escalations.find(namespaceId, id, at);
    if (question === undefined) throw notFound("question of this id in this tenant");
    return done(question.ask === ask ? openOrClosed(question) : { kind: "other-ask" });
  };
  return {
    async listEscalations({ namespaceId, id, status, cursor, limit }) {
      const now = clock().toISOString();
      if (id !== undefined) {
        const question = await escalations.find(namespaceId, id, now);
        return {
          escalations: question === undefined || question.status !== (status ?? question.status) ? [] : [question],
        };
      }
      const { items, next } = await pageOf(
        limit,
        (most) => escalations.list(namespaceId, { status, before: cursor, limit: most, now }),
        (question) => question.id,
      );
      return { escalations: items, ...next };
    },
    async approveEscalation({ namespaceId, id, ask, expiresAt, maxUses }, operator) {
      const at = clock().toISOString();
      const question = await find(namespaceId, id, ask, at);
      const approval = approvedGrant(question, { at, expiresAt, maxUses });
      if (!approval.ok) throw invalid(`This cannot be approved: ${approval.problem}.`);
      const { grant } = approval;
      const change = { ...changeOf("escalation.approve", question), grantId: grant.id };
      return operator.change(change, async () => {
        const answered = await escalations
          .approve({ namespaceId, id, ask, by: operator.id, at }, grant)
          .catch(refuseTakenId);
        return { escalation: done(answered), grant };
      });
    },
    async denyEscalation({ namespaceId, id, ask, reason }, operator) {
      const at = clock().toISOString();
      const question = await find(namespaceId, id, ask, at);
      return operator.change(changeOf("escalation.deny", question), async () => ({
        escalation: done(await escalations.deny({ namespaceId, id, ask, by: operator.id, at }, reason)),
      }));
    },
  };
}

function refuseTakenId(error: unknown): never {
  if (error instanceof GrantIdTaken) throw conflict("Somebody issued a grant of the id that this approval would take.");
  throw error;
}

function changeOf(action: string, { namespaceId, id, requester }: Question) {
  return { namespaceId, action, receiver: requester, metadata: { question: id } };
}

function openOrClosed(question: Question): Answered {
  return { kind: question.status === "pending" ? "done" : "closed", question };
}

/** The question that was answered; throws when the answer came too late or was meant for something else. */
function done(answered: Answered): Question {
  switch (answered.kind) {
    case "done":
      return answered.question;
    case "unknown":
      throw notFound("question of this id in this tenant");
    case "other-ask":
      throw conflict("/ask: this question asks for something else. Look at it again before you answer.");
    case "closed":
      throw conflict(closedText(answered.question));
  }
}

function closedText({ status, decidedAt, grantId, expiresAt }: Question): string {
  if (status === "expired") return `This question expired ${expiresAt}. The agent has to ask again.`;
  const outcome = grantId === undefined ? status : `${status} as ${grantId}`;
  return `This question was ${outcome} ${decidedAt ?? "before"}; it is answered once.`;
}
