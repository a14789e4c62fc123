import type { EscalationRecord } from "../admin-contract/records.ts";
import { describe, expect, test } from "vitest";
import { GrantSchema, type AuthorityRequest, type Constraints, type PrincipalRef } from "turnpike/contracts";
import { alice, assistant, pendingEscalation } from "../../test/records.ts";
import { approvedGrant, type GrantTerms } from "./approved-grant.ts";

const at = "2026-01-01T12:00:00.000Z";
const terms: GrantTerms = { at, expiresAt: "2026-01-01T13:00:00Z" };

function request(changes: Partial<AuthorityRequest> = {}): AuthorityRequest {
  return {
    id: "request-1",
    namespaceId: "tenant-1",
    owner: alice,
    requester: assistant,
    purpose: "support",
    requestedAt: at,
    capabilities: [
      { resource: { namespace: "files", path: ["diary"], owner: alice }, actions: ["read"], scope: "exact" },
      { resource: { namespace: "mail", path: [], owner: alice }, actions: ["send", "list"], scope: "descendants" },
    ],
    ...changes,
  };
}

function record(requestedAuthority?: AuthorityRequest): EscalationRecord {
  const authority: PrincipalRef = { kind: "service", serviceId: "house" };
  return { ...pendingEscalation, authority, ...(requestedAuthority && { requestedAuthority }) };
}

function asking(constraints?: Constraints): EscalationRecord {
  return record(request(constraints && { constraints }));
}

test("the grant is exactly what was asked for, from the authority that it was asked on to the one who asked", () => {
  const approval = approvedGrant(asking(), terms);
  expect(approval).toEqual({
    ok: true,
    grant: {
      id: "approved-q1",
      namespaceId: "tenant-1",
      subject: { kind: "agent", agentId: "assistant" },
      issuer: { kind: "service", serviceId: "house" },
      capabilities: request().capabilities,
      constraints: { purposes: ["support"], expiresAt: "2026-01-01T13:00:00Z" },
      issuedAt: "2026-01-01T12:00:00.000Z",
      metadata: { escalation: "q1" },
    },
  });
});

test("what the asker put beside its ask is not in the grant", () => {
  const approval = approvedGrant(record(request({ metadata: { admin: true } })), terms);
  expect(JSON.stringify(approval)).not.toContain("admin");
});

test("the places of an ask that names no owner are the owner's who was asked", () => {
  const capabilities = [
    { resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" as const },
  ];
  const approval = approvedGrant(record(request({ capabilities })), terms);
  expect(approval).toMatchObject({
    ok: true,
    grant: { capabilities: [{ resource: { namespace: "files", path: ["diary"], owner: alice } }] },
  });
});

describe("the terms only ever narrow", () => {
  const rows: { name: string; asked?: Constraints; given?: Partial<GrantTerms>; constraints: Constraints }[] = [
    { name: "an end", constraints: { expiresAt: "2026-01-01T13:00:00Z" } },
    {
      name: "an end that is later than the one asked for",
      asked: { expiresAt: "2026-01-01T12:30:00Z" },
      constraints: { expiresAt: "2026-01-01T12:30:00Z" },
    },
    {
      name: "an end that is earlier than the one asked for",
      asked: { expiresAt: "2026-01-01T13:30:00Z" },
      constraints: { expiresAt: "2026-01-01T13:00:00Z" },
    },
    {
      name: "an end that only looks later",
      asked: { expiresAt: "2026-01-01T12:30:00Z" },
      given: { expiresAt: "2026-01-01T14:15:00+02:00" },
      constraints: { expiresAt: "2026-01-01T14:15:00+02:00" },
    },
    {
      name: "uses, where none were spoken of",
      given: { maxUses: 3 },
      constraints: { expiresAt: "2026-01-01T13:00:00Z", maxUses: 3 },
    },
    {
      name: "fewer uses",
      asked: { maxUses: 3 },
      given: { maxUses: 1 },
      constraints: { expiresAt: "2026-01-01T13:00:00Z", maxUses: 1 },
    },
    {
      name: "as many uses",
      asked: { maxUses: 3 },
      given: { maxUses: 3 },
      constraints: { expiresAt: "2026-01-01T13:00:00Z", maxUses: 3 },
    },
    {
      name: "no word of uses, where some were asked for",
      asked: { maxUses: 3 },
      constraints: { expiresAt: "2026-01-01T13:00:00Z", maxUses: 3 },
    },
    {
      name: "one purpose, where several were asked for",
      asked: { purposes: ["billing", "support"] },
      constraints: { expiresAt: "2026-01-01T13:00:00Z" },
    },
    {
      name: "a beginning and a depth that were asked for",
      asked: { notBefore: "2026-01-01T12:30:00Z", delegationDepth: 2 },
      constraints: { expiresAt: "2026-01-01T13:00:00Z", notBefore: "2026-01-01T12:30:00Z", delegationDepth: 2 },
    },
  ];
  for (const { name, asked, given, constraints } of rows) {
    test(name, () => {
      const approval = approvedGrant(asking(asked), { ...terms, ...given });
      expect(approval).toMatchObject({ ok: true });
      const made = approval.ok ? approval.grant : undefined;
      expect(made?.constraints).toEqual({ purposes: ["support"], ...constraints });
      expect(GrantSchema.safeParse(made)).toMatchObject({ success: true });
    });
  }
});

describe("there is no grant", () => {
  const rows: { name: string; asked?: Constraints; given?: Partial<GrantTerms>; problem: RegExp }[] = [
    { name: "that has ended when it begins", given: { expiresAt: at }, problem: /expired/ },
    { name: "that ended before", given: { expiresAt: "2026-01-01T12:59:59+01:00" }, problem: /expired/ },
    { name: "whose asked end has come", asked: { expiresAt: at }, problem: /expired/ },
    { name: "for more uses than were asked for", asked: { maxUses: 2 }, given: { maxUses: 3 }, problem: /2 uses/ },
    { name: "that ends before it begins", asked: { notBefore: "2026-01-01T13:00:00.001Z" }, problem: /./ },
    { name: "that ends as it begins", asked: { notBefore: "2026-01-01T13:00:00Z" }, problem: /./ },
    { name: "for a purpose that was not among those asked for", asked: { purposes: ["billing"] }, problem: /./ },
  ];
  for (const { name, asked, given, problem } of rows) {
    test(name, () => {
      const approval = approvedGrant(asking(asked), { ...terms, ...given });
      expect(approval).toEqual({ ok: false, problem: expect.stringMatching(problem) });
    });
  }

  test("for an escalation that requests no authority", () => {
    expect(approvedGrant(record(), terms)).toEqual({ ok: false, problem: expect.stringContaining("no authority") });
  });
});
