import { describe, expect, test } from "vitest";
import type { AuditEvent, Capability, Grant, PrincipalRef } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { bob, officeTime, openOffice, type Office, type OfficeOptions, type Refusal } from "../../../test/office.ts";
import { alice, assistant, auditEvent, context, grant } from "../../../test/records.ts";

interface Explained {
  decision: { allowed: boolean; reasonCode: string; matchedGrantId?: string };
  access: { actor: PrincipalRef; owner: PrincipalRef; authority: PrincipalRef };
  request?: object;
  policy: string;
  grants: { grant: Grant; failed?: string; rule?: string }[];
  recorded?: AuditEvent;
  suggestion?: Omit<Grant, "id" | "issuedAt">;
  obstacle?: string;
}

const path = "/admin/v1/explanations";
const denialPath = "/admin/v1/explanations/denial";

/** What the assistant would do, on Alice's authority, with what is hers. */
const act = {
  actor: assistant,
  owner: alice,
  authority: alice,
  purpose: "support",
  action: "read",
  resource: { namespace: "files", path: ["notes", "today"] },
};

async function explain({ post }: Office, body: object, at = path): Promise<Explained> {
  const { status, body: explained } = await post<Explained>(at, body);
  expect(status).toBe(200);
  return explained;
}

/** Each grant that was read, with the first thing it lacks. */
function failuresOf({ grants }: Explained): Record<string, string | undefined> {
  return Object.fromEntries(grants.map(({ grant: { id }, failed, rule }) => [id, rule ?? failed]));
}

describe.each(databaseKinds)("explanations for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (options?: OfficeOptions): Promise<Office> => openOffice(await open(), options);

  test("an act that is allowed names the grant that carries it, and suggests nothing", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const held = grant("grant-1", { namespaceId });
    await adminApi.stores.grants.issue(held);
    const { actor, owner, authority, purpose, action, resource } = act;
    expect(await explain(adminApi, { namespaceId, ...act })).toEqual({
      decision: { allowed: true, reasonCode: "allowed", matchedGrantId: "grant-1" },
      access: { namespaceId, actor, owner, authority, purpose },
      request: { action, resource },
      policy: "not-asked",
      grants: [{ grant: held }],
    });
  });

  test("an act that is denied names every grant that was read and the first condition it fails", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const [first] = grant("any").capabilities;
    const place = { namespace: "files", path: ["letters"] };
    const held = [
      grant("another-action", {
        capabilities: [{ resource: { namespace: "files", path: ["notes"] }, actions: ["list"], scope: "descendants" }],
      }),
      grant("another-path", { capabilities: [{ resource: place, actions: ["read"], scope: "descendants" }] }),
      grant("another-purpose", { constraints: { purposes: ["billing"] } }),
      grant("another-owner", {
        capabilities: [
          { resource: { namespace: "files", path: ["notes"], owner: bob }, actions: ["read"], scope: "descendants" },
        ],
      }),
      grant("expired", { constraints: { expiresAt: officeTime } }),
      grant("future", { issuedAt: "2026-01-01T12:00:00.001Z" }),
      grant("orphan", { parentId: "nowhere" }),
      grant("revoked", { revokedAt: officeTime }),
      grant("spent", { constraints: { maxUses: 1 } }),
    ];
    for (const one of held) await adminApi.stores.grants.issue({ ...one, namespaceId });
    await adminApi.stores.grants.issue(
      grant("not-hers", { namespaceId, issuer: bob, capabilities: first ? [first] : [] }),
    );
    await adminApi.stores.usage.consume(namespaceId, "spent", 1);
    const explained = await explain(adminApi, { namespaceId, ...act });
    expect(explained.decision).toEqual({ allowed: false, reasonCode: "delegation_chain_invalid" });
    expect(failuresOf(explained)).toEqual({
      "another-action": "action",
      "another-path": "path",
      "another-purpose": "purpose",
      "another-owner": "owner",
      expired: "expired",
      future: "not-issued",
      orphan: "parent_missing",
      revoked: "revoked",
      spent: "grant_exhausted",
    });
  });

  test("who says nothing of owner and authority asks for the actor's own", async () => {
    const { owner: _owner, authority: _authority, ...asked } = act;
    const { access } = await explain(await office(), { namespaceId: newTenant(), ...asked });
    expect(access).toMatchObject({ actor: assistant, owner: assistant, authority: assistant });
    const ofBob = await explain(await office(), { namespaceId: newTenant(), ...asked, owner: bob });
    expect(ofBob.access).toMatchObject({ actor: assistant, owner: bob, authority: bob });
  });

  test("the host's policy has its word in it", async () => {
    const adminApi = await office({ kernel: { policy: { narrow: () => ({ metadata: { why: "holiday" } }) } } });
    const namespaceId = newTenant();
    await adminApi.stores.grants.issue(grant("grant-1", { namespaceId }));
    const explained = await explain(adminApi, { namespaceId, ...act });
    expect([explained.decision.reasonCode, explained.policy, failuresOf(explained)]).toEqual([
      "host_policy_denied",
      "denied",
      { "grant-1": "host_policy_denied" },
    ]);
  });

  test("explaining takes no use and leaves no trace", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await adminApi.stores.grants.issue(grant("once", { namespaceId, constraints: { maxUses: 1 } }));
    for (let time = 0; time < 3; time += 1)
      expect((await explain(adminApi, { namespaceId, ...act })).decision.allowed).toBe(true);
    expect(await adminApi.stores.usage.used(namespaceId, "once")).toBe(0);
    expect(await adminApi.stores.audit.list(namespaceId, { limit: 9 })).toEqual([]);
  });

  describe("at another instant", () => {
    const [before, between, after] = ["2026-01-01T10:30:00Z", "2026-01-01T11:30:00Z", "2026-01-01T13:00:00Z"];
    const rows: { name: string; held: Partial<Grant>; isRevoked?: boolean; allowed: [boolean, boolean, boolean] }[] = [
      {
        name: "has expired since",
        held: { constraints: { expiresAt: "2026-01-01T11:00:00Z" } },
        allowed: [true, false, false],
      },
      {
        name: "had not begun",
        held: { constraints: { notBefore: "2026-01-01T11:00:00Z" } },
        allowed: [false, true, true],
      },
      { name: "had not been issued", held: { issuedAt: "2026-01-01T11:00:00Z" }, allowed: [false, true, true] },
      {
        name: "will have expired",
        held: { constraints: { expiresAt: "2026-01-01T12:30:00Z" } },
        allowed: [true, true, false],
      },
      { name: "was revoked since", held: {}, isRevoked: true, allowed: [true, false, false] },
    ];
    for (const { name, held, isRevoked, allowed } of rows) {
      test(`a grant that ${name} counts as it did or will then`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const { grants } = adminApi.stores;
        await grants.issue(grant("grant-1", { namespaceId, ...held }));
        if (isRevoked === true) await grants.revoke(namespaceId, "grant-1", "2026-01-01T11:00:00Z");
        const seen = [];
        for (const at of [before, between, after])
          seen.push((await explain(adminApi, { namespaceId, ...act, at })).decision.allowed);
        expect(seen).toEqual(allowed);
      });
    }

    test("a grant counts only while the one that it was derived from had not been revoked", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const { grants } = adminApi.stores;
      await grants.issue(grant("parent", { namespaceId, subject: alice, constraints: { delegationDepth: 1 } }));
      await grants.issue(grant("child", { namespaceId, parentId: "parent" }));
      await grants.revoke(namespaceId, "parent", "2026-01-01T11:00:00Z");
      const reasons = [];
      for (const at of [before, between, after])
        reasons.push((await explain(adminApi, { namespaceId, ...act, at })).decision.reasonCode);
      expect(reasons).toEqual(["allowed", "delegation_chain_invalid", "delegation_chain_invalid"]);
    });

    test("what was revoked stays so, although the clock that revoked it was ahead", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await adminApi.stores.grants.issue(grant("grant-1", { namespaceId }));
      await adminApi.stores.grants.revoke(namespaceId, "grant-1", "2026-01-01T14:00:00Z");
      for (const at of [officeTime, after])
        expect((await explain(adminApi, { namespaceId, ...act, at })).decision.allowed).toBe(false);
    });

    test("a denial that is over gets no suggestion, and one to come does", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      expect(await explain(adminApi, { namespaceId, ...act, at: before })).not.toHaveProperty("suggestion");
      expect(await explain(adminApi, { namespaceId, ...act, at: after })).toHaveProperty("suggestion");
    });

    test("explaining the past takes no use and leaves no trace", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await adminApi.stores.grants.issue(grant("once", { namespaceId, constraints: { maxUses: 1 } }));
      expect((await explain(adminApi, { namespaceId, ...act, at: before })).decision.allowed).toBe(true);
      expect(await adminApi.stores.usage.used(namespaceId, "once")).toBe(0);
      expect(await adminApi.stores.audit.list(namespaceId, { limit: 9 })).toEqual([]);
    });
  });

  describe("the suggestion", () => {
    const wide: Capability = {
      resource: { namespace: "files", path: ["notes"] },
      actions: ["read"],
      scope: "descendants",
    };
    const rows: { name: string; held: Grant[]; isSpent?: boolean }[] = [
      { name: "nothing was granted", held: [] },
      { name: "a grant was revoked", held: [grant("old", { revokedAt: officeTime })] },
      { name: "a grant was used up", held: [grant("old", { constraints: { maxUses: 1 } })], isSpent: true },
      { name: "a chain is broken", held: [grant("old", { parentId: "nowhere", capabilities: [wide] })] },
    ];
    for (const { name, held, isSpent } of rows) {
      test(`is a grant that allows exactly this when ${name}`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        for (const one of held) await adminApi.stores.grants.issue({ ...one, namespaceId });
        if (isSpent === true) await adminApi.stores.usage.consume(namespaceId, "old", 1);
        const { suggestion } = await explain(adminApi, { namespaceId, ...act });
        expect(suggestion).toEqual({
          namespaceId,
          subject: assistant,
          issuer: alice,
          capabilities: [
            {
              resource: { namespace: "files", path: ["notes", "today"], owner: alice },
              actions: ["read"],
              scope: "exact",
            },
          ],
          constraints: { purposes: ["support"] },
        });
        const issued = { ...suggestion, id: "suggested", issuedAt: officeTime };
        expect((await adminApi.post("/admin/v1/grants", issued)).status).toBe(201);
        const again = await explain(adminApi, { namespaceId, ...act });
        expect(again.decision).toMatchObject({ allowed: true, matchedGrantId: "suggested" });
        for (const other of [
          { resource: { namespace: "files", path: ["notes", "today", "below"] } },
          { resource: { namespace: "files", path: ["notes"] } },
          { action: "list" },
          { purpose: "billing" },
          { owner: bob, authority: alice },
        ]) {
          expect((await explain(adminApi, { namespaceId, ...act, ...other })).decision.allowed).toBe(false);
        }
      });
    }

    /** What Bob holds of what is Alice's. */
    const held = grant("held", {
      subject: bob,
      constraints: { delegationDepth: 2, expiresAt: "2026-06-01T00:00:00Z", purposes: ["support", "billing"] },
    });
    const onBobs = { ...act, authority: bob };

    test("is passed on from what its issuer holds, when they do not own the place", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await adminApi.stores.grants.issue({ ...held, namespaceId });
      const { suggestion, obstacle } = await explain(adminApi, { namespaceId, ...onBobs });
      const capability = { resource: { ...act.resource, owner: alice }, actions: ["read"], scope: "exact" };
      expect([suggestion, obstacle]).toEqual([
        {
          namespaceId,
          subject: assistant,
          issuer: bob,
          parentId: "held",
          capabilities: [capability],
          constraints: { delegationDepth: 0, expiresAt: "2026-06-01T00:00:00Z", purposes: ["support"] },
        },
        undefined,
      ]);
      const issued = { ...suggestion, id: "suggested", issuedAt: officeTime };
      expect((await adminApi.post("/admin/v1/grants", issued)).status).toBe(201);
      const again = await explain(adminApi, { namespaceId, ...onBobs });
      expect(again.decision).toMatchObject({ allowed: true, matchedGrantId: "suggested" });
      for (const other of [{ purpose: "billing" }, { owner: bob }, { authority: alice }])
        expect((await explain(adminApi, { namespaceId, ...onBobs, ...other })).decision.allowed).toBe(false);
    });

    const elsewhere = { resource: { namespace: "files", path: ["letters"] }, actions: ["read"], scope: "descendants" };
    const delegable = { delegationDepth: 2 };
    const hopeless: { name: string; held: Grant[] }[] = [
      { name: "hold nothing", held: [] },
      { name: "may not pass it on", held: [{ ...held, constraints: {} }] },
      { name: "may use it so many times", held: [{ ...held, constraints: { ...delegable, maxUses: 5 } }] },
      {
        name: "may do it for something else",
        held: [{ ...held, constraints: { ...delegable, purposes: ["billing"] } }],
      },
      { name: "hold another place", held: [{ ...held, capabilities: [elsewhere as Capability] }] },
      { name: "held it once", held: [{ ...held, revokedAt: officeTime }] },
      { name: "hold it by a chain that is broken", held: [{ ...held, issuer: assistant, parentId: "nowhere" }] },
      {
        name: "hold it at the end of the longest chain",
        held: Array.from({ length: 17 }, (_, place) => ({
          ...held,
          id: `link-${place}`,
          issuer: place === 0 ? alice : assistant,
          subject: place === 16 ? bob : assistant,
          constraints: { delegationDepth: 20 - place },
          ...(place > 0 && { parentId: `link-${place - 1}` }),
        })),
      },
    ];
    for (const row of hopeless) {
      test(`is never a new grant from an operator who does not own the place, when they ${row.name}`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        for (const one of row.held) await adminApi.stores.grants.issue({ ...one, namespaceId });
        const { suggestion, obstacle, decision } = await explain(adminApi, { namespaceId, ...onBobs });
        expect(decision.allowed).toBe(false);
        expect(suggestion).toBeUndefined();
        expect(obstacle).toBe(
          "human:bob cannot grant this: it is human:alice's, and human:bob holds no grant for it that may be passed on. " +
            "human:alice has to grant it to human:bob first, to be passed on (a delegation depth of at least 1), " +
            "or to agent:assistant, who then acts on the authority of human:alice.",
        );
      });
    }

    test("is not made for every action at once: that would be more than one act", async () => {
      const explained = await explain(await office(), { namespaceId: newTenant(), ...act, action: "*" });
      expect(explained.decision.allowed).toBe(false);
      expect(explained).not.toHaveProperty("suggestion");
    });

    const useless: { name: string; options?: OfficeOptions; changes?: object; reasonCode: string }[] = [
      {
        name: "the host's policy refuses",
        options: { kernel: { policy: { narrow: () => ({}) } } },
        reasonCode: "host_policy_denied",
      },
      {
        name: "the grants cannot be read",
        options: { kernel: { grants: { load: () => Promise.reject(new Error("down")) } } },
        reasonCode: "authority_unavailable",
      },
      {
        name: "the place is another owner's than the one who is acted for",
        changes: { resource: { namespace: "files", path: ["notes", "today"], owner: bob } },
        reasonCode: "invalid_request",
      },
    ];
    for (const { name, options, changes, reasonCode } of useless) {
      test(`is not made when ${name}: no grant would change that`, async () => {
        const adminApi = await office(options);
        const namespaceId = newTenant();
        await adminApi.stores.grants.issue(grant("grant-1", { namespaceId }));
        const explained = await explain(adminApi, { namespaceId, ...act, ...changes });
        expect(explained.decision).toEqual({ allowed: false, reasonCode });
        expect(explained).not.toHaveProperty("suggestion");
      });
    }
  });

  describe("of a trace", () => {
    const resource = { namespace: "files", path: ["diary"] };
    const denied: Partial<AuditEvent> = {
      type: "authorization.checked",
      outcome: "denied",
      reason: "no_matching_grant",
    };

    test("the last denial is explained, with what was recorded of it and how it would be decided now", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const own = context({ namespaceId, traceId: "trace-7" });
      await adminApi.kernel.authorize(own, { action: "read", resource: { namespace: "files", path: ["letters"] } });
      await adminApi.kernel.authorize(own, { action: "read", resource });
      await adminApi.kernel.authorize({ ...own, traceId: "trace-8" }, { action: "list", resource });
      const explained = await explain(adminApi, { namespaceId, traceId: "trace-7" }, denialPath);
      expect(explained).toMatchObject({
        decision: { allowed: false, reasonCode: "no_matching_grant" },
        access: { namespaceId, actor: assistant, owner: alice, authority: alice, purpose: "support" },
        request: { action: "read", resource },
        recorded: { type: "authorization.checked", traceId: "trace-7", resource },
        suggestion: { capabilities: [{ actions: ["read"] }] },
      });
      await adminApi.stores.grants.issue({ ...(explained.suggestion as Grant), id: "now", issuedAt: officeTime });
      const again = await explain(adminApi, { namespaceId, traceId: "trace-7" }, denialPath);
      expect(again.decision).toEqual({ allowed: true, reasonCode: "allowed", matchedGrantId: "now" });
      expect(again.recorded).toMatchObject({ outcome: "denied", reason: "no_matching_grant" });
    });

    test("the decision is explained and not the outcome that followed it", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const events = [
        auditEvent("other", { ...denied, operationId: "call-1", resource, action: "list" }),
        auditEvent("decision", { ...denied, operationId: "call-2", resource, action: "read" }),
        auditEvent("outcome", { outcome: "denied", operationId: "call-2", reason: "no_matching_grant" }),
      ];
      for (const event of events) await adminApi.stores.audit.record({ ...event, namespaceId });
      const { recorded } = await explain(adminApi, { namespaceId, traceId: "trace-1" }, denialPath);
      expect(recorded?.id).toBe("decision");
    });

    test("a call of a tool that is not visible has no decision, and is shown as it was recorded", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const events = [
        auditEvent("decision", { ...denied, operationId: "call-1", resource, action: "read" }),
        auditEvent("hidden", {
          outcome: "denied",
          operationId: "call-2",
          tool: "files.read",
          reason: "tool_unavailable",
        }),
      ];
      for (const event of events) await adminApi.stores.audit.record({ ...event, namespaceId });
      const explained = await explain(adminApi, { namespaceId, traceId: "trace-1" }, denialPath);
      expect(explained).toMatchObject({
        decision: { allowed: false, reasonCode: "tool_unavailable" },
        recorded: { id: "hidden" },
        grants: [],
      });
      expect(explained).not.toHaveProperty("suggestion");
    });

    test("several principals were denied in, one has to be named", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const own = context({ namespaceId, traceId: "trace-1" });
      await adminApi.kernel.authorize(own, { action: "read", resource });
      await adminApi.kernel.authorize({ ...own, actor: alice }, { action: "delete", resource });
      const unclear = await adminApi.post<Refusal>(denialPath, { namespaceId, traceId: "trace-1" });
      expect([unclear.status, unclear.body.error.code]).toEqual([409, "conflict"]);
      const named = await explain(adminApi, { namespaceId, traceId: "trace-1", actor: assistant }, denialPath);
      expect(named).toMatchObject({ access: { actor: assistant }, request: { action: "read" } });
    });

    const nothing: { name: string; traceId: string }[] = [
      { name: "is unknown", traceId: "trace-9" },
      { name: "has allowed acts alone", traceId: "trace-2" },
      { name: "belongs to another tenant", traceId: "trace-3" },
      { name: "no column can hold as it is", traceId: "nul\0" },
    ];
    for (const { name, traceId } of nothing) {
      test(`that ${name} is not found`, async () => {
        const adminApi = await office();
        const [tenant, other] = [newTenant(), newTenant()];
        await adminApi.stores.audit.record(auditEvent("1", { namespaceId: tenant, traceId: "trace-2" }));
        await adminApi.stores.audit.record(auditEvent("1", { ...denied, namespaceId: other, traceId: "trace-3" }));
        const { status, body } = await adminApi.post<Refusal>(denialPath, { namespaceId: tenant, traceId });
        expect([status, body.error.code]).toEqual([404, "not_found"]);
      });
    }
  });
});
