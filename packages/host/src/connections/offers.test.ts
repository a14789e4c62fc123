import type { Grant } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { grantsOf, offersOf } from "./offers.ts";
import { actsIn, scopeText } from "./scope.ts";

const alice = { kind: "human", userId: "alice" } as const;
const at = "2026-01-01T12:00:00.000Z";
const terms = { subject: { kind: "agent", agentId: "connection" } as const, purpose: "work", at };

function held(changes: Partial<Grant> = {}): Grant {
  return {
    id: "hold",
    namespaceId: "acme",
    subject: alice,
    issuer: { kind: "service", serviceId: "directory" },
    capabilities: [
      { resource: { namespace: "files", path: ["den"] }, actions: ["read", "write"], scope: "descendants" },
    ],
    constraints: { delegationDepth: 1 },
    issuedAt: "2026-01-01T00:00:00.000Z",
    ...changes,
  };
}

const said = (grants: readonly Grant[], scope = "") =>
  offersOf(grants, scope, terms).map(({ capability, isAsked }) =>
    [scopeText(capability.actions[0] ?? "", capability.resource), ...(isAsked ? ["asked"] : [])].join(" "),
  );

test("each action is offered by itself, and what the client asked for comes first", () => {
  expect(said([held()])).toEqual(["read:files/den", "write:files/den"]);
  expect(said([held()], "write:files/den")).toEqual(["write:files/den asked", "read:files/den"]);
  expect(said([held()], "read:files/den/a%20b")).toEqual([
    "read:files/den/a%20b asked",
    "read:files/den",
    "write:files/den",
  ]);
});

describe("nothing is offered that the person cannot hand on", () => {
  const rows: [name: string, changes: Partial<Grant>][] = [
    ["that may not be delegated", { constraints: {} }],
    ["whose uses are counted", { constraints: { delegationDepth: 1, maxUses: 3 } }],
    ["that was revoked", { revokedAt: "2026-01-01T01:00:00.000Z" }],
    ["that has expired", { constraints: { delegationDepth: 1, expiresAt: "2026-01-01T11:00:00.000Z" } }],
    ["that does not count yet", { constraints: { delegationDepth: 1, notBefore: "2026-01-02T00:00:00.000Z" } }],
    ["for other purposes", { constraints: { delegationDepth: 1, purposes: ["play"] } }],
  ];
  test.each(rows)("of a grant %s", (_name, changes) => {
    expect(said([held(changes)])).toEqual([]);
  });

  test("and nothing beside what they hold, whatever the client asks", () => {
    for (const scope of [
      "read:files",
      "delete:files/den",
      "read:files/denial",
      "read:crm/den",
      "read:files/den/%2E%2E%",
    ])
      expect(said([held()], scope)).toEqual(["read:files/den", "write:files/den"]);
  });
});

test("what is chosen of one grant becomes one, for the client, which hands nothing on", () => {
  const [read, write] = offersOf([held()], "", terms);
  if (read === undefined || write === undefined) throw new Error("Nothing is offered.");
  const chosen = [
    { offer: read, isAskedEach: false },
    { offer: write, isAskedEach: false },
  ];
  expect(grantsOf([held()], chosen, { ...terms, freshId: () => "new" })).toEqual([
    {
      id: "new",
      namespaceId: "acme",
      subject: terms.subject,
      issuer: alice,
      parentId: "hold",
      capabilities: [
        { resource: { namespace: "files", path: ["den"] }, actions: ["read", "write"], scope: "descendants" },
      ],
      constraints: { delegationDepth: 0, purposes: ["work"] },
      issuedAt: at,
    },
  ]);
  const apart = [
    { offer: read, isAskedEach: false },
    { offer: write, isAskedEach: true },
  ];
  const [grant] = grantsOf([held()], apart, { ...terms, freshId: () => "new" }) ?? [];
  expect(grant?.capabilities.map(({ actions, approval }) => [actions, approval])).toEqual([
    [["read"], undefined],
    [["write"], "each"],
  ]);
});

test("it ends when the person says, and never later than what they hold", () => {
  const until = (expiresAt: string | undefined, endsAt: string | undefined) => {
    const grants = [held({ constraints: { delegationDepth: 1, ...(expiresAt !== undefined && { expiresAt }) } })];
    const [offer] = offersOf(grants, "", terms);
    if (offer === undefined) throw new Error("Nothing is offered.");
    const [grant] = grantsOf(grants, [{ offer, isAskedEach: false }], { ...terms, endsAt, freshId: () => "new" }) ?? [];
    return grant?.constraints.expiresAt;
  };
  const [sooner, later] = ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"];
  expect([until(undefined, undefined), until(undefined, sooner), until(later, sooner), until(sooner, later)]).toEqual([
    undefined,
    sooner,
    sooner,
    sooner,
  ]);
});

test("a choice is refused as a whole when something of it may no longer be handed on", () => {
  const [offer] = offersOf([held()], "", terms);
  if (offer === undefined) throw new Error("Nothing is offered.");
  const chosen = [{ offer, isAskedEach: false }];
  const narrower = held({
    capabilities: [{ resource: { namespace: "files", path: ["den", "a"] }, actions: ["read"], scope: "descendants" }],
  });
  expect(grantsOf([narrower], chosen, { ...terms, freshId: () => "new" })).toBeUndefined();
});

test("a scope names acts, and what is none of them names nothing", () => {
  expect(actsIn("offline_access read:files/a%20b openid  pay:payments x:%")).toEqual([
    { action: "read", namespace: "files", path: ["a b"] },
    { action: "pay", namespace: "payments", path: [] },
  ]);
});
