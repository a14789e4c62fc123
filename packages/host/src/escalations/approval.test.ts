import { describe, expect, test } from "vitest";
import { alice, assistant, grant, pendingEscalation } from "../../test/records.ts";
import type { EscalationRecord } from "../admin-contract/records.ts";
import { approve, type Approval, type ApprovalTerms } from "./approval.ts";

const at = "2026-01-01T12:00:00.000Z";
const later = "2026-01-01T12:10:00.000Z";
const bob = { kind: "human", userId: "bob" } as const;
const carol = { kind: "human", userId: "carol" } as const;

/** A request for authority. */
const asked: EscalationRecord = {
  ...pendingEscalation,
  requestedAuthority: {
    id: "request-1",
    namespaceId: "tenant-1",
    owner: alice,
    requester: assistant,
    purpose: "support",
    requestedAt: at,
    capabilities: [{ resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" }],
  },
};

/** An escalation about one act. */
const act: EscalationRecord = {
  ...pendingEscalation,
  approval: {
    act: { kind: "tool", tool: "bank.pay", arguments: {} },
    request: { action: "pay", resource: { namespace: "bank", path: [] } },
    grantId: "grant-1",
  },
};

/** What the approval of bob and then that of carol come to, where both are needed. */
function bothSay(record: EscalationRecord, first: ApprovalTerms, second: ApprovalTerms): [Approval, Approval] {
  const rules = { approvals: 2, permitMs: 900_000, maxPermitMs: 86_400_000 };
  const one = approve(record, { person: bob, credential: "operator-1", at, terms: first }, rules, undefined);
  if (one.kind !== "done") throw new Error(`The first approval is ${one.kind}.`);
  return [
    one,
    approve(one.record, { person: carol, credential: "operator-2", at: later, terms: second }, rules, undefined),
  ];
}

describe("a grant that two people have to approve", () => {
  test("is issued with the second approval, and the first one is a note on the record", () => {
    const [first, second] = bothSay(asked, { maxUses: 3 }, {});
    const given = { by: bob, credential: "operator-1", at, maxUses: 3 };
    expect(first).toEqual({ kind: "done", record: { ...asked, approvals: [given] } });
    expect(second).toMatchObject({
      kind: "done",
      record: { status: "approved", grantId: "approved-q1", approvals: [given, { by: carol, at: later }] },
      grant: { id: "approved-q1", issuedAt: later },
    });
  });

  const usual = "2026-01-01T13:10:00.000Z";
  const soon = "2026-01-01T12:30:00.000Z";
  const rows: { name: string; first: ApprovalTerms; second: ApprovalTerms; constraints: object }[] = [
    { name: "for an hour from the second approval", first: {}, second: {}, constraints: { expiresAt: usual } },
    {
      name: "until the end that one of them named",
      first: { expiresAt: soon },
      second: {},
      constraints: { expiresAt: soon },
    },
    {
      name: "not for longer than an hour if one of them alone says so",
      first: { expiresAt: "2026-01-02T00:00:00.000Z" },
      second: {},
      constraints: { expiresAt: usual },
    },
    {
      name: "for the fewer uses, of which the first spoke",
      first: { maxUses: 2 },
      second: { maxUses: 5 },
      constraints: { expiresAt: usual, maxUses: 2 },
    },
    {
      name: "for the fewer uses, of which the second spoke",
      first: { maxUses: 5 },
      second: { maxUses: 2 },
      constraints: { expiresAt: usual, maxUses: 2 },
    },
    {
      name: "for the uses of which one of them spoke",
      first: { maxUses: 4 },
      second: {},
      constraints: { expiresAt: usual, maxUses: 4 },
    },
  ];
  for (const { name, first, second, constraints } of rows) {
    test(`is ${name}`, () => {
      const [, approved] = bothSay(asked, first, second);
      expect(approved).toHaveProperty("grant.constraints", { purposes: ["support"], ...constraints });
    });
  }

  test("is not noted as approved by a person whose terms no grant can have", () => {
    const rules = { approvals: 2, permitMs: 900_000, maxPermitMs: 86_400_000 };
    expect(
      approve(asked, { person: bob, credential: "operator-1", at, terms: { expiresAt: at } }, rules, undefined),
    ).toEqual({
      kind: "invalid",
      problem: "it would have expired already",
    });
  });
});

describe("a grant of requested authority", () => {
  const rules = { approvals: 1, permitMs: 900_000, maxPermitMs: 86_400_000 };
  const requestUntil = (expiresAt: string): EscalationRecord => ({
    ...asked,
    ...(asked.requestedAuthority && {
      requestedAuthority: { ...asked.requestedAuthority, constraints: { expiresAt } },
    }),
  });
  const answer = (terms: ApprovalTerms) => ({ person: bob, credential: "operator-1", at, terms });
  const days = 86_400_000;
  const nextMonth = "2026-02-01T12:00:00.000Z";

  const allowed = [
    {
      name: "a day, where none was requested",
      record: asked,
      terms: { expiresAt: "2026-01-02T12:00:00.000Z" },
      end: "2026-01-02T12:00:00.000Z",
    },
    { name: "the requested one", record: requestUntil(nextMonth), terms: { expiresAt: nextMonth }, end: nextMonth },
    {
      name: "the requested one, whatever the answer says",
      record: requestUntil(nextMonth),
      terms: { expiresAt: "9999-12-31T23:59:59Z" },
      end: nextMonth,
    },
    { name: "an hour, unless the answer says when", record: asked, terms: {}, end: "2026-01-01T13:00:00.000Z" },
    {
      name: "the maximum of the host, when that is less than an hour",
      record: asked,
      terms: {},
      maxPermitMs: 600_000,
      end: "2026-01-01T12:10:00.000Z",
    },
  ];
  for (const { name, record, terms, maxPermitMs = days, end } of allowed) {
    test(`ends with ${name}`, () => {
      expect(approve(record, answer(terms), { ...rules, maxPermitMs }, undefined)).toHaveProperty(
        "grant.constraints.expiresAt",
        end,
      );
    });
  }

  for (const expiresAt of ["2026-01-02T12:00:00.001Z", nextMonth, "9999-12-31T23:59:59Z"]) {
    test(`is not issued until ${expiresAt} where no end was requested`, () => {
      expect(approve(asked, answer({ expiresAt }), rules, undefined)).toEqual({
        kind: "invalid",
        problem: "it was requested without an end, so it can last for 1440 minutes at most",
      });
      expect(approve(asked, answer({ expiresAt }), { ...rules, approvals: 2 }, undefined)).toMatchObject({
        kind: "invalid",
      });
    });
  }
});

describe("the approval of one act", () => {
  const rules = { approvals: 1, permitMs: 900_000, maxPermitMs: 86_400_000 };

  test("issues no grant, and ends with the grant that carries the act", () => {
    const carrier = grant("grant-1", { constraints: { expiresAt: "2026-01-01T12:01:00Z" } });
    expect(approve(act, { person: bob, credential: "operator-1", at, terms: {} }, rules, carrier)).toEqual({
      kind: "done",
      record: {
        ...act,
        status: "approved",
        approvals: [{ by: bob, credential: "operator-1", at }],
        permitExpiresAt: "2026-01-01T12:01:00.000Z",
      },
    });
  });

  for (const terms of [{ maxUses: 1 }, { maxUses: 2 }]) {
    test(`names no number of uses, not even ${terms.maxUses}`, () => {
      expect(approve(act, { person: bob, credential: "operator-1", at, terms }, rules, undefined)).toEqual({
        kind: "invalid",
        problem: "the approval of one act is for one use, so leave the number of uses out",
      });
    });
  }

  test("lasts as long as the host says at most", () => {
    const short = { ...rules, maxPermitMs: 600_000 };
    const until = (expiresAt: string) => ({ person: bob, credential: "operator-1", at, terms: { expiresAt } });
    expect(approve(act, until("2026-01-01T12:10:00.000Z"), short, undefined)).toMatchObject({ kind: "done" });
    for (const expiresAt of ["2026-01-01T12:10:00.001Z", "9999-12-31T23:59:59Z"])
      expect(approve(act, until(expiresAt), short, undefined)).toEqual({
        kind: "invalid",
        problem: "it can be used for 10 minutes at most",
      });
  });

  test("is nothing when its permit would end at once", () => {
    expect(
      approve(act, { person: bob, credential: "operator-1", at, terms: { expiresAt: at } }, rules, undefined),
    ).toMatchObject({
      kind: "invalid",
    });
  });
});

for (const record of [asked, act]) {
  test(`no person approves what they asked for themselves, be it ${record.approval === undefined ? "authority" : "an act"}`, () => {
    const rules = { approvals: 1, permitMs: 900_000, maxPermitMs: 86_400_000 };
    const answer = { person: assistant, credential: "operator-1", at, terms: {} };
    expect(approve(record, answer, rules, undefined)).toEqual({ kind: "own-request" });
  });
}
