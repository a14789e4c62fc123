import type { EscalationRecord } from "../../src/admin-contract/records.ts";
import type { Answer } from "../../src/escalations/index.ts";
import type { Stores } from "../../src/compose/stores.ts";
import { actToApprove, askAct, askIn, escalation, makeReviewers, officeTime, oona, payment } from "../office.ts";
import { context, grant } from "../records.ts";
import { beginTurn, progress, turnToBegin, waitingEntry } from "../turn-journals.ts";
import type { Operations, Seed } from "./operation.ts";

export function approvalOf({ namespaceId, id, ask }: EscalationRecord): Answer {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at: officeTime };
}

/** A request of authority for which a turn waits. */
async function awaited(stores: Stores, { tenant }: Seed): Promise<Answer> {
  const asked = await askIn(stores, tenant);
  const writer = await beginTurn(stores.turns, turnToBegin(tenant, "waiting"));
  await writer.write([waitingEntry(asked.id, asked.expiresAt)], progress);
  return approvalOf(asked);
}

/** An escalation about an act, which a grant carries. */
async function actAsked(stores: Stores, { tenant }: Seed): Promise<Answer> {
  await stores.grants.issue(grant("grant-1", { namespaceId: tenant }));
  return approvalOf(await askAct(stores, tenant, {}, { now: officeTime }));
}

/** Long before anything else in these tests expires. */
const [longAgo, later] = ["1999-01-01T00:00:00.000Z", "1999-02-01T00:00:00.000Z"];

/** Escalations, answers to them, and permits. */
export const escalationOperations: Operations = {
  "escalations.add":
    ({ escalations }, { tenant }) =>
    () =>
      escalations.add(context({ namespaceId: tenant }), escalation()),
  "escalations.add, again": async (stores, { tenant }) => {
    await askIn(stores, tenant);
    return () => stores.escalations.add(context({ namespaceId: tenant }), escalation());
  },
  "escalations.approve": async (stores, seed) => {
    const answer = await awaited(stores, seed);
    return () => stores.escalations.approve(answer);
  },
  "escalations.approve, of an act": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    return () => stores.escalations.approve(answer);
  },
  "escalations.deny": async (stores, seed) => {
    const answer = await awaited(stores, seed);
    return () => stores.escalations.deny(answer, "No.");
  },
  "escalations.previewApproval": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    return () => stores.escalations.previewApproval(answer);
  },
  "escalations.previewDenial": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    return () => stores.escalations.previewDenial(answer);
  },
  "escalations.withdraw": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    await stores.escalations.approve(answer);
    return () => stores.escalations.withdraw(answer);
  },
  "escalations.withdraw, of authority": async (stores, seed) => {
    const answer = await awaited(stores, seed);
    await stores.escalations.approve(answer);
    return () => stores.escalations.withdraw(answer);
  },
  "escalations.previewWithdrawal": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    await stores.escalations.approve(answer);
    return () => stores.escalations.previewWithdrawal(answer);
  },
  "escalations.answersOf": async (stores, seed) => {
    // Of this round alone: the operator of all rounds has ever more answers, in all tenants.
    const answer = { ...(await actAsked(stores, seed)), by: `operator-of-${seed.tenant}` };
    await makeReviewers(stores, [answer.by]);
    await stores.escalations.approve(answer);
    return () => stores.escalations.answersOf(answer.by, officeTime);
  },
  "escalations.endAnswersOf": async (stores, seed) => {
    // Of this round alone: a revocation ends the answers of all tenants.
    const answer = { ...(await actAsked(stores, seed)), by: `operator-of-${seed.tenant}` };
    await makeReviewers(stores, [answer.by]);
    await stores.escalations.approve(answer);
    const ending = { by: oona, credential: answer.by, at: officeTime };
    return () =>
      stores.credentials.revoke(answer.by, officeTime, (transaction) =>
        stores.escalations.endAnswersOf(transaction, answer.by, ending),
      );
  },
  "escalations.find": async (stores, { tenant }) => {
    const { id } = await askIn(stores, tenant);
    return () => stores.escalations.find(tenant, id, officeTime);
  },
  "escalations.findPending": async (stores, { tenant }) => {
    const { id } = await askIn(stores, tenant);
    return () => stores.escalations.findPending([{ namespaceId: tenant, id }], officeTime);
  },
  "escalations.listAsked": async (stores, { tenant }) => {
    const { authority } = await askIn(stores, tenant);
    return () => stores.escalations.listAsked(tenant, authority, { now: officeTime, limit: 9 });
  },
  "escalations.list":
    ({ escalations }, { tenant }) =>
    () =>
      escalations.list(tenant, { limit: 9, now: officeTime }),
  "escalations.findSizeEnd":
    ({ escalations }, { tenant }) =>
    () =>
      escalations.findSizeEnd(tenant, { limit: 9, now: officeTime }),
  "escalations.findScanEnd":
    ({ escalations }, { tenant }) =>
    () =>
      escalations.findScanEnd(tenant, { status: "pending", now: officeTime }),
  "escalations.expire": async (stores, { tenant }) => {
    await askIn(stores, tenant, escalation({ requestedAt: longAgo }));
    return () => stores.escalations.expire(later, 9);
  },
  "escalations.countPending":
    ({ escalations }) =>
    () =>
      escalations.countPending(officeTime),
  "escalations.countPendingOf":
    ({ escalations }, { tenant }) =>
    () =>
      escalations.countPendingOf([tenant], officeTime),
  "permits.ask":
    ({ permits }, { tenant }) =>
    () =>
      permits.ask(context({ namespaceId: tenant }), actToApprove(tenant)),
  "permits.find": async (stores, seed) => {
    await actAsked(stores, seed);
    const { hash } = actToApprove(seed.tenant);
    return () => stores.permits.find(seed.tenant, hash, officeTime);
  },
  "permits.find, of an escalation that expired": async (stores, { tenant }) => {
    await stores.permits.ask(context({ namespaceId: tenant, now: longAgo }), actToApprove(tenant));
    const { hash } = actToApprove(tenant);
    return () => stores.permits.find(tenant, hash, later);
  },
  "permits.waiting":
    ({ permits }, { tenant }) =>
    () =>
      permits.waiting(context({ namespaceId: tenant }), payment),
  "permits.use": async (stores, seed) => {
    const answer = await actAsked(stores, seed);
    await stores.escalations.approve(answer);
    return () => stores.permits.use(seed.tenant, answer.id);
  },
};
