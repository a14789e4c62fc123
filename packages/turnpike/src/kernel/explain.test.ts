import { describe, expect, test } from "vitest";
import {
  ask,
  capability,
  child,
  context,
  contextWithoutAuthority,
  grant,
  justAfter,
  now,
  parent,
  stranger,
  untyped,
  world,
} from "../../test/decisions.ts";
import { memoryUsage } from "../testing/index.ts";
import type { AccessContext } from "../contracts/index.ts";
import type { HostPolicy } from "./ports.ts";

describe("an explanation", () => {
  test("names each grant in the order in which it is tried, and what it failed first", async () => {
    const usage = memoryUsage();
    await usage.consume("tenant-1", "spent", 1);
    const held = [
      grant({ id: "spent", constraints: { maxUses: 1 } }),
      grant({ id: "later", issuedAt: justAfter }),
      grant({ id: "early", constraints: { notBefore: justAfter } }),
      grant({ id: "expired", constraints: { expiresAt: now } }),
      grant({ id: "revoked", revokedAt: now }),
      grant({ id: "other-purpose", constraints: { purposes: ["billing"] } }),
      grant({ id: "other-namespace", capabilities: [capability({ namespace: "mail" })] }),
      grant({ id: "other-owner", capabilities: [capability({ owner: stranger })] }),
      grant({ id: "other-action", capabilities: [capability({ actions: ["write"] })] }),
      grant({ id: "other-path", capabilities: [capability({ path: ["other"] })] }),
      child({ id: "orphan", parentId: "missing" }),
    ];
    expect(await world(held, { usage }).kernel.explain(context(), ask())).toEqual({
      decision: { allowed: false, reasonCode: "delegation_chain_invalid" },
      grants: [
        { grantId: "later", failed: "not-issued" },
        { grantId: "early", failed: "not-yet-valid" },
        { grantId: "expired", failed: "expired" },
        { grantId: "revoked", failed: "revoked" },
        { grantId: "other-purpose", failed: "purpose" },
        { grantId: "other-namespace", failed: "namespace" },
        { grantId: "other-owner", failed: "owner" },
        { grantId: "other-action", failed: "action" },
        { grantId: "other-path", failed: "path" },
        {
          grantId: "orphan",
          failed: "delegation_chain_invalid",
          chain: { kind: "invalid", parents: ["missing"], rule: "parent_missing" },
        },
        { grantId: "spent", failed: "grant_exhausted" },
      ],
      policy: "kept",
    });
  });

  test("of an allowed act names the grant that carried it, and finds no fault with those never needed", async () => {
    const held = [
      grant({ id: "unneeded", constraints: { maxUses: 1 } }),
      child(),
      parent(),
      grant({ id: "revoked", revokedAt: now }),
    ];
    expect(await world(held).kernel.explain(context(), ask())).toEqual({
      decision: { allowed: true, reasonCode: "allowed", matchedGrantId: "child" },
      grants: [
        { grantId: "child", chain: { kind: "valid", parents: ["parent"] } },
        { grantId: "revoked", failed: "revoked" },
        { grantId: "unneeded" },
      ],
      policy: "kept",
    });
  });

  const policies: { name: string; policy?: HostPolicy; reasonCode: string; said: string }[] = [
    { name: "was not asked when there is none and none was needed", reasonCode: "allowed", said: "not-asked" },
    { name: "left the decision as it was", policy: { narrow: () => undefined }, reasonCode: "allowed", said: "kept" },
    {
      name: "denied",
      policy: { narrow: () => ({ metadata: { rule: 1 } }) },
      reasonCode: "host_policy_denied",
      said: "denied",
    },
    {
      name: "was unavailable",
      policy: { narrow: () => untyped(7) },
      reasonCode: "host_policy_unavailable",
      said: "unavailable",
    },
  ];
  for (const { name, policy, reasonCode, said } of policies) {
    test(`says that the policy ${name}`, async () => {
      const { kernel } = world([grant()], policy && { policy });
      const explanation = await kernel.explain(context(), ask());
      expect(explanation.decision.reasonCode).toBe(reasonCode);
      expect(explanation.policy).toBe(said);
      expect(explanation.grants).toEqual([
        { grantId: "grant-1", ...(reasonCode !== "allowed" && { failed: reasonCode }) },
      ]);
    });
  }

  test("is not asked of the policy when no grant covers the act", async () => {
    const { kernel } = world([], { policy: { narrow: () => ({}) } });
    expect(await kernel.explain(context(), ask())).toEqual({
      decision: { allowed: false, reasonCode: "no_matching_grant" },
      grants: [],
      policy: "not-asked",
    });
  });

  const unexplained: { name: string; asking: unknown; request?: unknown; reasonCode: string; down?: boolean }[] = [
    { name: "a context without authority", asking: contextWithoutAuthority(), reasonCode: "invalid_context" },
    {
      name: "a request that does not fit",
      asking: context(),
      request: ask({ path: [".."] }),
      reasonCode: "invalid_request",
    },
    { name: "another owner", asking: context(), request: ask({ owner: stranger }), reasonCode: "invalid_request" },
    { name: "grants that cannot be read", asking: context(), reasonCode: "authority_unavailable", down: true },
  ];
  for (const { name, asking, request = ask(), reasonCode, down } of unexplained) {
    test(`of ${name} is only its reason`, async () => {
      const { kernel } = world(down ? { load: () => Promise.reject(new Error("down")) } : [grant()]);
      expect(await kernel.explain(untyped<AccessContext>(asking), untyped(request))).toEqual({
        decision: { allowed: false, reasonCode },
        grants: [],
        policy: "not-asked",
      });
    });
  }

  test("consumes nothing and records nothing", async () => {
    const { kernel, usage, audit } = world([grant({ constraints: { maxUses: 1 } })]);
    expect((await kernel.explain(context(), ask())).decision.allowed).toBe(true);
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
    expect(audit.events).toEqual([]);
  });

  test("decides as authorize does", async () => {
    for (const held of [[], [grant()], [child()], [child(), parent()], [grant({ revokedAt: now })]]) {
      const { kernel } = world(held);
      const { allowed, reasonCode, matchedGrantId } = await kernel.authorize(context(), ask());
      expect((await kernel.explain(context(), ask())).decision).toEqual({
        allowed,
        reasonCode,
        ...(matchedGrantId !== undefined && { matchedGrantId }),
      });
    }
  });

  test("rejects with the signal's own reason when it was aborted", async () => {
    const reason = new Error("the caller left");
    const { kernel } = world([grant()]);
    await expect(kernel.explain(context(), ask(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
