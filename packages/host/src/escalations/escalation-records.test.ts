import { describe, expect, test } from "vitest";
import type { Act } from "turnpike/contracts";
import { actToApprove, escalation } from "../../test/office.ts";
import { alice, context } from "../../test/records.ts";
import { actEscalation, authorityEscalation, freshId, isUnchanged } from "./escalation-records.ts";

const mine = context();
const hourMs = 3_600_000;

const acts: { act: Act; reason: string }[] = [
  { act: { kind: "tool", tool: "bank.pay", arguments: {} }, reason: "Approval is needed to call bank.pay." },
  {
    act: { kind: "resource", action: "read", resource: { namespace: "files", path: ["a", "b"] } },
    reason: "Approval is needed to read files/a/b.",
  },
  {
    act: { kind: "message", receiver: alice, payload: "Hello." },
    reason: "Approval is needed to send a message to human:alice.",
  },
  {
    act: { kind: "turn", agent: { kind: "agent", agentId: "helper" }, sender: alice, payload: "Hello." },
    reason: "Approval is needed to start a turn of agent:helper.",
  },
];
for (const { act, reason } of acts) {
  test(`a reviewer of an act of the kind ${act.kind} reads what it is`, () => {
    expect(actEscalation(mine, actToApprove(mine.namespaceId, { act }), hourMs).reason).toBe(reason);
  });
}

describe("an escalation is what its hash says", () => {
  const act = { id: "q1", ...actEscalation(mine, actToApprove(mine.namespaceId), hourMs) };
  const authority = { id: "q2", ...authorityEscalation(mine, escalation(), hourMs) };
  const other = actToApprove(mine.namespaceId, { act: { kind: "tool", tool: "bank.pay", arguments: {} } });
  const bob = { kind: "human", userId: "bob" } as const;

  test("unless it was changed", () => {
    expect([isUnchanged(act), isUnchanged(authority)]).toEqual([true, true]);
    expect(isUnchanged({ ...act, approval: other })).toBe(false);
  });

  for (const change of [
    { namespaceId: "other" },
    { requester: bob },
    { reviewer: bob },
    { authority: bob },
    { purpose: "x" },
  ])
    test(`${Object.keys(change).join()} included`, () => {
      expect([isUnchanged({ ...act, ...change }), isUnchanged({ ...authority, ...change })]).toEqual([false, false]);
    });
});

describe("the id of an escalation", () => {
  const at = "2026-01-01T12:00:00.000Z";
  const placeOf = (id: string): string => id.slice(0, 9);
  const now = `q${Date.parse(at).toString(36)}`;
  const next = `q${(Date.parse(at) + 1).toString(36)}`;

  test("begins with its instant, and no other one of that instant has it", () => {
    const [one, other] = [freshId(at, undefined), freshId(at, undefined)];
    expect([placeOf(one), placeOf(other)]).toEqual([now, now]);
    expect(one).toMatch(/^q[0-9a-z]{8}[0-9a-f]{8}$/);
    expect(one).not.toBe(other);
  });

  test("comes right after the last of its request, where the clock does not", () => {
    expect(placeOf(freshId(at, `${now}ffffffff`))).toBe(next);
    expect(placeOf(freshId("2025-12-31T00:00:00.000Z", `${now}00000000`))).toBe(next);
    expect(placeOf(freshId(at, freshId("2025-12-31T00:00:00.000Z", undefined)))).toBe(now);
  });
});
