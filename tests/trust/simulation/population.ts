import type { AgentRef, Capability, Grant, PrincipalRef } from "turnpike/contracts";
import type { Stores } from "../../../packages/host/src/compose/stores.ts";
import { items, tenantsOf, type Item } from "./model.ts";
import { episodesPerPlan } from "./plan.ts";

export const bot: AgentRef = { kind: "agent", agentId: "bot" };
export const peer: AgentRef = { kind: "agent", agentId: "peer" };
const alice: PrincipalRef = { kind: "human", userId: "alice" };
const operator: PrincipalRef = { kind: "human", userId: "oona" };

/** The tokens by which people and agents are known. */
export interface Population {
  operator: string;
  /** Of each tenant's agent: a credential that stays, and one that may be revoked. */
  agents: ReadonlyMap<string, { staying: string; passing: { id: string; token: string } }>;
}

/** Gives every principal what it begins with, in all episodes that there can be. */
export async function populate(stores: Stores): Promise<Population> {
  const admin = { actor: operator, owner: operator, purposes: ["operate"], admin: true };
  const { token } = await stores.credentials.create({ namespaceId: "operators", access: admin });
  const agents = new Map<string, { staying: string; passing: { id: string; token: string } }>();
  for (const tenant of Array.from({ length: episodesPerPlan }, (_, number) => tenantsOf(number)).flat()) {
    const access = { actor: bot, owner: alice, authority: alice, purposes: ["work"] };
    const staying = await stores.credentials.create({ namespaceId: tenant, access });
    const passing = await stores.credentials.create({ namespaceId: tenant, access });
    agents.set(tenant, { staying: staying.token, passing });
    await stores.settings.change({ namespaceId: tenant, actor: bot }, { enable: ["effects", "service"] });
    for (const grant of grantsOf(tenant)) await stores.grants.issue(grant);
  }
  return { operator: token, agents };
}

/** The tokens of a tenant's agent. */
export function agentOf(
  { agents }: Population,
  tenant: string,
): { staying: string; passing: { id: string; token: string } } {
  const agent = agents.get(tenant);
  if (agent === undefined) throw new Error(`There is no agent in ${tenant}.`);
  return agent;
}

/** The grant that is not there from the beginning. */
export function laterGrant(tenant: string): Grant {
  return grantOf(tenant, "grant-later", [onItem("later")]);
}

function grantsOf(tenant: string): Grant[] {
  const there = (Object.keys(items) as Item[]).filter((item) => !("isMissing" in items[item]));
  const own = there.map((item) => {
    const { maxUses, isAsked } = items[item] as { maxUses?: number; isAsked?: true };
    const capability = { ...onItem(item), ...(isAsked && { approval: "each" as const }) };
    return grantOf(tenant, `grant-${item}`, [capability], maxUses === undefined ? {} : { maxUses });
  });
  const base: Capability[] = [
    { resource: { namespace: "files", path: [] }, actions: ["*"], scope: "descendants" },
    { resource: { namespace: "service.messaging", path: ["agent", "peer"] }, actions: ["send"], scope: "exact" },
    { resource: { namespace: "service.execution", path: ["agent", "bot"] }, actions: ["invoke"], scope: "exact" },
    { resource: { namespace: "service", path: ["escalation"] }, actions: ["request"], scope: "exact" },
  ];
  return [...own, grantOf(tenant, "grant-base", base)];
}

function onItem(item: Item): Capability {
  return { resource: { namespace: "effects", path: [item] }, actions: ["have"], scope: "exact" };
}

function grantOf(
  namespaceId: string,
  id: string,
  capabilities: Capability[],
  constraints: Grant["constraints"] = {},
): Grant {
  return { id, namespaceId, subject: bot, issuer: alice, capabilities, constraints, issuedAt: "2025-12-01T00:00:00Z" };
}
