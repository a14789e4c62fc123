import { describe, expect, test } from "vitest";
import type { AuditEvent, Grant } from "../contracts/index.ts";
import { memoryGrants, memoryUsage } from "../testing/index.ts";
import {
  callOf,
  contextOf,
  fails,
  grantOf,
  noteTool,
  operationOf,
  said,
  scopeOf,
  worldOf,
} from "../../test/deployment.ts";
import { OutdatedReadsError } from "./kernel-error.ts";
import type { CallOptions, DecisionChoice, DecisionLedger, UsageStore } from "./ports.ts";

/** A ledger in memory, and what it was asked and stored. */
function memoryLedger(usage: UsageStore = memoryUsage()) {
  const asked: (readonly DecisionChoice[])[] = [];
  const calls: CallOptions[] = [];
  const events: AuditEvent[] = [];
  const ledger: DecisionLedger = {
    async decide(choices, call) {
      asked.push(choices);
      calls.push(call);
      for (const [place, { uses = [], event }] of choices.entries()) {
        const counts = await Promise.all(uses.map(({ namespaceId, grantId }) => usage.used(namespaceId, grantId)));
        if (!uses.every(({ maxUses }, one) => (counts[one] ?? 0) < maxUses)) continue;
        for (const { namespaceId, grantId, maxUses } of uses) await usage.consume(namespaceId, grantId, maxUses);
        events.push(event);
        return place;
      }
      throw new Error("The last choice takes no use.");
    },
  };
  return { ledger, asked, calls, events };
}

const bounded = (id: string, maxUses: number, changes: Partial<Grant> = {}): Grant =>
  grantOf(id, { constraints: { maxUses }, ...changes });
const read = callOf();

/** What decides a call, without what differs from event to event. */
const told = ({ type, outcome, grantId, reason, metadata, tool, resource, action }: AuditEvent): unknown => ({
  type,
  outcome,
  grantId,
  reason,
  metadata,
  tool,
  resource,
  action,
});

describe("a kernel whose uses and audit log are one ledger", () => {
  for (const row of [
    { name: "a grant without limit", grants: [grantOf("a")] },
    { name: "a bounded grant", grants: [bounded("a", 2)] },
    { name: "two bounded grants", grants: [bounded("a", 1), bounded("b", 1)] },
    { name: "a bounded grant before one without limit", grants: [bounded("a", 1), grantOf("b")] },
    { name: "a bounded grant whose chain is broken", grants: [bounded("a", 2, { parentId: "gone" }), bounded("b", 1)] },
    { name: "no grant", grants: [] },
    {
      name: "a policy that refuses",
      grants: [bounded("a", 2)],
      ports: { policy: { narrow: () => ({ metadata: { quiet: true } }) } },
    },
    { name: "a policy that allows", grants: [bounded("a", 2)], ports: { policy: { narrow: () => undefined } } },
    {
      name: "a policy that allows, and a grant without limit",
      grants: [grantOf("a")],
      ports: { policy: { narrow: () => undefined } },
    },
  ]) {
    test(`decides and tells the same as one with two ports: ${row.name}`, async () => {
      const { ledger, events: decided } = memoryLedger();
      const [tool, other] = [noteTool(), noteTool()];
      const apart = worldOf({ ...row.ports, grants: row.grants, tools: [other] });
      const together = worldOf({ ...row.ports, grants: row.grants, tools: [tool], ledger, countsUses: false });
      for (const id of ["1", "2", "3", "4"]) {
        const results = await Promise.all(
          [apart, together].map(({ kernel }) => kernel.invokeTool(contextOf(), { ...read, id })),
        );
        expect(results[1]).toEqual(results[0]);
      }
      expect(tool.calls).toEqual(other.calls);
      const isDecision = ({ type }: AuditEvent): boolean => type === "authorization.checked";
      expect(decided.map(told)).toEqual(apart.events.filter(isDecision).map(told));
      expect(together.events.map(told)).toEqual(apart.events.filter((event) => !isDecision(event)).map(told));
    });
  }

  test("hands everything that may come of a decision over at once, the last without a use", async () => {
    const { ledger, asked } = memoryLedger();
    const grants = [bounded("a", 3), bounded("b", 5)];
    const { kernel } = worldOf({ grants, tools: [noteTool()], ledger });
    await kernel.invokeTool(contextOf(), read);
    expect(asked).toMatchObject([
      [
        { uses: [{ namespaceId: "demo", grantId: "a", maxUses: 3 }], event: { outcome: "allowed", grantId: "a" } },
        { uses: [{ namespaceId: "demo", grantId: "b", maxUses: 5 }], event: { outcome: "allowed", grantId: "b" } },
        { event: { outcome: "denied", reason: "grant_exhausted" } },
      ],
    ]);
    expect(asked[0]?.[2]).not.toHaveProperty("uses");
  });

  for (const row of [
    { name: "a request that does not fit", agentId: "../helper", source: memoryGrants(), reason: "invalid_request" },
    { name: "grants that cannot be read", agentId: "helper", source: { load: fails }, reason: "authority_unavailable" },
  ]) {
    test(`stores a denial for ${row.name}: ${row.reason}`, async () => {
      const { ledger, events } = memoryLedger();
      const { kernel } = worldOf({ source: row.source, ledger });
      const turn = { agent: { kind: "agent", agentId: row.agentId } } as const;
      expect(await kernel.admitTurn(contextOf(), turn)).toEqual({ kind: "refused", reason: row.reason });
      expect(events).toMatchObject([{ outcome: "denied", reason: row.reason }]);
    });
  }

  test("asks only the usage store when nothing is carried out", async () => {
    const { ledger, asked } = memoryLedger();
    const { kernel, events } = worldOf({ grants: [bounded("a", 1)], ledger });
    const request = { action: "read", resource: { namespace: "files", path: ["notes", "today"] } };
    for (let round = 0; round < 2; round += 1)
      expect(await kernel.authorize(contextOf(), request)).toMatchObject({ allowed: true });
    expect(asked).toEqual([]);
    expect(events).toHaveLength(2);
  });

  for (const [name, decide] of [
    ["fails", fails],
    ["names no choice", () => Promise.resolve(7)],
    [
      "throws",
      (): never => {
        throw new Error("at once");
      },
    ],
  ] as const) {
    test(`that ${name}: nothing is carried out, and the operator is told`, async () => {
      const tool = noteTool();
      const { kernel, auditErrors } = worldOf({ grants: [grantOf("a")], tools: [tool], ledger: { decide } });
      expect(said(await kernel.invokeTool(contextOf(), read))).toBe("audit_unavailable");
      expect(tool.calls).toEqual([]);
      expect(auditErrors).toMatchObject([{ event: { type: "authorization.checked", grantId: "a" } }]);
    });
  }

  test("that says that the reads are outdated: the operation rejects, nothing is carried out, and nothing is recorded", async () => {
    const tool = noteTool();
    const outdated = new OutdatedReadsError();
    const ledger = { decide: () => Promise.reject(outdated) };
    const { kernel, events, auditErrors } = worldOf({ grants: [grantOf("a")], tools: [tool], ledger });
    await expect(kernel.invokeTool(contextOf(), read)).rejects.toBe(outdated);
    expect([tool.calls, events, auditErrors]).toEqual([[], [], []]);
  });

  test("that has not answered when the caller goes: nothing is carried out", async () => {
    const tool = noteTool();
    const caller = new AbortController();
    const gone = new Error("gone");
    const decide = (): Promise<number> => {
      caller.abort(gone);
      return Promise.resolve(0);
    };
    const { kernel } = worldOf({ grants: [grantOf("a")], tools: [tool], ledger: { decide } });
    await expect(kernel.invokeTool(contextOf(), read, { signal: caller.signal })).rejects.toBe(gone);
    expect(tool.calls).toEqual([]);
  });
});

test("the scope of a call reaches every port that writes something of it", async () => {
  const { ledger, calls } = memoryLedger();
  const recorded: unknown[] = [];
  const audit = {
    record(_event: AuditEvent, call?: CallOptions) {
      recorded.push(call?.writes);
      return Promise.resolve();
    },
  };
  const resource = { namespace: "files", invoke: fails };
  const grants = [grantOf("a")];
  const { kernel } = worldOf({ grants, tools: [noteTool()], resources: [resource], ledger, audit });
  const writes = scopeOf();
  await kernel.invokeTool(contextOf(), read, { writes });
  await kernel.invokeTool(contextOf(), { ...read, tool: "" }, { writes });
  await kernel.invokeResource(contextOf(), operationOf(), { writes });
  await kernel.listTools(contextOf(), { writes });
  expect(calls.map((call) => call.writes)).toEqual([writes, writes]);
  expect(recorded).toEqual([writes, writes, writes, writes]);
});
