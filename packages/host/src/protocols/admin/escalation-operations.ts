import type { EscalationRecord } from "../../management/index.ts";
import { type Answered, approvedGrant } from "../../escalations/index.ts";
import { GrantIdTakenError } from "../../grants/index.ts";
import { conflict, invalid, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Reading and answering the escalations that turns ended with. */
export function escalationOperations({
  stores: { escalations },
  clock,
  wakeTurns,
}: AdminServices): AdminOperations<"listEscalations" | "approveEscalation" | "denyEscalation"> {
  const find = async (namespaceId: string, id: string, ask: string, at: string): Promise<EscalationRecord> => {
    const escalation = await escalations.find(namespaceId, id, at);
    if (escalation === undefined) throw notFound("escalation of this id in this tenant");
    return done(escalation.ask === ask ? openOrClosed(escalation) : { kind: "other-request" });
  };
  return {
    async listEscalations({ namespaceId, id, status, cursor, limit }) {
      const now = clock().toISOString();
      if (id !== undefined) {
        const escalation = await escalations.find(namespaceId, id, now);
        return {
          escalations:
            escalation === undefined || escalation.status !== (status ?? escalation.status) ? [] : [escalation],
        };
      }
      const filter = { status, before: cursor, now };
      const downTo = await escalations.findScanEnd(namespaceId, filter);
      const { items, next } = await paginate(
        limit,
        (most) => escalations.list(namespaceId, { ...filter, downTo, limit: most }),
        (escalation) => escalation.id,
        downTo,
      );
      return { escalations: items, ...next };
    },
    async approveEscalation({ namespaceId, id, ask, expiresAt, maxUses }, operator) {
      const at = clock().toISOString();
      const escalation = await find(namespaceId, id, ask, at);
      const approval = approvedGrant(escalation, { at, expiresAt, maxUses });
      if (!approval.ok) throw invalid(`This cannot be approved: ${approval.problem}.`);
      const { grant } = approval;
      const change = { ...changeOf("escalation.approve", escalation), grantId: grant.id };
      return operator.change(change, async () => {
        const answered = await escalations
          .approve({ namespaceId, id, ask, by: operator.id, at }, grant)
          .catch(refuseTakenId);
        const approved = { escalation: done(answered), grant };
        wakeTurns();
        return approved;
      });
    },
    async denyEscalation({ namespaceId, id, ask, reason }, operator) {
      const at = clock().toISOString();
      const escalation = await find(namespaceId, id, ask, at);
      return operator.change(changeOf("escalation.deny", escalation), async () => {
        const denied = done(await escalations.deny({ namespaceId, id, ask, by: operator.id, at }, reason));
        wakeTurns();
        return { escalation: denied };
      });
    },
  };
}

function refuseTakenId(error: unknown): never {
  if (error instanceof GrantIdTakenError)
    throw conflict("Somebody issued a grant of the id that this approval would take.");
  throw error;
}

function changeOf(action: string, { namespaceId, id, requester }: EscalationRecord) {
  return { namespaceId, action, receiver: requester, metadata: { escalation: id } };
}

function openOrClosed(escalation: EscalationRecord): Answered {
  return { kind: escalation.status === "pending" ? "done" : "closed", record: escalation };
}

/** The answered escalation. Throws when the answer came too late or was meant for another request. */
function done(answered: Answered): EscalationRecord {
  switch (answered.kind) {
    case "done":
      return answered.record;
    case "unknown":
      throw notFound("escalation of this id in this tenant");
    case "other-request":
      throw conflict("/ask: this escalation requests something else. Look at it again before you answer.");
    case "closed":
      throw conflict(closedText(answered.record));
  }
}

function closedText({ status, decidedAt, grantId, expiresAt }: EscalationRecord): string {
  if (status === "expired") return `This escalation expired ${expiresAt}. The agent has to request it again.`;
  const outcome = grantId === undefined ? status : `${status} as ${grantId}`;
  return `This escalation was ${outcome} ${decidedAt ?? "before"}; it is answered once.`;
}
