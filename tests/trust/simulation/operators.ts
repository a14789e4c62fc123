import type { Episode, OperatorAction } from "./plan.ts";
import type { Answer } from "./host.ts";
import { agentOf, laterGrant } from "./population.ts";
import type { World } from "./world.ts";

/** Does one thing after the other, each until it is acknowledged, or patience ends. */
export async function runOperator(world: World, { tenant, actions }: Episode["operators"][number]): Promise<void> {
  for (const action of actions) {
    await world.scheduler.wait(1 + world.random.below(action.kind === "answer" ? 300 : 30));
    await operate(world, tenant, action);
  }
}

async function operate(world: World, tenant: string, action: OperatorAction): Promise<void> {
  const { model, population } = world;
  switch (action.kind) {
    case "issue":
      model.permit(tenant);
      await post(world, tenant, "/admin/v1/grants", laterGrant(tenant));
      return;
    case "revoke": {
      const id = `grant-${action.item}`;
      const answer = await post(world, tenant, "/admin/v1/grants/revoke", { namespaceId: tenant, id });
      // A conflict says that it is revoked already.
      if (answer?.status === 200 || answer?.status === 409) model.revoked(tenant, id);
      return;
    }
    case "revoke credential": {
      const { id } = agentOf(population, tenant).passing;
      const answer = await post(world, tenant, "/admin/v1/credentials/revoke", { id });
      if (answer?.status === 200 || answer?.status === 409) model.revoked(tenant, "credential");
      return;
    }
    case "answer":
      await answerOne(world, tenant, action.isApproval);
  }
}

/** Answers one of the open escalations of a tenant. False when there is none, or no host could be reached. */
export async function answerOne(world: World, tenant: string, isApproval: boolean): Promise<boolean> {
  const { model, population, random } = world;
  const path = `/admin/v1/escalations?namespaceId=${tenant}&status=pending`;
  const listed = await world.send(tenant, { method: "GET", path, token: population.operator });
  if (listed?.status !== 200) return false;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the wire says
  const open = listed.body.escalations as any[];
  const chosen = open[random.below(open.length)];
  if (chosen === undefined) return false;
  const { id, ask } = chosen;
  if (isApproval) {
    const text = JSON.stringify(chosen);
    const [, tag] = /"tag":"([^"]*)"/.exec(text) ?? [];
    const [, slot = ""] = /"slot":"([^"]*)"/.exec(text) ?? [];
    if (tag === undefined) model.permit(tenant);
    else model.approved(tenant, tag, slot);
  }
  const body = { namespaceId: tenant, id, ask, ...(!isApproval && { reason: "no" }) };
  await post(world, tenant, `/admin/v1/escalations/${isApproval ? "approve" : "deny"}`, body);
  return true;
}

async function post(world: World, tenant: string, path: string, body: unknown): Promise<Answer | undefined> {
  const { scheduler, random, population } = world;
  for (let attempt = 0; attempt < 4; attempt += 1) {
    await scheduler.pause("operator");
    const answer = await world.send(tenant, { method: "POST", path, token: population.operator, body });
    if (answer !== undefined) world.note(`operator ${tenant} ${path}: ${answer.status}`);
    if (answer !== undefined && answer.status < 500) return answer;
    await scheduler.wait(1 + random.below(500));
  }
  return undefined;
}
