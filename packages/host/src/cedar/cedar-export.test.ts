import type { Capability, Constraints, Grant, PrincipalRef } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { cedarOf } from "./cedar-export.ts";

const alice: PrincipalRef = { kind: "human", userId: "alice" };
const assistant: PrincipalRef = { kind: "agent", agentId: "assistant" };

function capability({ path = ["notes"], ...changes }: Partial<Capability> & { path?: string[] } = {}): Capability {
  return { resource: { namespace: "files", path }, actions: ["read"], scope: "descendants", ...changes };
}

function grant(changes: Partial<Grant> = {}): Grant {
  return {
    id: "reads",
    namespaceId: "home",
    subject: assistant,
    issuer: alice,
    capabilities: [capability()],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
    ...changes,
  };
}

/** The policies and comments, without the head. */
function blocksOf(grants: readonly Grant[]): string[] {
  return cedarOf(grants).policies.trimEnd().split("\n\n").slice(1);
}

const plain = `@id("reads#1")
permit (
  principal == Agent::"assistant",
  action in [Action::"read"],
  resource in Place::"files/notes"
) when {
  context.authority in Human::"alice" &&
  context.now >= datetime("2026-01-01T00:00:00.000Z")
};`;

test("a grant is a policy for each of its capabilities", () => {
  const owner: PrincipalRef = { kind: "group", conversationId: "team" };
  const whole = capability({
    resource: { namespace: "files", path: [], owner },
    actions: ["read", "*"],
    scope: "exact",
  });
  const constraints: Constraints = { purposes: ["demo", "review"], expiresAt: "2026-02-01T01:00:00+01:00" };
  const { policies, count, leftOut } = cedarOf([grant({ capabilities: [capability(), whole], constraints })]);
  expect(policies.trimEnd().split("\n\n").slice(1)[1]).toBe(`@id("reads#2")
permit (
  principal == Agent::"assistant",
  action,
  resource == Place::"files"
) when {
  context.authority in Human::"alice" &&
  context.owner in Group::"team" &&
  ["demo", "review"].contains(context.purpose) &&
  context.now >= datetime("2026-01-01T00:00:00.000Z") &&
  context.now < datetime("2026-02-01T00:00:00.000Z")
};`);
  expect([count, leftOut]).toStrictEqual([2, []]);
});

test("policies are in the order of their holders and ids, so that a review sees what changed", () => {
  const grants = [grant({ id: "z" }), grant({ id: "a" }), grant({ id: "m", subject: alice })];
  const ids = (list: readonly Grant[]): string[] => blocksOf(list).map((block) => block.split("\n")[0] ?? "");
  expect(ids(grants)).toStrictEqual(['@id("a#1")', '@id("z#1")', '@id("m#1")']);
  expect(ids(grants.toReversed())).toStrictEqual(ids(grants));
});

test("no grants are no policies, and a schema without actions", () => {
  const { count, schema, entities } = cedarOf([]);
  expect([count, entities, schema.includes("action")]).toStrictEqual([0, [], false]);
});

test("the schema has all actions that grants name, and `*` where one of them is for every action", () => {
  const every = capability({ actions: ["*", "write"] });
  const guarded = capability({ actions: ["delete"], approval: "each" });
  const { schema } = cedarOf([grant({ capabilities: [every, capability(), guarded] })]);
  expect(schema).toContain(`action
  "*",
  "delete",
  "read",
  "write"
appliesTo {`);
});

test("the entities are the places that policies name with all above them, and the parties of their principals", () => {
  const { entities } = cedarOf([
    grant({ capabilities: [capability({ resource: { namespace: "a/b%", path: ["x", "y z"] } })] }),
  ]);
  const place = (id: string) => ({ type: "Place", id });
  expect(entities).toStrictEqual([
    { uid: place("a%2Fb%25"), attrs: {}, parents: [] },
    { uid: place("a%2Fb%25/x"), attrs: {}, parents: [place("a%2Fb%25")] },
    { uid: place("a%2Fb%25/x/y z"), attrs: {}, parents: [place("a%2Fb%25"), place("a%2Fb%25/x")] },
    { uid: { type: "Party", id: "human:alice" }, attrs: {}, parents: [{ type: "Human", id: "alice" }] },
  ]);
});

describe("a chain", () => {
  const parent = (changes: Partial<Grant>): Grant =>
    grant({ id: "parent", subject: alice, constraints: { delegationDepth: 1 }, ...changes });
  const child = grant({ id: "child", parentId: "parent" });

  test("is folded into the window of its last grant", () => {
    const top = parent({ issuedAt: "2026-01-02T00:00:00Z", revokedAt: "2026-01-03T00:00:00Z" });
    const [policy = ""] = blocksOf([child, top]);
    expect(policy.split("\n").slice(-4)).toStrictEqual([
      '  context.authority in Human::"alice" &&',
      '  context.now >= datetime("2026-01-02T00:00:00.000Z") &&',
      '  context.now < datetime("2026-01-03T00:00:00.000Z")',
      "};",
    ]);
  });

  test("that is broken gives no policy, as it gives nothing to anyone", () => {
    expect(blocksOf([child, parent({ constraints: {} })])).toHaveLength(1);
    expect(blocksOf([child])).toStrictEqual([]);
  });
});

describe("what Cedar has no words for", () => {
  const commented = (conditions: string): string =>
    [`"reads#1" is left out, because Cedar has no words for: ${conditions}.`, ...plain.split("\n")]
      .map((line) => `// ${line}`)
      .join("\n");

  for (const row of [
    { name: "an approval", changes: { capabilities: [capability({ approval: "each" })] }, conditions: ["approval"] },
    { name: "a count of uses", changes: { constraints: { maxUses: 2 } }, conditions: ["maxUses"] },
    {
      name: "both",
      changes: { capabilities: [capability({ approval: "each" })], constraints: { maxUses: 2 } },
      conditions: ["approval", "maxUses"],
    },
  ] as const)
    test(`${row.name} is a comment`, () => {
      const { capabilities, ...changes } = { capabilities: undefined, ...row.changes };
      const exported = cedarOf([grant({ ...changes, ...(capabilities && { capabilities: [...capabilities] }) })]);
      expect(exported.policies).toContain(commented(row.conditions.join(", ")));
      expect(exported.policies).not.toMatch(/^[^/\n]/m);
      expect(exported.leftOut).toStrictEqual(row.conditions.map((condition) => ({ grantId: "reads", condition })));
      expect([exported.count, exported.entities]).toStrictEqual([0, []]);
    });

  test("is left out of a grant whose other capabilities are policies", () => {
    const guarded = capability({ approval: "each", path: ["drafts"] });
    const { policies, count, leftOut } = cedarOf([grant({ capabilities: [capability(), guarded, guarded] })]);
    expect(policies).toContain(plain);
    expect([count, leftOut]).toStrictEqual([1, [{ grantId: "reads", condition: "approval" }]]);
  });

  test("are instants within a millisecond, which are never within the window of the policy", () => {
    const fine = grant({
      issuedAt: "2026-01-01T00:00:00.0005Z",
      constraints: { expiresAt: "2026-01-01T00:00:01.0005Z" },
    });
    const { policies, leftOut } = cedarOf([fine]);
    expect(policies).toContain('context.now >= datetime("2026-01-01T00:00:00.001Z") &&');
    expect(policies).toContain('context.now < datetime("2026-01-01T00:00:01.000Z")');
    expect(leftOut).toStrictEqual([
      { grantId: "reads", condition: "from finer than a millisecond" },
      { grantId: "reads", condition: "until finer than a millisecond" },
    ]);
  });

  test("are texts with half of a surrogate pair, whose comment does not repeat them", () => {
    const broken = grant({ id: "half\uD800", capabilities: [capability({ actions: ["read\uDC00"] })] });
    const { policies, schema, leftOut } = cedarOf([broken]);
    expect(policies).toContain(String.raw`// "half\u{d800}#1" is left out`);
    expect([policies, schema].join("")).not.toMatch(/\p{Cs}/u);
    expect(schema).not.toContain("read");
    expect(leftOut).toStrictEqual([{ grantId: "half\uD800", condition: "text that is not Unicode" }]);
  });
});

test("instants of years that Cedar does not read are written as distances from one that it does", () => {
  const { policies } = cedarOf([
    grant({ issuedAt: "0000-01-01T00:00:00Z", constraints: { expiresAt: "9999-12-31T23:59:59-23:00" } }),
  ]);
  expect(policies).toContain('context.now >= datetime("1970-01-01").offset(duration("-62167219200000ms"))');
  expect(policies).toContain('context.now < datetime("1970-01-01").offset(duration("253402383599000ms"))');
});

describe("a hostile name", () => {
  const hostile = 'x"\n}; permit (principal, action, resource);\r\u2028\u202E\\\0//';
  const written = String.raw`x\"\u{a}}; permit (principal, action, resource);\u{d}\u{2028}\u{202e}\\\u{0}//`;

  test("stays within its quotes, in policies and in the schema", () => {
    const { policies, schema } = cedarOf([
      grant({
        id: hostile,
        subject: { kind: "agent", agentId: hostile },
        capabilities: [capability({ actions: [hostile] })],
      }),
    ]);
    expect(policies).toContain(`@id("${written}#1")\npermit (\n  principal == Agent::"${written}",`);
    expect(policies).toContain(`  action in [Action::"${written}"],\n`);
    expect(schema).toContain(`action\n  "${written}"\nappliesTo`);
  });

  test("ends no comment", () => {
    const { policies } = cedarOf([grant({ id: hostile, constraints: { maxUses: 1 } })]);
    expect(policies.split("\n").filter((line) => line !== "" && !line.startsWith("// "))).toStrictEqual([]);
  });
});

test("grants of several tenants are refused", () => {
  expect(() => cedarOf([grant(), grant({ id: "other", namespaceId: "away" })])).toThrow(
    new TypeError("Expected grants of one tenant."),
  );
});
