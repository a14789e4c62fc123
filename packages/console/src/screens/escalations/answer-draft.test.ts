import type { EscalationRecord } from "turnpike-host/admin-contract";
import { expect, test } from "vitest";
import { firstDraft, termsOf, termsText } from "./answer-draft.ts";

const now = Date.parse("2026-11-16T09:00:00Z");
const assistant = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;
const resource = { namespace: "files", path: ["private", "diary.md"] };
const base: EscalationRecord = {
  id: "q1",
  namespaceId: "demo",
  status: "pending",
  ask: "a1",
  requester: assistant,
  reviewer: alice,
  authority: alice,
  purpose: "demo",
  reason: "I was asked to.",
  traceId: "t1",
  requestedAt: "2026-11-16T08:59:00Z",
  expiresAt: "2026-11-17T08:59:00Z",
};
const forAuthority = (constraints = {}): EscalationRecord => ({
  ...base,
  requestedAuthority: {
    id: "r1",
    namespaceId: "demo",
    owner: alice,
    requester: assistant,
    purpose: "demo",
    requestedAt: base.requestedAt,
    capabilities: [{ resource, actions: ["read"], scope: "exact" }],
    constraints,
  },
});
const forAct: EscalationRecord = {
  ...base,
  approval: {
    act: { kind: "tool", tool: "payments.pay", arguments: { to: "bob" } },
    request: { action: "pay", resource: { namespace: "payments", path: ["bob"] } },
    grantId: "g1",
  },
};

test("an unchanged answer is the narrowest: one use, ten minutes", () => {
  expect(termsOf(firstDraft, forAuthority(), now)).toEqual({
    ok: true,
    expiresAt: "2026-11-16T09:10:00.000Z",
    maxUses: 1,
  });
});

for (const { name, draft, terms } of [
  {
    name: "8 hours without a limit of uses",
    draft: { expiry: "8h", uses: "any" },
    terms: { expiresAt: "2026-11-16T17:00:00.000Z" },
  },
  {
    name: "several uses",
    draft: { uses: "several", useCount: "3" },
    terms: { expiresAt: "2026-11-16T09:10:00.000Z", maxUses: 3 },
  },
  {
    name: "a time of one's own",
    draft: { expiry: "own", ownExpiry: "2026-11-16T12:00:00Z" },
    terms: { expiresAt: "2026-11-16T12:00:00.000Z", maxUses: 1 },
  },
] as const) {
  test(`an answer can be for ${name}`, () =>
    expect(termsOf({ ...firstDraft, ...draft }, forAuthority(), now)).toEqual({ ok: true, ...terms }));
}

for (const { name, draft, problem } of [
  { name: "no time", draft: { expiry: "own", ownExpiry: "" }, problem: "Say a time that is still to come." },
  {
    name: "a time that is over",
    draft: { expiry: "own", ownExpiry: "2026-11-16T08:00:00Z" },
    problem: "Say a time that is still to come.",
  },
  {
    name: "half a use",
    draft: { uses: "several", useCount: "0.5" },
    problem: "Say how many uses: a whole number, 1 or more.",
  },
  {
    name: "more uses than were requested",
    draft: { uses: "several", useCount: "4" },
    problem: "At most 3 uses were requested.",
  },
] as const) {
  test(`an answer with ${name} says what to do`, () =>
    expect(termsOf({ ...firstDraft, ...draft }, forAuthority({ maxUses: 3 }), now)).toEqual({ ok: false, problem }));
}

test("an approval of an act names no uses, and no time unless the operator chose one", () => {
  expect(termsOf({ ...firstDraft, expiry: "usual" }, forAct, now)).toEqual({ ok: true });
  expect(termsOf({ ...firstDraft, uses: "any" }, forAct, now)).toEqual({
    ok: true,
    expiresAt: "2026-11-16T09:10:00.000Z",
  });
  expect(termsText({ ok: true }, forAct, now)).toEqual({ until: "as long as this host usually allows", uses: "once" });
});

test("what is said to hold is never more than was requested", () => {
  const asked = forAuthority({ maxUses: 2, expiresAt: "2026-11-16T09:05:00Z" });
  const { until, uses } = termsText({ ok: true, expiresAt: "2026-11-16T17:00:00Z" }, asked, now);
  expect(until).toContain("(in 5 min), as requested");
  expect(uses).toBe("2 times");
  expect(termsText({ ok: true, expiresAt: "2026-11-16T17:00:00Z" }, forAuthority(), now).uses).toBe(
    "as often as it likes",
  );
});
