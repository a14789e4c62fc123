import { principalKey } from "turnpike/contracts";
import type { Operator } from "../../access/index.ts";
import type { Answer, Answered, Withdrawn } from "../../escalations/index.ts";
import { closedText } from "../../display/index.ts";
import { GrantIdTakenError, InvariantViolatedError } from "../../grants/index.ts";
import type { AdminInput, ClosedEscalation, EscalationRecord } from "../../admin-contract/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { invariantViolated } from "./grant-rules.ts";
import {
  conflict,
  forbidden,
  invalid,
  notFound,
  paginate,
  type AdminOperations,
  type AdminServices,
} from "./admin-services.ts";

type EscalationRoute =
  | "listEscalations"
  | "showEscalation"
  | "approveEscalation"
  | "denyEscalation"
  | "withdrawEscalation";

/** Reading and answering escalations. */
export function escalationOperations(services: AdminServices): AdminOperations<EscalationRoute> {
  const { clock, wakeTurns } = services;
  const { escalations, grants, turns } = services.stores;
  type ListInput = AdminInput<"listEscalations"> & { namespaceId: string };
  const answerOf = (about: Pick<Answer, "namespaceId" | "id" | "ask">, operator: Operator): Answer => ({
    namespaceId: about.namespaceId,
    id: about.id,
    ask: about.ask,
    by: operator.id,
    person: operator.actor,
    at: clock().toISOString(),
  });
  return {
    listEscalations: acrossTenants(services, "escalations", async (input: ListInput) => {
      const { namespaceId, id, status, cursor, limit } = input;
      const now = clock().toISOString();
      if (id !== undefined) {
        const escalation = await escalations.find(namespaceId, id, now);
        return {
          escalations:
            escalation === undefined || escalation.status !== (status ?? escalation.status) ? [] : [escalation],
        };
      }
      const filter = { status, before: cursor, now };
      const scanEnd = await escalations.findScanEnd(namespaceId, filter);
      const sizeEnd = await escalations.findSizeEnd(namespaceId, { ...filter, downTo: scanEnd, limit: limit + 1 });
      const downTo = sizeEnd ?? scanEnd;
      const { items, next } = await paginate(
        limit,
        (most) => escalations.list(namespaceId, { ...filter, downTo, limit: most }),
        (escalation) => escalation.id,
        downTo,
      );
      return { escalations: items, ...next };
    }),
    async showEscalation({ namespaceId, id }) {
      const escalation = await escalations.find(namespaceId, id, clock().toISOString());
      if (escalation === undefined) throw notFound("escalation of this id in this tenant");
      const { approval, grantId = approval?.grantId, executionId, requester } = escalation;
      const grant = grantId === undefined ? undefined : await grants.findStored(namespaceId, grantId);
      const turn = executionId === undefined ? undefined : await turns.findBy(namespaceId, executionId, requester);
      return {
        escalation,
        approvalsNeeded: escalations.approvalsNeeded,
        ...(grant && { grant }),
        ...(turn && { turn: { ...turn, events: [...turn.events] } }),
      };
    },
    async approveEscalation({ expiresAt, maxUses, ...about }, operator) {
      const answer = answerOf(about, operator);
      const terms = { expiresAt, maxUses };
      const expected = done(await escalations.previewApproval(answer, terms));
      return operator.change(changeOf("escalation.approve", expected), async () => {
        const { record: escalation, grant } = done(await escalations.approve(answer, terms).catch(refuseGrant));
        if (escalation.status !== "pending") wakeTurns();
        return { escalation, ...(grant && { grant }) };
      });
    },
    async denyEscalation({ reason, ...about }, operator) {
      const answer = answerOf(about, operator);
      const expected = done(await escalations.previewDenial(answer));
      return operator.change(changeOf("escalation.deny", expected), async () => {
        const { record: escalation } = done(await escalations.deny(answer, reason));
        wakeTurns();
        return { escalation };
      });
    },
    async withdrawEscalation({ reason, ...about }, operator) {
      const answer = answerOf(about, operator);
      const expected = done(await escalations.previewWithdrawal(answer, reason));
      const { grantId } = expected.record;
      const change = { ...changeOf("escalation.withdraw", expected), ...(grantId !== undefined && { grantId }) };
      return operator.change(change, async () => {
        const { record: escalation } = done(await escalations.withdraw(answer, reason));
        return { escalation };
      });
    },
  };
}

function refuseGrant(error: unknown): never {
  if (error instanceof GrantIdTakenError) throw conflict("A grant with the id of this approval exists already.");
  if (error instanceof InvariantViolatedError) throw invariantViolated(error.found);
  throw error;
}

type Done = Extract<Answered, { kind: "done" }>;

/** What the audit log says of an escalation that was closed by an operator's change. */
function changeOfClosed({ namespaceId, id, ask, requester, closed }: ClosedEscalation) {
  const { reason, grantId } = closed ?? {};
  const metadata = { escalation: id, requestHash: ask, ...(reason && { reason }) };
  const grant = grantId === undefined ? {} : { grantId };
  return { namespaceId, action: "escalation.close", receiver: requester, metadata, ...grant };
}

/**
 * Records the escalations that a change closed, and resumes the turns that waited for them. The change itself is in the audit
 * log before it is made; which escalations it closes is known only afterwards.
 */
export async function recordClosed(
  operator: Pick<Operator, "recordMade">,
  closed: readonly ClosedEscalation[],
  wakeTurns: () => void,
): Promise<void> {
  if (closed.length === 0) return;
  wakeTurns();
  await operator.recordMade(closed.map(changeOfClosed));
}

/** What the audit log says of an answer. It never has arguments or payloads of an act. */
export function changeOf(action: string, { record, grant }: Pick<Done, "record" | "grant">) {
  const { namespaceId, id, ask, requester, status, approvals = [], dropped = [] } = record;
  const metadata = {
    escalation: id,
    requestHash: ask,
    ...(status === "pending" && { approvals: approvals.length }),
    ...(dropped.length > 0 && {
      dropped: dropped.map(({ by, credential = "", why }) => ({ by: principalKey(by), credential, why })),
    }),
  };
  return { namespaceId, action, receiver: requester, metadata, ...(grant && { grantId: grant.id }) };
}

/** The answered escalation. Throws when the answer does not count. */
function done(answered: Answered | Withdrawn): Done {
  switch (answered.kind) {
    case "done":
      return answered;
    case "unknown":
      throw notFound("escalation of this id in this tenant");
    case "other-request":
      throw conflict("/ask: this escalation requests something else. Read it again before you answer.");
    case "closed":
      throw conflict(answeredText(answered.record));
    case "own-request":
      throw forbidden("You requested this yourself. Another operator has to answer.");
    case "takes-part":
      throw forbidden("You tried this act, or asked about it, yourself. Another operator has to answer.");
    case "no-reviewer":
      throw forbidden(
        "Your credential was revoked, has expired, or is no reviewer's any more: this answer does not count.",
      );
    case "same-person":
      throw conflict("You have approved this already. A second person has to approve it, too.");
    case "invalid":
      throw invalid(`This cannot be approved: ${answered.problem}.`);
    case "used":
      throw conflict("The act has happened already, so its approval cannot be withdrawn.");
    case "not-approved":
      throw conflict(notApprovedText(answered.record));
  }
}

function notApprovedText(record: EscalationRecord): string {
  if (record.status === "pending") return "This escalation has no answer yet: deny it instead.";
  return `There is no approval to withdraw. ${answeredText(record)}`;
}

function answeredText({
  status,
  decidedAt,
  decidedBy,
  approvals = [],
  grantId,
  expiresAt,
  withdrawal,
  closed,
}: EscalationRecord): string {
  if (closed !== undefined)
    return `This escalation was closed ${closed.at}: ${closedText(closed)}. Nothing was approved or denied; an agent that still needs it asks again.`;
  if (withdrawal !== undefined)
    return `The approval was withdrawn ${withdrawal.at} by ${principalKey(withdrawal.by)}. The agent has to ask again.`;
  if (status === "expired") return `This escalation expired ${expiresAt}. The agent has to request it again.`;
  const outcome = grantId === undefined ? status : `${status} as ${grantId}`;
  const people = approvals.map(({ by }) => principalKey(by)).join(" and ");
  const who = status === "approved" && people !== "" ? people : decidedBy;
  return `This escalation was ${outcome} ${decidedAt ?? "before"} by ${who ?? "another operator"}; it can be answered only once.`;
}
