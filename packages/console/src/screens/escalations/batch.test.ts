import type { EscalationRecord } from "turnpike-host/admin-contract";
import type { JsonObject } from "turnpike/contracts";
import { expect, test } from "vitest";
import { batchesOf, batchTable } from "./batch.ts";

const assistant = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;

function pays(id: string, args: JsonObject, changes: Partial<EscalationRecord> = {}): EscalationRecord {
  return {
    id,
    namespaceId: "demo",
    status: "pending",
    ask: id,
    requester: assistant,
    reviewer: alice,
    authority: alice,
    purpose: "demo",
    reason: "Approval is needed to call payments.pay.",
    traceId: "t1",
    requestedAt: "2026-11-16T08:59:00Z",
    expiresAt: "2026-11-17T08:59:00Z",
    approval: {
      act: { kind: "tool", tool: "payments.pay", arguments: args },
      request: { action: "pay", resource: { namespace: "payments", path: [String(args["to"])] } },
      grantId: "g1",
    },
    ...changes,
  };
}

const idsOf = (rows: readonly EscalationRecord[]) => batchesOf(rows).map((batch) => batch.map(({ id }) => id));

test("escalations that differ in arguments of the same tool alone are one batch, where the first of them was", () => {
  const other = { kind: "agent", agentId: "other" } as const;
  const rows = [
    pays("1", { to: "bob" }),
    pays("2", { to: "bob" }, { requester: other }),
    pays("3", { to: "carol" }),
    pays("4", { to: "dora" }),
  ];
  expect(idsOf(rows)).toEqual([["1", "3", "4"], ["2"]]);
});

const { approval, ...rest } = pays("0", { to: "bob" });
for (const { name, row } of [
  {
    name: "of another tool",
    row: { ...rest, ...(approval && { approval: { ...approval, act: { kind: "tool", tool: "x", arguments: {} } } }) },
  },
  { name: "under another grant", row: { ...rest, ...(approval && { approval: { ...approval, grantId: "g2" } }) } },
  { name: "for another purpose", row: pays("0", { to: "bob" }, { purpose: "other" }) },
  { name: "with another authority", row: pays("0", { to: "bob" }, { authority: assistant }) },
  {
    name: "that an operator approved already",
    row: pays("0", { to: "bob" }, { approvals: [{ by: alice, at: "2026-11-16T09:00:00Z" }] }),
  },
  { name: "that is answered", row: pays("0", { to: "bob" }, { status: "denied" }) },
  { name: "of which not all would be shown", row: pays("0", { to: "x".repeat(2000) }) },
  {
    name: "with many arguments",
    row: pays("0", Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`a${at}`, at]))),
  },
  { name: "that asks for authority", row: rest },
] as { name: string; row: EscalationRecord }[]) {
  test(`an escalation ${name} is alone`, () => {
    expect(idsOf([pays("1", { to: "bob" }), row, pays("2", { to: "carol" })])).toEqual([["1", "2"], ["0"]]);
  });
}

test("the table has every argument of every row, and what each needs where that differs", () => {
  const { columns, rows } = batchTable([
    pays("1", { to: "bob", amount: 5 }),
    pays("2", { to: "carol", note: { a: "" } }),
  ]);
  expect(columns).toEqual(["to", "amount", "note.a"]);
  expect(rows.map(({ cells, needs }) => [...cells, needs])).toEqual([
    ["bob", "5", undefined, "pay payments/bob"],
    ["carol", undefined, '""', "pay payments/carol"],
  ]);
  const same = batchTable([pays("1", { to: "bob", amount: 5 }), pays("2", { to: "bob", amount: 6 })]);
  expect(same.rows.map(({ needs }) => needs)).toEqual([undefined, undefined]);
});
