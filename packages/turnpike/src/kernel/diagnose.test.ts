import { describe, expect, test } from "vitest";
import { ask, capability, child, context, grant, justAfter, now, stranger, world } from "../../test/decisions.ts";
import { memoryGrants, memoryResources, memoryUsage } from "../testing/index.ts";
import { AuditEventSchema, type Grant } from "../contracts/index.ts";
import { compileAuthority } from "./authority.ts";
import type { AdmittedAuthority, AuthorityView } from "./authority.ts";
import { instantOf } from "./candidates.ts";
import { decide } from "./decide.ts";
import { denialMetadata } from "./diagnose.ts";
import { peek } from "./spend.ts";

/** What the audit log says of a denied authorize, and what the caller got. */
async function denialIn(
  held: readonly Grant[],
  ports: Parameters<typeof world>[1] = {},
): Promise<{ metadata: unknown; answer: string }> {
  const { kernel, audit } = world(held, ports);
  const answer = await kernel.authorize(context(), ask());
  expect(answer.allowed).toBe(false);
  expect(audit.events).toHaveLength(1);
  expect(AuditEventSchema.safeParse(audit.events[0]).success).toBe(true);
  return { metadata: audit.events[0]?.metadata, answer: JSON.stringify(answer) };
}

describe("the audit log of a denial names the grant and that it", () => {
  const rows: {
    name: string;
    held: Partial<Grant>;
    failed: string;
    rule?: string;
    ports?: Parameters<typeof world>[1];
  }[] = [
    { name: "was not issued yet", held: { issuedAt: justAfter }, failed: "not-issued" },
    { name: "was not valid yet", held: { constraints: { notBefore: justAfter } }, failed: "not-yet-valid" },
    { name: "had expired", held: { constraints: { expiresAt: now } }, failed: "expired" },
    { name: "was revoked", held: { revokedAt: now }, failed: "revoked" },
    { name: "was for another purpose", held: { constraints: { purposes: ["billing"] } }, failed: "purpose" },
    {
      name: "was for another namespace",
      held: { capabilities: [capability({ namespace: "mail" })] },
      failed: "namespace",
    },
    { name: "was for another owner", held: { capabilities: [capability({ owner: stranger })] }, failed: "owner" },
    { name: "was for another action", held: { capabilities: [capability({ actions: ["write"] })] }, failed: "action" },
    { name: "was for another path", held: { capabilities: [capability({ path: ["other"] })] }, failed: "path" },
    {
      name: "came nearest with its second capability",
      held: { capabilities: [capability({ namespace: "mail" }), capability({ actions: ["write"] })] },
      failed: "action",
    },
    {
      name: "was revoked, whatever else it failed",
      held: { revokedAt: now, capabilities: [capability({ namespace: "mail" })] },
      failed: "revoked",
    },
    {
      name: "had a broken chain, and which rule broke",
      held: { parentId: "missing" },
      failed: "delegation_chain_invalid",
      rule: "parent_missing",
    },
    {
      name: "had no use left",
      held: { constraints: { maxUses: 1 } },
      failed: "grant_exhausted",
      ports: { usage: { used: () => Promise.resolve(1), consume: () => Promise.resolve(false) } },
    },
    {
      name: "had uses that could not be counted",
      held: { constraints: { maxUses: 1 } },
      failed: "usage_store_unavailable",
      ports: { usage: "none" },
    },
    {
      name: "was refused by the policy",
      held: {},
      failed: "host_policy_denied",
      ports: { policy: { narrow: () => ({}) } },
    },
    {
      name: "met a policy that failed",
      held: {},
      failed: "host_policy_unavailable",
      ports: {
        policy: {
          narrow() {
            throw new Error("broken");
          },
        },
      },
    },
  ];
  for (const { name, held, failed, rule, ports } of rows) {
    test(`${name}`, async () => {
      const { metadata, answer } = await denialIn([grant({ id: "a-secret-id", ...held })], ports);
      expect(metadata).toEqual({ grants: [{ grantId: "a-secret-id", failed, ...(rule && { rule }) }] });
      expect(answer).not.toContain("a-secret-id");
    });
  }

  test("had a chain that could not be read", async () => {
    const { kernel, audit } = world({ load: () => Promise.resolve([child()]) });
    await kernel.authorize(context(), ask());
    expect(audit.events[0]?.metadata).toEqual({
      grants: [{ grantId: "child", failed: "delegation_chain_unverified" }],
    });
  });
});

describe("the audit log of a denial", () => {
  test("names each grant, those that covered the act first", async () => {
    const usage = memoryUsage();
    await usage.consume("tenant-1", "spent", 1);
    const held = [grant({ id: "spent", constraints: { maxUses: 1 } }), grant({ id: "revoked", revokedAt: now })];
    expect((await denialIn(held, { usage })).metadata).toEqual({
      grants: [
        { grantId: "spent", failed: "grant_exhausted" },
        { grantId: "revoked", failed: "revoked" },
      ],
    });
  });

  for (const row of [
    { count: 32, omitted: undefined },
    { count: 33, omitted: 1 },
    { count: 100, omitted: 68 },
  ]) {
    test(`of ${row.count} grants names ${Math.min(row.count, 32)} and says how many more there were`, async () => {
      const held = Array.from({ length: row.count }, (_, place) => grant({ id: `grant-${place}`, revokedAt: now }));
      expect((await denialIn(held)).metadata).toEqual({
        grants: held.slice(0, 32).map(({ id }) => ({ grantId: id, failed: "revoked" })),
        ...(row.omitted !== undefined && { omitted: row.omitted }),
      });
    });
  }

  test("of an execution says the same, and its caller sees nothing of it", async () => {
    const { kernel, audit } = world([grant({ id: "a-secret-id", revokedAt: now })], {
      resources: [memoryResources("documents")],
    });
    const result = await kernel.invokeResource(context(), { operationId: "operation-1", ...ask() });
    expect(result).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
    expect(JSON.stringify(result)).not.toContain("a-secret-id");
    const decision = audit.events.find(({ type }) => type === "authorization.checked");
    expect(decision?.metadata).toEqual({ grants: [{ grantId: "a-secret-id", failed: "revoked" }] });
  });

  test("is not there for an allowed act", async () => {
    const { kernel, audit } = world([grant(), grant({ id: "revoked", revokedAt: now })]);
    await kernel.authorize(context(), ask());
    expect(audit.events[0]).not.toHaveProperty("metadata");
  });

  test("has the policy's own metadata for the caller", async () => {
    const { metadata, answer } = await denialIn([grant()], {
      policy: { narrow: () => ({ metadata: { rule: "closed" } }) },
    });
    expect(metadata).toEqual({ grants: [{ grantId: "grant-1", failed: "host_policy_denied" }] });
    expect(answer).toContain("closed");
  });
});

function admittedWith(held: readonly Grant[]): AdmittedAuthority {
  return { authority: compileAuthority(held), instant: instantOf(context()), excluded: new Set() };
}

/** What the audit log would say of a denial over these grants. */
async function metadataOf(
  view: AuthorityView,
  { usage = memoryUsage(), reason = "no_matching_grant" } = {},
): Promise<unknown> {
  const asked = { view, context: context(), request: ask(), instant: instantOf(context()) };
  const ports = { grants: memoryGrants(), usage, audit: "none" } as const;
  const decision = await decide({ ...asked, ports, spend: peek, signal: new AbortController().signal });
  expect(decision).toMatchObject({ kind: "deny", reason });
  return denialMetadata(view, context(), ask(), decision);
}

describe("inside a turn, the audit log of a denial names the grant and that it", () => {
  test("was issued after admission", async () => {
    const view = { current: compileAuthority([grant()]), admitted: admittedWith([grant({ id: "other" })]) };
    expect(await metadataOf(view)).toEqual({ grants: [{ grantId: "grant-1", failed: "not-admitted" }] });
  });

  test("was wider now than at admission", async () => {
    const before = grant({ capabilities: [capability({ path: ["other"] })] });
    const view = { current: compileAuthority([grant()]), admitted: admittedWith([before]) };
    expect(await metadataOf(view)).toEqual({ grants: [{ grantId: "grant-1", failed: expect.any(String) }] });
  });

  test("has no use left of those at admission, once, though it has more now", async () => {
    const [usage, reason] = [memoryUsage(), "grant_exhausted"];
    await usage.consume("tenant-1", "grant-1", 1);
    const counted = (maxUses: number): Grant => grant({ constraints: { maxUses } });
    const view = { current: compileAuthority([counted(5)]), admitted: admittedWith([counted(1)]) };
    expect(await metadataOf(view, { usage, reason })).toEqual({ grants: [{ grantId: "grant-1", failed: reason }] });
  });

  test("was revoked since admission", async () => {
    const view = { current: compileAuthority([grant({ revokedAt: now })]), admitted: admittedWith([grant()]) };
    expect(await metadataOf(view)).toEqual({ grants: [{ grantId: "grant-1", failed: "revoked" }] });
  });

  test("is gone since admission by not naming it", async () => {
    const view = { current: compileAuthority([]), admitted: admittedWith([grant()]) };
    expect(await metadataOf(view)).toEqual({ grants: [] });
  });
});
