import type { EscalationRecord } from "turnpike-host/admin-contract";
import { expect, test } from "vitest";
import { approvalsText, outcomeText, stateWord } from "./escalation-text.ts";

const assistant = { kind: "agent", agentId: "assistant" } as const;
const [alice, bob] = [
  { kind: "human", userId: "alice" },
  { kind: "human", userId: "bob" },
] as const;
const escalation: EscalationRecord = {
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

test("who was too late is told who was first, and what they said", () => {
  const decided = { ...escalation, decidedAt: "2026-11-16T09:01:00Z", decidedBy: "cred-7" };
  const denied = { ...decided, status: "denied", answer: "Not now" } as const;
  expect(outcomeText(denied, "mine")).toMatch(/^The operator with credential cred-7 denied it at .*: Not now$/);
  expect(outcomeText(denied, "cred-7")).toMatch(/^You denied it/);
  const approved = { ...decided, status: "approved", approvals: [{ by: bob, at: "2026-11-16T09:01:00Z" }] } as const;
  expect(outcomeText({ ...approved, approvals: [...approved.approvals] }, "mine")).toMatch(
    /^human:bob approved it at /,
  );
  expect(outcomeText({ ...escalation, status: "expired" }, "mine")).toMatch(/^It was not answered before /);
});

test("one that was closed says what is gone, and is no expired one", () => {
  const closed = { reason: "credential_revoked", credential: "cred-9", at: "2026-11-16T09:01:00Z" } as const;
  expect(outcomeText({ ...escalation, status: "expired", closed }, "mine")).toMatch(
    /^Closed at .*: the credential cred-9 that it was asked with was revoked\. It cannot be answered any more\.$/,
  );
  expect(stateWord({ ...escalation, status: "expired", closed })).toBe("closed");
  expect(stateWord({ ...escalation, status: "expired" })).toBe("expired");
});

test("with the two-person rule it is said who approved it, and how many more have to", () => {
  const approvals = [{ by: bob, at: "2026-11-16T09:01:00Z" }];
  expect(approvalsText({ escalation, approvalsNeeded: 1 })).toBeUndefined();
  expect(approvalsText({ escalation, approvalsNeeded: 2 })).toBe(
    "2 different people have to approve it. No one has so far.",
  );
  expect(approvalsText({ escalation: { ...escalation, approvals }, approvalsNeeded: 2 })).toMatch(
    /human:bob approved it at .*\. 1 more is needed\.$/,
  );
});
