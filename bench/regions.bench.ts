// What it costs to say for all requests what a change of grants does.
import type { Capability, Grant } from "turnpike/contracts";
import { compareGrants } from "turnpike/kernel";
import { measureSubjects } from "./support/in-process.ts";
import { publish } from "./support/results.ts";

const at = "2026-06-01T00:00:00Z";
const alice = { kind: "human", userId: "alice" } as const;
const [grants, changes] = [10_000, 100];

/** Grants of `holders` agents: at places of three levels, below each other, with windows, purposes, owners and approvals. */
function grantsOf(holders: number): Grant[] {
  return Array.from({ length: grants }, (_, place): Grant => {
    const capability: Capability = {
      resource: {
        namespace: "files",
        path: [`area-${place % 20}`, `folder-${place % 500}`, `file-${place}`].slice(0, 1 + (place % 3)),
        ...(place % 7 === 0 && { owner: { kind: "human", userId: `user-${place % 50}` } as const }),
      },
      actions: place % 5 === 0 ? ["*"] : ["read", ...(place % 2 === 0 ? ["write"] : [])],
      scope: place % 4 === 0 ? "exact" : "descendants",
      ...(place % 9 === 0 && { approval: "each" as const }),
    };
    const day = 1 + (place % 28);
    return {
      id: `grant-${place}`,
      namespaceId: "bench",
      subject: { kind: "agent", agentId: `agent-${Math.floor(place / 3) % holders}` },
      issuer: alice,
      capabilities: [capability],
      constraints: {
        ...(place % 3 === 0 && { purposes: ["support", `purpose-${place % 10}`] }),
        ...(place % 2 === 0 && { expiresAt: `2027-01-${String(day).padStart(2, "0")}T00:00:00Z` }),
      },
      issuedAt: "2026-01-01T00:00:00Z",
    };
  });
}

/** Half of the changes revoke a grant, and half of them widen one. */
function changed(before: readonly Grant[]): Grant[] {
  const step = grants / changes;
  return before.flatMap((grant, place) => {
    if (place % step !== 0) return [grant];
    if ((place / step) % 2 === 0) return [];
    return [{ ...grant, capabilities: grant.capabilities.map((one) => ({ ...one, actions: ["*"] })) }];
  });
}

const [many, one] = [grantsOf(300), grantsOf(1)];
const [afterMany, afterOne] = [changed(many), changed(one)];
const same = "the same grants";
publish("regions", [
  await measureSubjects(`What a change of ${changes} of 10,000 grants does for all requests`, [
    { name: same, run: () => compareGrants(many, many, { at }) },
    {
      name: "compareGrants, 300 holders",
      run: () => compareGrants(many, afterMany, { at }),
      against: same,
      goalMicros: 1_000_000,
    },
    {
      name: "compareGrants, all of one holder",
      run: () => compareGrants(one, afterOne, { at }),
      against: same,
      goalMicros: 1_000_000,
    },
  ]),
]);
