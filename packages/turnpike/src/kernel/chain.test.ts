import { describe, expect, test } from "vitest";
import {
  alice,
  ask,
  capability,
  child,
  context,
  grant,
  justAfter,
  justBefore,
  lineage,
  now,
  olivia,
  parent,
  stranger,
  untyped,
  world,
  type World,
} from "../../test/decisions.ts";
import { watched } from "../../test/watched-promise.ts";
import { memoryGrants } from "../testing/index.ts";
import type { Grant } from "../contracts/index.ts";
import type { GrantSource } from "./ports.ts";

/** What the caller and what the operator learn of the only grant there is. */
async function judge({ kernel }: World): Promise<{ reasonCode: string; chain: unknown }> {
  const { reasonCode } = await kernel.authorize(context(), ask());
  const { grants } = await kernel.explain(context(), ask());
  return { reasonCode, chain: grants[0]?.chain };
}

interface LinkRow {
  name: string;
  child?: Partial<Grant>;
  parent?: Partial<Grant>;
  /** The rule the link breaks; absent when the link holds. */
  rule?: string;
}

const bothDepths = (parentDepth: number | undefined, childDepth: number | undefined): Omit<LinkRow, "name"> => ({
  parent: { constraints: parentDepth === undefined ? {} : { delegationDepth: parentDepth } },
  child: { constraints: childDepth === undefined ? {} : { delegationDepth: childDepth } },
});

const bothConstraints = (ofParent: Grant["constraints"], ofChild: Grant["constraints"]): Omit<LinkRow, "name"> => ({
  parent: { constraints: { delegationDepth: 1, ...ofParent } },
  child: { constraints: ofChild },
});

const bothCapabilities = (
  ofParent: Grant["capabilities"],
  ofChild: Grant["capabilities"] = [capability()],
): Omit<LinkRow, "name"> => ({ parent: { capabilities: ofParent }, child: { capabilities: ofChild } });

const linkRows: LinkRow[] = [
  { name: "a parent that allows the same" },

  { name: "a parent issued to another subject", parent: { subject: stranger }, rule: "parent_not_held" },
  {
    name: "a parent issued to a namesake of another kind",
    parent: { subject: { kind: "agent", agentId: "alice" } },
    rule: "parent_not_held",
  },
  { name: "a parent issued by any issuer", parent: { issuer: stranger } },

  { name: "a parent with depth 1 and a child that says nothing", ...bothDepths(1, undefined) },
  { name: "a parent with depth 1 and a child with depth 0", ...bothDepths(1, 0) },
  { name: "a parent with depth 1 and a child with depth 1", ...bothDepths(1, 1), rule: "delegation_too_deep" },
  { name: "a parent with depth 2 and a child with depth 1", ...bothDepths(2, 1) },
  { name: "a parent with depth 2 and a child with depth 3", ...bothDepths(2, 3), rule: "delegation_too_deep" },
  { name: "a parent with depth 0", ...bothDepths(0, undefined), rule: "delegation_not_allowed" },
  { name: "a parent that says nothing of depth", ...bothDepths(undefined, 0), rule: "delegation_not_allowed" },

  { name: "a parent with counted uses", ...bothConstraints({ maxUses: 5 }, { maxUses: 1 }), rule: "parent_bounded" },
  { name: "a child with counted uses", ...bothConstraints({}, { maxUses: 1 }) },

  { name: "a parent that allows more actions", ...bothCapabilities([capability({ actions: ["read", "write"] })]) },
  {
    name: "a child that allows one more action",
    ...bothCapabilities([capability()], [capability({ actions: ["read", "write"] })]),
    rule: "capability_exceeds_parent",
  },
  { name: "a parent with the wildcard", ...bothCapabilities([capability({ actions: ["*"] })]) },
  {
    name: "a child with the wildcard",
    ...bothCapabilities([capability({ actions: ["read", "write"] })], [capability({ actions: ["*"] })]),
    rule: "capability_exceeds_parent",
  },
  { name: "a parent further up the path", ...bothCapabilities([capability({ path: [] })]) },
  {
    name: "a parent further down the path",
    ...bothCapabilities([capability({ path: ["reports", "q1"] })]),
    rule: "capability_exceeds_parent",
  },
  {
    name: "a parent that is exact where the child has descendants",
    ...bothCapabilities([capability({ scope: "exact" })]),
    rule: "capability_exceeds_parent",
  },
  {
    name: "a parent and a child that are both exact",
    ...bothCapabilities(
      [capability({ scope: "exact", path: ["reports", "q1"] })],
      [capability({ scope: "exact", path: ["reports", "q1"] })],
    ),
  },
  {
    name: "a child with a second capability that the parent lacks",
    ...bothCapabilities([capability()], [capability(), capability({ namespace: "mail" })]),
    rule: "capability_exceeds_parent",
  },
  {
    name: "a child whose capabilities fit into different ones of its parent",
    ...bothCapabilities(
      [capability({ namespace: "mail" }), capability()],
      [capability(), capability({ namespace: "mail" })],
    ),
  },
  {
    name: "a child whose capability only two of its parent's together would hold",
    ...bothCapabilities(
      [capability({ actions: ["read"] }), capability({ actions: ["write"] })],
      [capability({ actions: ["read", "write"] })],
    ),
    rule: "capability_exceeds_parent",
  },
  {
    name: "a child that names the owner its parent leaves open",
    ...bothCapabilities([capability()], [capability({ owner: olivia })]),
  },
  {
    name: "a child that leaves open the owner its parent names",
    ...bothCapabilities([capability({ owner: olivia })]),
    rule: "capability_exceeds_parent",
  },

  {
    name: "a child for fewer purposes",
    ...bothConstraints({ purposes: ["billing", "reporting"] }, { purposes: ["reporting"] }),
  },
  { name: "a child for some purposes of any", ...bothConstraints({}, { purposes: ["reporting"] }) },
  {
    name: "a child for one more purpose",
    ...bothConstraints({ purposes: ["reporting"] }, { purposes: ["reporting", "billing"] }),
    rule: "purposes_exceed_parent",
  },
  {
    name: "a child for any purpose of some",
    ...bothConstraints({ purposes: ["reporting"] }, {}),
    rule: "purposes_exceed_parent",
  },

  {
    name: "a child valid from the same instant",
    ...bothConstraints({ notBefore: justBefore }, { notBefore: justBefore }),
  },
  { name: "a child valid from later on", ...bothConstraints({ notBefore: justBefore }, { notBefore: now }) },
  {
    name: "a child valid from earlier on",
    ...bothConstraints({ notBefore: now }, { notBefore: justBefore }),
    rule: "window_exceeds_parent",
  },
  { name: "a child valid from ever", ...bothConstraints({ notBefore: now }, {}), rule: "window_exceeds_parent" },
  {
    name: "a child that expires at the same instant",
    ...bothConstraints({ expiresAt: justAfter }, { expiresAt: justAfter }),
  },
  {
    name: "a child that expires at the same instant in other words",
    ...bothConstraints({ expiresAt: "2026-01-01T13:00:00Z" }, { expiresAt: "2026-01-01T15:00:00+02:00" }),
  },
  {
    name: "a child that expires earlier",
    ...bothConstraints({ expiresAt: "2026-01-01T13:00:00Z" }, { expiresAt: justAfter }),
  },
  {
    name: "a child that expires later",
    ...bothConstraints({ expiresAt: justAfter }, { expiresAt: "2026-01-01T13:00:00Z" }),
    rule: "window_exceeds_parent",
  },
  {
    name: "a child that never expires",
    ...bothConstraints({ expiresAt: justAfter }, {}),
    rule: "window_exceeds_parent",
  },

  { name: "a parent issued at this instant", parent: { issuedAt: now } },
  { name: "a parent not issued yet", parent: { issuedAt: justAfter }, rule: "parent_inactive" },
  { name: "a parent not valid yet", ...bothConstraints({ notBefore: justAfter }, {}), rule: "parent_inactive" },
  {
    name: "a parent that expires at this instant",
    ...bothConstraints({ expiresAt: now }, {}),
    rule: "parent_inactive",
  },
  { name: "a parent revoked later", parent: { revokedAt: justAfter } },
  { name: "a parent revoked at this instant", parent: { revokedAt: now }, rule: "parent_inactive" },
  {
    name: "a parent for another purpose",
    ...bothConstraints({ purposes: ["billing"] }, { purposes: ["reporting"] }),
    rule: "parent_inactive",
  },
];

describe("a derived grant", () => {
  for (const { name, rule, ...row } of linkRows) {
    test(`is ${rule === undefined ? "valid" : "invalid"} with ${name}`, async () => {
      expect(await judge(world([child(row.child), parent(row.parent)]))).toEqual(
        rule === undefined
          ? { reasonCode: "allowed", chain: { kind: "valid", parents: ["parent"] } }
          : { reasonCode: "delegation_chain_invalid", chain: { kind: "invalid", parents: ["parent"], rule } },
      );
    });
  }

  test("is invalid without its parent", async () => {
    expect(await judge(world([child()]))).toEqual({
      reasonCode: "delegation_chain_invalid",
      chain: { kind: "invalid", parents: ["parent"], rule: "parent_missing" },
    });
  });

  test("is invalid with a parent of another tenant", async () => {
    const source: GrantSource = {
      load: () => Promise.resolve([child()]),
      find: () => Promise.resolve(parent({ namespaceId: "tenant-2" })),
    };
    expect(await judge(world(source))).toEqual({
      reasonCode: "delegation_chain_invalid",
      chain: { kind: "invalid", parents: ["parent"], rule: "parent_elsewhere" },
    });
  });

  test("becomes invalid at the instant in which its parent is revoked or narrowed, and valid again with it", async () => {
    const grants = memoryGrants([child(), parent()]);
    const { kernel } = world(grants);
    const reasons: string[] = [];
    const note = async (): Promise<void> => {
      reasons.push((await kernel.authorize(context(), ask())).reasonCode);
    };
    await note();
    grants.issue(parent({ capabilities: [capability({ path: ["reports", "q2"] })] }));
    await note();
    grants.issue(parent());
    await note();
    grants.revoke("tenant-1", "parent", now);
    await note();
    expect(reasons).toEqual(["allowed", "delegation_chain_invalid", "allowed", "delegation_chain_invalid"]);
  });
});

const load = (): Promise<Grant[]> => Promise.resolve([child()]);

describe("a parent in the same promise again", () => {
  test("is not waited for when it is frozen", async () => {
    const { promise, waits } = watched(Object.freeze(parent()));
    const { kernel } = world({ load, find: () => promise });
    await kernel.authorize(context(), ask());
    const waitedOnce = waits();
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
    expect(waitedOnce).toBeGreaterThan(0);
    expect(waits()).toBe(waitedOnce);
  });

  test("is read as it is each time when it is not frozen", async () => {
    const found = parent();
    const same = Promise.resolve(found);
    const { kernel } = world({ load, find: () => same });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    found.revokedAt = now;
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("delegation_chain_invalid");
  });

  test("is not taken for another grant", async () => {
    const same = Promise.resolve(Object.freeze(parent()));
    const held = [[child()], [child({ parentId: "another" })]];
    const { kernel } = world({ load: async () => held.shift() ?? [], find: () => same });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("delegation_chain_unverified");
  });
});

function loop(id: string, parentId: string): Grant {
  return parent({ id, issuer: alice, parentId, constraints: { delegationDepth: 5 } });
}

describe("a chain", () => {
  const middle = grant({
    id: "parent",
    subject: alice,
    issuer: alice,
    constraints: { delegationDepth: 1 },
    parentId: "root",
  });
  const root = parent({ id: "root", constraints: { delegationDepth: 2 } });
  for (const row of [
    {
      name: "is valid when every link is",
      root,
      reasonCode: "allowed",
      chain: { kind: "valid", parents: ["parent", "root"] },
    },
    {
      name: "falls with its root",
      root: { ...root, revokedAt: now },
      reasonCode: "delegation_chain_invalid",
      chain: { kind: "invalid", parents: ["parent", "root"], rule: "parent_inactive" },
    },
    {
      name: "falls when an upper link delegates too far",
      root: { ...root, constraints: { delegationDepth: 1 } },
      reasonCode: "delegation_chain_invalid",
      chain: { kind: "invalid", parents: ["parent", "root"], rule: "delegation_too_deep" },
    },
  ]) {
    test(`${row.name}`, async () => {
      const { reasonCode, chain } = row;
      expect(await judge(world([child(), middle, row.root]))).toEqual({ reasonCode, chain });
    });
  }

  test("of 16 links is valid", async () => {
    const { leaf, parents } = lineage(16);
    const ids = parents.map(({ id }) => id).toReversed();
    expect(await judge(world([leaf, ...parents]))).toEqual({
      reasonCode: "allowed",
      chain: { kind: "valid", parents: ids },
    });
  });

  test("of 17 links does not, although every link holds", async () => {
    const { leaf, parents } = lineage(17);
    const ids = parents.map(({ id }) => id).toReversed();
    expect(await judge(world([leaf, ...parents]))).toEqual({
      reasonCode: "delegation_chain_invalid",
      chain: { kind: "invalid", parents: ids.slice(0, 16), rule: "chain_too_long" },
    });
  });

  test("that leads back to its own beginning is invalid", async () => {
    const { reasonCode } = await judge(world([child(), loop("parent", "other"), loop("other", "parent")]));
    expect(reasonCode).toBe("delegation_chain_invalid");
  });

  test("of a grant that is its own parent is invalid", async () => {
    const { reasonCode } = await judge(world([child({ parentId: "child", constraints: { delegationDepth: 1 } })]));
    expect(reasonCode).toBe("delegation_chain_invalid");
  });

  test("that a lying source makes endless ends after 16 links", async () => {
    let asked = 0;
    const source: GrantSource = {
      load: () => Promise.resolve([child()]),
      find(_namespaceId, id) {
        asked += 1;
        return Promise.resolve(
          parent({ id, issuer: alice, parentId: "parent", constraints: { delegationDepth: asked } }),
        );
      },
    };
    expect((await world(source).kernel.authorize(context(), ask())).reasonCode).toBe("delegation_chain_invalid");
    expect(asked).toBe(16);
  });
});

describe("a chain is unverified when its parent", () => {
  const rows: { name: string; find?: (id: string) => unknown; parents?: string[] }[] = [
    { name: "cannot be asked for" },
    { name: "cannot be read", find: () => Promise.reject(new Error("down")) },
    {
      name: "makes the source throw",
      find: () => {
        throw new Error("down");
      },
    },
    { name: "comes back as another grant", find: () => parent({ id: "another" }) },
    { name: "comes back as null", find: () => null },
    { name: "comes back as nonsense", find: () => "parent" },
    { name: "does not fit the contract", find: () => ({ ...parent(), capabilities: [] }) },
    {
      name: "depends on one that cannot be read",
      find: (id) => (id === "parent" ? { ...parent(), parentId: "root" } : Promise.reject(new Error("down"))),
      parents: ["parent", "root"],
    },
  ];
  for (const { name, find, parents = ["parent"] } of rows) {
    test(`${name}`, async () => {
      const found = world(
        find === undefined ? { load } : { load, find: async (_namespaceId, id) => untyped<Grant>(await find(id)) },
      );
      expect(await judge(found)).toEqual({
        reasonCode: "delegation_chain_unverified",
        chain: { kind: "unverified", parents },
      });
      expect(found.portErrors[0]?.failure).toEqual({ port: "grants", id: parents.at(-1) });
    });
  }

  test("cannot be asked for, or comes back as another grant, in words to the operator", async () => {
    const find = (): Promise<Grant> => Promise.resolve(parent({ id: "another" }));
    const told = async (source: GrantSource): Promise<string | undefined> => {
      const found = world(source);
      await judge(found);
      return found.portErrors[0]?.message;
    };
    expect(await told({ load })).toBe("Error: The grant source cannot find grants by id.");
    expect(await told({ load, find })).toBe(
      "TypeError: The grant source found something that is not the grant asked for.",
    );
  });

  test("never shows the source's own words to the caller", async () => {
    const source: GrantSource = {
      load: () => Promise.resolve([child()]),
      find: () => Promise.reject(new Error("secret")),
    };
    expect(await world(source).kernel.authorize(context(), ask())).toEqual({
      allowed: false,
      reasonCode: "delegation_chain_unverified",
    });
  });
});

test("a parent is asked for in the child's namespace, with the caller's signal, and only when there is one", async () => {
  const asked: unknown[] = [];
  const held = memoryGrants([child(), parent(), grant({ capabilities: [capability({ namespace: "mail" })] })]);
  const { kernel } = world({
    load: (scope, signal) => held.load(scope, signal),
    find(namespaceId, id, signal) {
      asked.push([namespaceId, id, signal]);
      return held.find(namespaceId, id);
    },
  });
  const { signal } = new AbortController();
  await kernel.authorize(context(), ask({ namespace: "mail" }), { signal });
  expect(asked).toEqual([]);
  await kernel.authorize(context(), ask(), { signal });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toEqual(["tenant-1", "parent", expect.any(AbortSignal)]);
  expect((asked[0] as unknown[])[2]).toBe(signal);
});
