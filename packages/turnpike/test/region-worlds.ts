import type { Capability, Constraints, Grant, PrincipalRef } from "../src/contracts/index.ts";
import type { Random } from "./random.ts";

/** Two lists of grants of one tenant, and every request that can tell their decisions apart. */
export interface RegionWorld {
  before: Grant[];
  after: Grant[];
  owners: PrincipalRef[];
  paths: string[][];
  actions: string[];
  purposes: string[];
  instants: string[];
  /** Whether there is a request for every way in which requests can differ. */
  isWhole: boolean;
}

const principals: [PrincipalRef, PrincipalRef, PrincipalRef] = [
  { kind: "human", userId: "x" },
  { kind: "agent", agentId: "x" },
  { kind: "service", serviceId: "y" },
];
const paths: [string[], ...string[][]] = [[], ["a"], ["a", "b"], ["a", "b", "a"], ["a", "b", "c"], ["b"]];
/** Some are finer than a millisecond, and one is written in another zone. */
const edges: [string, string, string] = [
  "2026-01-01T01:00:00+01:00",
  "2026-01-01T00:00:00.00025Z",
  "2026-01-01T00:00:00.0005Z",
];
const instants = [
  "2024-12-31T00:00:00Z",
  "2025-12-31T23:59:59.9999Z",
  "2026-01-01T00:00:00Z",
  "2026-01-01T00:00:00.00012Z",
  "2026-01-01T00:00:00.00025Z",
  "2026-01-01T00:00:00.0003Z",
  "2026-01-01T00:00:00.0005Z",
  "2026-01-01T00:00:01Z",
];

export function drawWorld(random: Random): RegionWorld {
  const before = Array.from({ length: 1 + random.below(4) }, (_, place) => drawGrant(random, `grant-${place}`));
  link(random, before);
  const after = before.flatMap((grant) => changed(random, grant));
  const added = Array.from({ length: random.below(3) }, (_, place) => drawGrant(random, `added-${place}`));
  link(random, added, before);
  const isWhole = random.chance(0.05);
  const upTo = (count: number): number => (isWhole ? count : 1 + random.below(count));
  return {
    before,
    after: [...after, ...added],
    owners: [...principals, { kind: "group" as const, conversationId: "x" }].slice(
      0,
      isWhole ? 4 : 1 + random.below(2),
    ),
    paths: isWhole ? [...paths, ...paths.map((path) => [...path, "z"])] : paths,
    actions: ["read", "write", "send"].slice(0, upTo(3)),
    purposes: ["help", "*", "audit"].slice(0, upTo(3)),
    instants: instants.filter((_, place) => isWhole || place % 2 === 0 || random.chance(0.5)),
    isWhole,
  };
}

function drawGrant(random: Random, id: string): Grant {
  const grant: Grant = {
    id,
    namespaceId: "home",
    subject: random.pick(principals),
    issuer: random.pick(principals),
    capabilities: Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => drawCapability(random)),
    constraints: drawConstraints(random),
    issuedAt: random.chance(0.8) ? "2025-01-01T00:00:00Z" : random.pick(edges),
  };
  if (random.chance(0.15)) grant.revokedAt = random.pick(edges);
  return grant;
}

function drawCapability(random: Random): Capability {
  return {
    resource: {
      namespace: random.chance(0.9) ? "files" : "notes",
      path: random.pick(paths),
      ...(random.chance(0.3) && { owner: random.pick(principals) }),
    },
    actions: random.chance(0.3) ? ["*"] : random.some(["read", "write", "read"]),
    scope: random.chance(0.7) ? "descendants" : "exact",
    ...(random.chance(0.25) && { approval: "each" as const }),
  };
}

function drawConstraints(random: Random): Constraints {
  const constraints: Constraints = {};
  if (random.chance(0.3)) constraints.purposes = random.some(["help", "*"]);
  if (random.chance(0.2)) constraints.notBefore = random.pick([edges[0], edges[1]]);
  if (random.chance(0.3)) constraints.expiresAt = random.pick([edges[1], edges[2]]);
  if (random.chance(0.15)) constraints.maxUses = 1 + random.below(2);
  if (random.chance(0.6)) constraints.delegationDepth = random.below(4);
  return constraints;
}

/** Derives some grants from others, mostly as the rules of a chain want it. */
function link(random: Random, grants: readonly Grant[], others: readonly Grant[] = []): void {
  for (const [place, grant] of grants.entries()) {
    if (!random.chance(0.5)) continue;
    const parent = random.pickFrom([...grants.slice(0, place), ...others]);
    grant.parentId = parent === undefined || random.chance(0.05) ? "missing" : parent.id;
    if (parent === undefined || random.chance(0.15)) continue;
    grant.issuer = parent.subject;
    if (random.chance(0.7)) grant.capabilities = parent.capabilities;
    grant.constraints = { ...parent.constraints, ...(random.chance(0.2) && grant.constraints) };
    grant.constraints.delegationDepth = Math.max(0, (parent.constraints.delegationDepth ?? 0) - 1);
  }
}

function changed(random: Random, grant: Grant): Grant[] {
  if (random.chance(0.5)) return [grant];
  if (random.chance(0.3)) return [];
  if (random.chance(0.3)) return [{ ...grant, revokedAt: random.pick(edges) }];
  const { capabilities, constraints } = drawGrant(random, grant.id);
  if (random.chance(0.5)) return [{ ...grant, capabilities }];
  return [{ ...grant, constraints: { ...grant.constraints, ...constraints } }];
}
