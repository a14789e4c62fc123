import { describe, expect, test } from "vitest";
import {
  alice,
  ask,
  assistant,
  capability,
  context,
  justAfter,
  justBefore,
  now,
  olivia,
  parent,
  untyped,
  world,
} from "../../test/decisions.ts";
import { GrantSchema, type Constraints, type Grant } from "../contracts/index.ts";
import { deriveGrant, type GrantInput } from "./derive.ts";

function childAsk(changes: Partial<GrantInput> = {}): GrantInput {
  return { id: "child", subject: assistant, capabilities: [capability()], issuedAt: now, ...changes };
}

/** A parent that may be delegated once, with further constraints. */
function constrained(constraints: Constraints): Grant {
  return parent({ constraints: { delegationDepth: 1, ...constraints } });
}

interface RefusalRow {
  name: string;
  parent?: Grant;
  ask?: Partial<GrantInput>;
  reason: string;
  /** The same with the least change that makes it right. */
  twin: { parent?: Grant; ask?: Partial<GrantInput> };
}

const refusals: RefusalRow[] = [
  {
    name: "a parent that does not fit the contract",
    parent: { ...parent(), issuedAt: "yesterday" },
    reason: "invalid_parent",
    twin: { parent: parent() },
  },
  { name: "an ask without capabilities", ask: { capabilities: [] }, reason: "invalid_ask", twin: {} },
  { name: "an ask with an empty id", ask: { id: "" }, reason: "invalid_ask", twin: { ask: { id: "c" } } },
  { name: "an ask with a day for a time", ask: { issuedAt: "2026-01-01" }, reason: "invalid_ask", twin: {} },
  {
    name: "an ask with a path through `..`",
    ask: { capabilities: [capability({ path: ["reports", ".."] })] },
    reason: "invalid_ask",
    twin: { ask: { capabilities: [capability({ path: ["reports", "..."] })] } },
  },
  {
    name: "an ask for no use at all",
    ask: { constraints: { maxUses: 0 } },
    reason: "invalid_ask",
    twin: { ask: { constraints: { maxUses: 1 } } },
  },
  {
    name: "an ask with an unknown constraint",
    ask: { constraints: untyped({ forever: true }) },
    reason: "invalid_ask",
    twin: { ask: { constraints: {} } },
  },
  {
    name: "a window whose end, as asked, is before its start",
    ask: { constraints: { notBefore: "2026-01-03T00:00:00Z", expiresAt: "2026-01-02T00:00:00Z" } },
    reason: "invalid_ask",
    twin: { ask: { constraints: { notBefore: "2026-01-02T00:00:00Z", expiresAt: "2026-01-03T00:00:00Z" } } },
  },
  {
    name: "a window of no length",
    ask: { constraints: { notBefore: "2026-01-02T00:00:00Z", expiresAt: "2026-01-02T00:00:00Z" } },
    reason: "empty_window",
    twin: { ask: { constraints: { notBefore: "2026-01-02T00:00:00Z", expiresAt: "2026-01-02T00:00:00.001Z" } } },
  },
  {
    name: "a window that ends when the child is issued",
    ask: { constraints: { expiresAt: now } },
    reason: "empty_window",
    twin: { ask: { constraints: { expiresAt: justAfter } } },
  },
  {
    name: "a window that ends before the inherited start",
    parent: constrained({ notBefore: "2026-01-01T00:00:00Z" }),
    ask: { issuedAt: now, constraints: { expiresAt: "2025-12-31T00:00:00Z" } },
    reason: "empty_window",
    twin: { ask: { constraints: { expiresAt: "2026-01-02T00:00:00Z" } } },
  },
  {
    name: "a start after the inherited end",
    parent: constrained({ expiresAt: "2026-01-02T00:00:00Z" }),
    ask: { constraints: { notBefore: "2026-01-03T00:00:00Z" } },
    reason: "empty_window",
    twin: { ask: { constraints: { notBefore: "2026-01-01T13:00:00Z" } } },
  },
  {
    name: "a parent that is not issued yet",
    parent: parent({ issuedAt: justAfter }),
    reason: "parent_inactive",
    twin: { parent: parent({ issuedAt: now }) },
  },
  {
    name: "a parent that is not valid yet",
    parent: constrained({ notBefore: justAfter }),
    reason: "parent_inactive",
    twin: { parent: constrained({ notBefore: now }) },
  },
  {
    name: "a parent that is revoked",
    parent: parent({ revokedAt: now }),
    reason: "parent_inactive",
    twin: { parent: parent({ revokedAt: justAfter }) },
  },
  {
    name: "a parent that has expired, whatever end is asked for",
    parent: constrained({ expiresAt: now }),
    ask: { constraints: { expiresAt: "2027-01-01T00:00:00Z" } },
    reason: "parent_inactive",
    twin: { parent: constrained({ expiresAt: justAfter }), ask: { constraints: { expiresAt: justAfter } } },
  },
  {
    name: "a parent with counted uses",
    parent: constrained({ maxUses: 5 }),
    ask: { constraints: { maxUses: 1 } },
    reason: "parent_bounded",
    twin: { parent: constrained({}) },
  },
  {
    name: "a parent with depth 0",
    parent: parent({ constraints: { delegationDepth: 0 } }),
    reason: "delegation_not_allowed",
    twin: { parent: parent({ constraints: { delegationDepth: 1 } }) },
  },
  {
    name: "a parent that says nothing of depth",
    parent: parent({ constraints: {} }),
    reason: "delegation_not_allowed",
    twin: { parent: parent({ constraints: { delegationDepth: 1 } }) },
  },
  {
    name: "a child that may be delegated as far as its parent",
    ask: { constraints: { delegationDepth: 1 } },
    reason: "delegation_too_deep",
    twin: { ask: { constraints: { delegationDepth: 0 } } },
  },
  {
    name: "a capability beyond the parent's",
    ask: { capabilities: [capability({ path: [] })] },
    reason: "capability_exceeds_parent",
    twin: { ask: { capabilities: [capability({ path: ["reports", "q1"] })] } },
  },
  {
    name: "a capability that only two of the parent's together would hold",
    parent: parent({ capabilities: [capability({ actions: ["read"] }), capability({ actions: ["write"] })] }),
    ask: { capabilities: [capability({ actions: ["read", "write"] })] },
    reason: "capability_exceeds_parent",
    twin: { ask: { capabilities: [capability({ actions: ["read"] }), capability({ actions: ["write"] })] } },
  },
  {
    name: "a capability that leaves open the owner its parent names",
    parent: parent({ capabilities: [capability({ owner: olivia })] }),
    reason: "capability_exceeds_parent",
    twin: { ask: { capabilities: [capability({ owner: olivia })] } },
  },
  {
    name: "a purpose that is not among the parent's",
    parent: constrained({ purposes: ["reporting"] }),
    ask: { constraints: { purposes: ["reporting", "billing"] } },
    reason: "purposes_exceed_parent",
    twin: { ask: { constraints: { purposes: ["reporting"] } } },
  },
  {
    name: "an end later than the parent's",
    parent: constrained({ expiresAt: "2026-01-02T00:00:00Z" }),
    ask: { constraints: { expiresAt: "2026-01-02T00:00:00.001Z" } },
    reason: "window_exceeds_parent",
    twin: { ask: { constraints: { expiresAt: "2026-01-02T02:00:00+02:00" } } },
  },
  {
    name: "a start earlier than the parent's",
    parent: constrained({ notBefore: now }),
    ask: { constraints: { notBefore: justBefore } },
    reason: "window_exceeds_parent",
    twin: { ask: { constraints: { notBefore: now } } },
  },
  {
    name: "a budget larger than the parent's",
    parent: constrained({ budgets: [{ unit: "EUR", limit: "20", per: "day" }] }),
    ask: { constraints: { budgets: [{ unit: "EUR", limit: "20.000001", per: "day" }] } },
    reason: "budget_exceeds_parent",
    twin: { ask: { constraints: { budgets: [{ unit: "EUR", limit: "20.0", per: "day" }] } } },
  },
];

describe("deriving a grant", () => {
  for (const row of refusals) {
    test(`is refused for ${row.name}`, () => {
      expect(deriveGrant(row.parent ?? parent(), childAsk(row.ask))).toEqual({ ok: false, reason: row.reason });
    });

    test(`is not refused for the opposite of ${row.name}`, () => {
      const { parent: other = row.parent ?? parent(), ask: otherAsk = row.twin.parent ? row.ask : {} } = row.twin;
      expect(deriveGrant(other, childAsk(otherAsk))).toMatchObject({ ok: true });
    });
  }

  test("is refused on a parent that has expired, when its end is inherited", () => {
    expect(deriveGrant(constrained({ expiresAt: now }), childAsk())).toMatchObject({ ok: false });
  });

  for (const row of [
    { name: "no parent at all", parent: undefined, ask: childAsk(), reason: "invalid_parent" },
    { name: "null for a parent", parent: null, ask: childAsk(), reason: "invalid_parent" },
    { name: "no ask at all", parent: parent(), ask: undefined, reason: "invalid_ask" },
    { name: "null for an ask", parent: parent(), ask: null, reason: "invalid_ask" },
  ]) {
    test(`is refused with a reason for ${row.name}`, () => {
      expect(deriveGrant(untyped(row.parent), untyped(row.ask))).toEqual({ ok: false, reason: row.reason });
    });
  }

  test("is refused for the id of the parent itself, which would be its own parent in every store", () => {
    expect(deriveGrant(parent(), childAsk({ id: "parent" }))).toMatchObject({ ok: false });
  });
});

describe("a derived grant", () => {
  test("is issued by the parent's subject, in its namespace, and says whose child it is", () => {
    expect(deriveGrant(parent(), childAsk({ metadata: { note: "q1" } }))).toEqual({
      ok: true,
      grant: {
        id: "child",
        namespaceId: "tenant-1",
        subject: assistant,
        issuer: alice,
        capabilities: [
          { resource: { namespace: "documents", path: ["reports"] }, actions: ["read"], scope: "descendants" },
        ],
        constraints: { delegationDepth: 0 },
        issuedAt: "2026-01-01T12:00:00Z",
        parentId: "parent",
        metadata: { note: "q1" },
      },
    });
  });

  test("does not inherit the parent's metadata", () => {
    expect(derived(parent({ metadata: { secret: "x" } }), childAsk())).not.toHaveProperty("metadata");
  });

  const full: Constraints = {
    delegationDepth: 3,
    purposes: ["reporting", "billing"],
    notBefore: "2026-01-01T06:00:00Z",
    expiresAt: "2026-01-02T00:00:00Z",
  };
  const rows: { name: string; parent: Constraints; asked?: Constraints; expected: Constraints }[] = [
    { name: "inherits what is not restated", parent: full, expected: { ...full, delegationDepth: 2 } },
    {
      name: "inherits what an empty restatement leaves out",
      parent: full,
      asked: {},
      expected: { ...full, delegationDepth: 2 },
    },
    {
      name: "leaves what is restated and inherits the rest",
      parent: full,
      asked: { purposes: ["billing"], maxUses: 2 },
      expected: { ...full, delegationDepth: 2, purposes: ["billing"], maxUses: 2 },
    },
    {
      name: "leaves a narrower window exactly as it was written",
      parent: full,
      asked: { notBefore: "2026-01-01T14:00:00+01:00", expiresAt: "2026-01-01T20:00:00Z" },
      expected: {
        ...full,
        delegationDepth: 2,
        notBefore: "2026-01-01T14:00:00+01:00",
        expiresAt: "2026-01-01T20:00:00Z",
      },
    },
    {
      name: "may be delegated one time less by default",
      parent: { delegationDepth: 5 },
      expected: { delegationDepth: 4 },
    },
    {
      name: "of the last delegation may not be delegated",
      parent: { delegationDepth: 1 },
      expected: { delegationDepth: 0 },
    },
    {
      name: "may be delegated less than by default when it says so",
      parent: { delegationDepth: 5 },
      asked: { delegationDepth: 1 },
      expected: { delegationDepth: 1 },
    },
    {
      name: "inherits what is restated as undefined",
      parent: full,
      asked: {
        delegationDepth: undefined,
        purposes: undefined,
        notBefore: undefined,
        expiresAt: undefined,
        maxUses: undefined,
      },
      expected: { ...full, delegationDepth: 2 },
    },
    {
      name: "may be delegated one time less when its depth is restated as undefined",
      parent: { delegationDepth: 5 },
      asked: { delegationDepth: undefined },
      expected: { delegationDepth: 4 },
    },
  ];
  for (const row of rows) {
    test(`${row.name}`, () => {
      const grant = derived(parent({ constraints: row.parent }), childAsk(row.asked && { constraints: row.asked }));
      expect(grant.constraints).toEqual(row.expected);
    });
  }

  test("fits the contract and cannot be changed", () => {
    const grant = derived(parent({ constraints: full }), childAsk());
    expect(GrantSchema.safeParse(grant).success).toBe(true);
    expect(() => grant.capabilities.push(capability({ path: [] }))).toThrow(TypeError);
  });

  test("does not change with the ask it came from", () => {
    const asked = childAsk();
    const grant = derived(parent(), asked);
    asked.capabilities.push(capability({ namespace: "vault" }));
    expect(grant.capabilities).toHaveLength(1);
  });

  test("passes the chain check at the instant it is issued, and its parent's limits hold", async () => {
    const from = parent({ constraints: full });
    const { kernel } = world([from, derived(from, childAsk())]);
    expect(await kernel.authorize(context(), ask())).toEqual({
      allowed: true,
      reasonCode: "allowed",
      matchedGrantId: "child",
    });
    expect((await kernel.authorize(context({ purpose: "gossip" }), ask())).allowed).toBe(false);
    expect((await kernel.authorize(context({ now: "2026-01-02T00:00:00Z" }), ask())).allowed).toBe(false);
  });
});

function derived(from: Grant, asked: GrantInput, links?: number): Grant {
  const result = deriveGrant(from, asked, links);
  if (!result.ok) throw new Error(`The derivation was refused: ${result.reason}`);
  return result.grant;
}

/** `count` grants, each from Alice to Alice, derived from the one before. */
function descend(root: Grant, count: number): Grant {
  let last = root;
  for (let link = 1; link <= count; link += 1) last = derived(last, childAsk({ id: `link-${link}`, subject: alice }));
  return last;
}

describe("a chain of derivations", () => {
  const root = parent({ constraints: { delegationDepth: 100 } });

  test("has 16 links", async () => {
    const links: Grant[] = [root];
    for (let link = 1; link <= 15; link += 1) links.push(descend(root, link));
    const leaf = derived(descend(root, 15), childAsk({ id: "leaf" }));
    expect((await world([...links, leaf]).kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
  });

  test("has no 17th link", () => {
    expect(deriveGrant(descend(root, 16), childAsk())).toEqual({ ok: false, reason: "chain_too_long" });
  });

  for (const row of [
    { name: "out of a store can have 15 others above it", links: 15, expected: { ok: true } },
    {
      name: "out of a store cannot have 16 others above it",
      links: 16,
      expected: { ok: false, reason: "chain_too_long" },
    },
  ]) {
    test(`a parent ${row.name}`, () => {
      const stored = parent({ parentId: "root", constraints: { delegationDepth: 5 } });
      expect(deriveGrant(stored, childAsk(), row.links)).toMatchObject(row.expected);
    });
  }

  test("a derived parent out of a store counts as one link when no more is said", () => {
    const stored = parent({ parentId: "root", constraints: { delegationDepth: 100 } });
    expect(deriveGrant(descend(stored, 15), childAsk())).toEqual({ ok: false, reason: "chain_too_long" });
    expect(deriveGrant(descend(stored, 14), childAsk())).toMatchObject({ ok: true });
  });
});
