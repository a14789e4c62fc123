/** A ledger over uses, budgets and permits in memory: one decision after the other, all that a choice needs or nothing of it. */
import type { AuditEvent } from "../src/contracts/index.ts";
import type { BudgetStore, DecisionChoice, DecisionLedger, PermitStore, UsageStore } from "../src/kernel/index.ts";

export function atomicLedger(
  usage: UsageStore,
  permits?: PermitStore,
  budgets?: BudgetStore,
): DecisionLedger & { events: AuditEvent[]; asked: (readonly DecisionChoice[])[] } {
  const events: AuditEvent[] = [];
  const asked: (readonly DecisionChoice[])[] = [];
  const isLeft = async ({
    uses = [],
    left = [],
    permit,
    reservations = [],
    event,
  }: DecisionChoice): Promise<boolean> => {
    for (const { namespaceId, grantId, maxUses } of [...uses, ...left]) {
      if ((await usage.used(namespaceId, grantId)) >= maxUses) return false;
    }
    const isReserved = reservations.length === 0 || (await budgets?.reserve(event.id, reservations, event.at)) === true;
    if (!isReserved) return false;
    if (permit === undefined || (await permits?.use(permit.namespaceId, permit.id)) === true) return true;
    await budgets?.settle(event.namespaceId, event.id, new Map(reservations.map(({ unit }) => [unit, 0n])));
    return false;
  };
  let last: Promise<unknown> = Promise.resolve();
  const decideNow = async (choices: readonly DecisionChoice[]): Promise<number> => {
    asked.push(choices);
    for (const [place, choice] of choices.entries()) {
      if (!(await isLeft(choice))) continue;
      for (const { namespaceId, grantId, maxUses } of choice.uses ?? [])
        await usage.consume(namespaceId, grantId, maxUses);
      events.push(choice.event);
      return place;
    }
    throw new Error("The last choice takes nothing.");
  };
  return {
    events,
    asked,
    decide(choices) {
      const decided = last.then(() => decideNow(choices));
      last = decided.catch(() => {});
      return decided;
    },
  };
}
