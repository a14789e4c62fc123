import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  fails,
  grantOf,
  later,
  needs,
  noteTool,
  now,
  portSecret,
  refusingAudit,
  runAgent,
  said,
  untyped,
  worldOf,
  type TestTool,
} from "../../test/deployment.ts";
import { atomicLedger } from "../../test/memory-ledger.ts";
import type {
  AuditEvent,
  AuthorizationRequest,
  Capability,
  Constraints,
  Grant,
  ToolResult,
} from "../contracts/index.ts";
import { memoryBudgets, memoryPermits, memoryUsage } from "../testing/index.ts";
import type { KernelOptions, UsageStore } from "./ports.ts";
import { defineTool, ToolError } from "./tool.ts";

/** Reads every note that a call names: needs each of them. */
function notesTool(): TestTool {
  return noteTool({
    requirement: (_context, { notes }) => (notes as string[]).map((note) => needs("notes", note)),
  });
}

function over(
  id: string,
  notes: readonly string[],
  constraints: Constraints = {},
  changes: Partial<Grant> = {},
): Grant {
  const capabilities = notes.map((note) => capability("files", ["notes", note], "read"));
  return grantOf(id, { capabilities, constraints, ...changes });
}

function guarded(id: string, notes: readonly string[], constraints: Constraints = {}): Grant {
  const grant = over(id, notes, constraints);
  return { ...grant, capabilities: grant.capabilities.map((one): Capability => ({ ...one, approval: "each" })) };
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

type Ports = Partial<Omit<KernelOptions, "grants" | "ledger">>;

/** A world with a tool that reads several notes, where uses and audit log are one ledger or two ports. */
function office(grants: readonly Grant[], isLedger: boolean, ports: Ports = {}) {
  const usage = ports.usage ?? memoryUsage();
  const permits = memoryPermits();
  const ledger = atomicLedger(usage, permits);
  const tool = notesTool();
  const world = worldOf({ tools: [tool], permits, ...ports, usage, ...(isLedger && { ledger }), grants });
  let calls = 0;
  const read = (notes: readonly string[], at = now): Promise<ToolResult> =>
    world.kernel.invokeTool(
      contextOf({ now: at }),
      callOf({ id: `call-${(calls += 1)}`, arguments: { notes: [...notes] } }),
    );
  const decisions = (): AuditEvent[] =>
    (isLedger ? ledger.events : world.events).filter(({ type }) => type === "authorization.checked");
  const used = (id: string): Promise<number> => usage.used("demo", id);
  const approve = (): void => permits.approve(permits.asked.at(-1)?.id ?? "", { by: "human:carol", at: now });
  return { ...world, tool, permits, ledger, read, decisions, used, approve };
}

for (const isLedger of [true, false]) {
  describe(isLedger ? "with a ledger" : "with a usage store and a sink", () => {
    /** Only a ledger takes all uses or none. */
    const allOrNone = (uses: number): unknown => (isLedger ? uses : expect.any(Number));

    test("a call is allowed when every requirement is covered, each by a grant of its own", async () => {
      const { read, tool, decisions } = office([over("a", ["one"]), over("b", ["two", "three"])], isLedger);
      expect(said(await read(["one", "two", "three"]))).toBe("succeeded");
      expect(tool.calls).toHaveLength(1);
      expect(decisions()).toMatchObject([
        {
          outcome: "allowed",
          tool: "files.read",
          operationId: "call-1",
          resource: needs("notes", "one").resource,
          action: "read",
          grantId: "a",
          metadata: {
            others: [
              { path: ["notes", "two"], grantId: "b" },
              { path: ["notes", "three"], grantId: "b" },
            ],
          },
        },
      ]);
    });

    test("a call is denied when one requirement is not covered, and the audit log names that one", async () => {
      const { read, tool, decisions, used } = office([over("a", ["one", "two"], { maxUses: 5 })], isLedger);
      const result = await read(["one", "two", "secret", "other"]);
      expect(result).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
      expect(tool.calls).toEqual([]);
      expect(await used("a")).toBe(0);
      expect(decisions()).toMatchObject([
        {
          outcome: "denied",
          reason: "no_matching_grant",
          resource: needs("notes", "secret").resource,
          metadata: { grants: [{ grantId: "a", failed: "path" }] },
        },
      ]);
    });

    test("a bounded grant loses one use, however many requirements it carries", async () => {
      const { read, used } = office([over("a", ["one", "two"], { maxUses: 2 }), over("b", ["three"])], isLedger);
      expect(said(await read(["one", "two", "three"]))).toBe("succeeded");
      expect(await used("a")).toBe(1);
      expect(said(await read(["two", "one"]))).toBe("succeeded");
      expect(said(await read(["one", "two"]))).toBe("grant_exhausted");
      expect(await used("a")).toBe(2);
    });

    test("every bounded grant loses a use, and none when one of them has none left", async () => {
      const { read, used, decisions } = office(
        [over("a", ["one"], { maxUses: 5 }), over("b", ["two"], { maxUses: 1 })],
        isLedger,
      );
      expect(said(await read(["one", "two"]))).toBe("succeeded");
      expect([await used("a"), await used("b")]).toEqual([1, 1]);
      expect(said(await read(["one", "two"]))).toBe("grant_exhausted");
      expect([await used("a"), await used("b")]).toEqual([1, 1]);
      expect(decisions()[1]).toMatchObject({
        reason: "grant_exhausted",
        resource: needs("notes", "two").resource,
        metadata: { grants: [{ grantId: "b", failed: "grant_exhausted" }, { grantId: "a" }] },
      });
    });

    test("a grant without limit is taken before a bounded one, for each requirement", async () => {
      const { read, used } = office([over("a", ["one", "two"], { maxUses: 1 }), over("b", ["two"])], isLedger);
      expect(said(await read(["two", "one"]))).toBe("succeeded");
      expect(said(await read(["two", "one"]))).toBe("grant_exhausted");
      expect(await used("a")).toBe(1);
    });

    test("of calls that race for the last uses as many happen as there are uses of the grant that has fewest", async () => {
      const { read, used, tool } = office(
        [over("a", ["one"], { maxUses: 3 }), over("b", ["two"], { maxUses: 7 })],
        isLedger,
      );
      const results = await Promise.all(Array.from({ length: 10 }, () => read(["one", "two"])));
      expect(results.map(said).filter((code) => code === "succeeded")).toHaveLength(3);
      expect(new Set(results.map(said))).toEqual(new Set(["succeeded", "grant_exhausted"]));
      expect(tool.calls).toHaveLength(3);
      expect(await used("a")).toBe(3);
      expect(await used("b")).toEqual(allOrNone(3));
    });

    test("calls that race use the next grant that covers the requirement", async () => {
      const grants = [
        over("a", ["one"], { maxUses: 2 }),
        over("b", ["one"], { maxUses: 3 }),
        over("c", ["two"], { maxUses: 50 }),
      ];
      const { read, used } = office(grants, isLedger);
      const results = await Promise.all(Array.from({ length: 8 }, () => read(["one", "two"])));
      expect(results.map(said).filter((code) => code === "succeeded")).toHaveLength(5);
      expect([await used("a"), await used("b")]).toEqual([2, 3]);
      expect(await used("c")).toEqual(allOrNone(5));
    });

    test("a requirement that occurs twice counts once", async () => {
      const { read, used, decisions } = office([over("a", ["one", "two"], { maxUses: 5 })], isLedger);
      expect(said(await read(["one", "two", "one"]))).toBe("succeeded");
      expect(said(await read(["one", "one"]))).toBe("succeeded");
      expect(await used("a")).toBe(2);
      expect(decisions().map(({ metadata }) => metadata)).toEqual([
        { others: [{ path: ["notes", "two"], grantId: "a" }] },
        undefined,
      ]);
    });

    test("a grant without limit needs no usage store, also when the host's policy has to allow it", async () => {
      const usage = { used: fails, consume: fails };
      const policy = { narrow: () => undefined };
      const { read, portErrors } = office([over("a", ["one", "two"])], isLedger, { usage, policy });
      expect(said(await read(["one", "two"]))).toBe("succeeded");
      expect(portErrors).toEqual([]);
    });

    test("the host's policy is asked once about each requirement, and may refuse one", async () => {
      const asked: string[] = [];
      const policy = {
        narrow({ resource: { path } }: AuthorizationRequest) {
          asked.push(path.join("/"));
          return path.includes("two") ? { metadata: { why: "closed" } } : undefined;
        },
      };
      const { read, tool, decisions, used } = office([over("a", ["one", "two", "three"], { maxUses: 5 })], isLedger, {
        policy,
      });
      expect(said(await read(["one", "two", "three"]))).toBe("host_policy_denied");
      expect(asked).toEqual(["notes/one", "notes/two", "notes/three"]);
      expect(decisions()).toMatchObject([{ resource: { path: ["notes", "two"] }, reason: "host_policy_denied" }]);
      expect(tool.calls).toEqual([]);
      expect(await used("a")).toBe(0);
      expect(said(await read(["one", "three"]))).toBe("succeeded");
    });

    test("a usage store that does not answer hides no grant without limit, and else refuses", async () => {
      const usage: UsageStore = { used: fails, consume: fails };
      const grants = [over("a", ["one"], { maxUses: 1 }), over("b", ["one", "two"])];
      const { read, tool } = office(grants, isLedger, { usage });
      expect(said(await read(["one", "two"]))).toBe("succeeded");
      const bounded = office([over("a", ["one"], { maxUses: 1 }), over("b", ["two"])], isLedger, { usage });
      expect(said(await bounded.read(["two", "one"]))).toBe("usage_store_unavailable");
      expect(tool.calls).toHaveLength(1);
      expect(bounded.tool.calls).toEqual([]);
    });

    test("a caller that has gone is not decided about", async () => {
      const { kernel, tool } = office([over("a", ["one", "two"])], isLedger);
      const signal = AbortSignal.abort(new Error("gone"));
      const call = callOf({ arguments: { notes: ["one", "two"] } });
      await expect(kernel.invokeTool(contextOf(), call, { signal })).rejects.toThrow("gone");
      expect(tool.calls).toEqual([]);
    });

    describe("when a person has to approve", () => {
      test("one guarded grant for two places: one escalation, one permit, one use", async () => {
        const { read, permits, approve, tool, used, decisions } = office(
          [guarded("careful", ["one", "two"], { maxUses: 5 })],
          isLedger,
        );
        const first = await read(["one", "two"]);
        expect(first).toMatchObject({ status: "denied", error: { code: "approval_required" } });
        expect(permits.asked).toMatchObject([
          { request: needs("notes", "one"), grantId: "careful", act: { arguments: { notes: ["one", "two"] } } },
        ]);
        expect(await used("careful")).toBe(0);
        expect(said(await read(["one", "two"]))).toBe("approval_required");
        expect(permits.asked).toHaveLength(1);
        approve();
        expect(said(await read(["one", "two"]))).toBe("succeeded");
        expect(await used("careful")).toBe(1);
        expect(decisions().at(-1)).toMatchObject({
          outcome: "allowed",
          grantId: "careful",
          metadata: {
            permit: { id: permits.asked[0]?.id, approvedBy: ["human:carol"] },
            others: [{ path: ["notes", "two"], grantId: "careful" }],
          },
        });
        expect(said(await read(["one", "two"]))).toBe("approval_required");
        expect(tool.calls).toHaveLength(1);
      });

      test("two guarded grants for two places: denied, and no person is asked", async () => {
        const { read, permits, tool, decisions } = office(
          [guarded("careful", ["one"]), guarded("other", ["two"])],
          isLedger,
        );
        const result = await read(["one", "two"]);
        expect(result).toMatchObject({
          status: "denied",
          error: {
            code: "approval_required",
            message:
              "The act needs a person's approval under more than one grant, so none was asked for: one grant has to cover all that needs it.",
            retryable: false,
          },
        });
        expect(result).not.toHaveProperty("error.details");
        expect(permits.asked).toEqual([]);
        expect(tool.calls).toEqual([]);
        expect(decisions()).toMatchObject([{ outcome: "denied", resource: { path: ["notes", "one"] } }]);
      });

      test("of several guarded grants the one is asked for that covers all", async () => {
        const { read, permits, approve } = office(
          [guarded("careful", ["one"]), guarded("other", ["two"]), guarded("both", ["two", "one"])],
          isLedger,
        );
        expect(said(await read(["one", "two"]))).toBe("approval_required");
        expect(permits.asked).toMatchObject([{ grantId: "both" }]);
        approve();
        expect(said(await read(["one", "two"]))).toBe("succeeded");
      });

      test("free and guarded ones together: the approval is for the guarded, and both lose their use", async () => {
        const grants = [over("free", ["one"], { maxUses: 5 }), guarded("careful", ["two"], { maxUses: 5 })];
        const { read, permits, approve, used, decisions } = office(grants, isLedger);
        expect(said(await read(["one", "two"]))).toBe("approval_required");
        expect(permits.asked).toMatchObject([{ request: needs("notes", "two"), grantId: "careful" }]);
        expect(decisions()).toMatchObject([{ outcome: "denied", resource: { path: ["notes", "two"] } }]);
        approve();
        expect(said(await read(["one", "two"]))).toBe("succeeded");
        expect([await used("free"), await used("careful")]).toEqual([1, 1]);
        expect(decisions().at(-1)).toMatchObject({
          grantId: "free",
          metadata: { permit: { id: permits.asked[0]?.id }, others: [{ grantId: "careful" }] },
        });
      });

      test("an approval that was given for one grant is no approval under another", async () => {
        const grants = [over("free", ["one"]), guarded("careful", ["two"]), guarded("both", ["one", "two"])];
        const world = office(grants, isLedger);
        expect(said(await world.read(["one", "two"]))).toBe("approval_required");
        expect(world.permits.asked).toMatchObject([{ grantId: "careful" }]);
        world.approve();
        world.grants.revoke("demo", "free", now);
        expect(said(await world.read(["one", "two"]))).toBe("approval_required");
        expect(world.tool.calls).toEqual([]);
        expect(world.permits.asked).toMatchObject([{ grantId: "careful" }, { grantId: "both" }]);
      });

      test("an approval under a grant whose chain is broken since is none: the approval under another one is asked for", async () => {
        const root = over("root", ["one", "two"], { delegationDepth: 1 }, { subject: alice, issuer: bob });
        const derived = { ...guarded("derived", ["one", "two"]), parentId: "root" };
        const world = office([root, derived, guarded("other", ["one", "two"])], isLedger);
        expect(said(await world.read(["one", "two"]))).toBe("approval_required");
        expect(world.permits.asked).toMatchObject([{ grantId: "derived" }]);
        world.approve();
        world.grants.revoke("demo", "root", now);
        expect(said(await world.read(["one", "two"]))).toBe("approval_required");
        expect(world.tool.calls).toEqual([]);
        expect(world.permits.asked).toMatchObject([{ grantId: "derived" }, { grantId: "other" }]);
      });

      test("no person is asked when something else is missing too, and that is the reason", async () => {
        const { read, permits, decisions } = office([guarded("careful", ["one"])], isLedger);
        expect(said(await read(["one", "two"]))).toBe("no_matching_grant");
        expect(permits.asked).toEqual([]);
        expect(decisions()).toMatchObject([{ resource: { path: ["notes", "two"] } }]);
      });

      test("a denial counts for the act, and the audit log says so", async () => {
        const broken = over("broken", ["one"], {}, { parentId: "gone" });
        const { read, permits, tool, decisions } = office([broken, guarded("careful", ["one", "two"])], isLedger);
        await read(["one", "two"]);
        permits.deny(permits.asked[0]?.id ?? "", { at: now });
        expect(await read(["one", "two"])).toMatchObject({ status: "denied", error: { code: "approval_denied" } });
        expect(decisions().at(-1)).toMatchObject({
          reason: "approval_denied",
          metadata: {
            grants: [
              { grantId: "broken", failed: "delegation_chain_invalid" },
              { grantId: "careful", failed: "approval_denied" },
            ],
          },
        });
        expect(permits.asked).toHaveLength(1);
        expect(tool.calls).toEqual([]);
      });

      test("no person is asked about a spent guarded grant", async () => {
        const { read, permits, approve } = office([guarded("careful", ["one", "two"], { maxUses: 1 })], isLedger);
        await read(["one", "two"]);
        approve();
        expect(said(await read(["one", "two"]))).toBe("succeeded");
        expect(said(await read(["one", "two"]))).toBe("grant_exhausted");
        expect(permits.asked).toHaveLength(1);
      });

      for (const row of [
        { name: "has uses left", careful: { maxUses: 9 } },
        { name: "has uses left, beside one that is bounded", careful: { maxUses: 9 }, free: { maxUses: 9 } },
        { name: "is not bounded, beside one that is", careful: {}, free: { maxUses: 9 } },
        { name: "is not bounded", careful: {} },
      ]) {
        test(`of calls that race for one approval one happens, and a person is asked about the others under a grant that ${row.name}`, async () => {
          const { read, approve, tool, permits, decisions } = office(
            [guarded("careful", ["one", "two"], row.careful), over("free", ["three"], row.free)],
            isLedger,
          );
          await read(["one", "two", "three"]);
          approve();
          const results = await Promise.all(Array.from({ length: 5 }, () => read(["one", "two", "three"])));
          expect(results.map(said).toSorted()).toEqual([...Array<string>(4).fill("approval_required"), "succeeded"]);
          expect(tool.calls).toHaveLength(1);
          expect(permits.asked).toHaveLength(2);
          expect(decisions().filter(({ reason }) => reason === "approval_required")).toHaveLength(5);
        });
      }

      test("no person is asked about the last use, which the one of them took that happens", async () => {
        for (const [careful, free] of [
          [{ maxUses: 1 }, {}],
          [{}, { maxUses: 1 }],
        ]) {
          const grants = [guarded("careful", ["one"], careful), over("free", ["two"], free)];
          const { read, approve, tool, permits, used } = office(grants, isLedger);
          await read(["one", "two"]);
          approve();
          const results = await Promise.all(Array.from({ length: 3 }, () => read(["one", "two"])));
          expect(results.map(said).filter((status) => status === "succeeded")).toEqual(["succeeded"]);
          expect(tool.calls).toHaveLength(1);
          expect((await used("careful")) + (await used("free"))).toBe(1);
          // Without a ledger the use is taken after the permit, and another call may come between the two.
          if (!isLedger) continue;
          expect(results.map(said).toSorted()).toEqual(["grant_exhausted", "grant_exhausted", "succeeded"]);
          expect(permits.asked).toHaveLength(1);
        }
      });
    });
  });
}

for (const { name, used, says, asked } of [
  { name: "asked while a use is left", used: () => Promise.resolve(0), says: "approval_required", asked: 2 },
  { name: "not asked when the last use went too", used: () => Promise.resolve(1), says: "grant_exhausted", asked: 1 },
  { name: "not asked when uses cannot be counted", used: fails, says: "usage_store_unavailable", asked: 1 },
])
  test(`without a ledger a person whose approval another call used is ${name}`, async () => {
    const permits = memoryPermits();
    const usage = memoryUsage();
    const use: typeof permits.use = async (...of) => {
      await permits.use(...of);
      usage.used = used;
      return false;
    };
    const grants = [guarded("careful", ["one"], { maxUses: 1 }), over("free", ["two"])];
    const { read, tool } = office(grants, false, { permits: { ...permits, use }, usage });
    await read(["one", "two"]);
    permits.approve("escalation-1", { by: "human:carol", at: now });
    expect(said(await read(["one", "two"]))).toBe(says);
    expect([permits.asked.length, tool.calls]).toEqual([asked, []]);
  });

test("a person whose approval another call used is asked again about an act that a grant with a budget carries in part", async () => {
  const permits = memoryPermits();
  const use: typeof permits.use = async (...of) => {
    await permits.use(...of);
    return false;
  };
  const budgeted = over("budgeted", ["two"], { budgets: [{ unit: "EUR", limit: "20" }] });
  const world = worldOf({
    tools: [{ ...notesTool(), spends: () => [{ unit: "EUR", amount: "1" }] }],
    permits: { ...permits, use },
    usage: memoryUsage(),
    budgets: memoryBudgets(),
    grants: [guarded("careful", ["one"], { maxUses: 9 }), budgeted],
  });
  const read = (id: string): Promise<ToolResult> =>
    world.kernel.invokeTool(contextOf(), callOf({ id, arguments: { notes: ["one", "two"] } }));
  expect(said(await read("call-1"))).toBe("approval_required");
  permits.approve("escalation-1", { by: "human:carol", at: now });
  expect(said(await read("call-2"))).toBe("approval_required");
  expect(permits.asked).toHaveLength(2);
});

test("a ledger is handed all plans at once, and the last takes nothing", async () => {
  const grants = [
    over("a", ["one"], { maxUses: 3 }),
    over("b", ["one"], { maxUses: 5 }),
    over("c", ["two"], { maxUses: 7 }),
  ];
  const { read, ledger } = office(grants, true);
  await read(["one", "two"]);
  const use = (grantId: string, maxUses: number) => ({ namespaceId: "demo", grantId, maxUses });
  expect(ledger.asked[0]?.map(({ uses, event }) => ({ uses, outcome: event.outcome }))).toEqual([
    { uses: [use("a", 3), use("c", 7)], outcome: "allowed" },
    { uses: [use("b", 5), use("c", 7)], outcome: "allowed" },
    { uses: undefined, outcome: "denied" },
  ]);
});

test("many bounded grants make no more plans than a ledger can be asked about", async () => {
  const many = Array.from({ length: 200 }, (_one, place) => over(`grant-${place}`, ["one", "two"], { maxUses: 1 }));
  const { read, ledger, tool } = office(many, true);
  expect(said(await read(["one", "two"]))).toBe("succeeded");
  expect(ledger.asked[0]?.length).toBeLessThanOrEqual(82);
  expect(tool.calls).toHaveLength(1);
});

test("the uses of a grant are read once for all requirements of a call", async () => {
  const usage = memoryUsage();
  let reads = 0;
  const counting: UsageStore = { ...usage, used: (...of) => ((reads += 1), usage.used(...of)) };
  const { kernel } = worldOf({
    grants: [grantOf("a", { constraints: { maxUses: 3 } })],
    tools: [notesTool()],
    usage: counting,
  });
  const notes = Array.from({ length: 64 }, (_one, place) => `note-${place}`);
  expect(said(await kernel.invokeTool(contextOf(), callOf({ arguments: { notes } })))).toBe("succeeded");
  expect(reads).toBe(1);
  expect(await usage.used("demo", "a")).toBe(1);
});

for (const row of [
  { name: "cannot count", of: { consume: fails }, code: "usage_store_unavailable" },
  {
    name: "answers nonsense",
    of: { consume: () => Promise.resolve(untyped<boolean>(7)) },
    code: "usage_store_unavailable",
  },
  { name: "has none left after all", of: { consume: () => Promise.resolve(false) }, code: "grant_exhausted" },
]) {
  test(`nothing happens when the usage store ${row.name}, and the decision is in the audit log`, async () => {
    const usage = { ...memoryUsage(), ...row.of };
    const { read, tool, decisions } = office([over("a", ["one", "two"], { maxUses: 1 })], false, { usage });
    expect(said(await read(["one", "two"]))).toBe(row.code);
    expect(decisions()).toMatchObject([{ outcome: "denied", reason: row.code }]);
    expect(tool.calls).toEqual([]);
  });
}

test("a use that is taken is not taken again when another one is gone", async () => {
  const stored = memoryUsage();
  const usage: UsageStore = {
    ...stored,
    consume: (tenant, id, maxUses) => (id === "a" ? Promise.resolve(false) : stored.consume(tenant, id, maxUses)),
  };
  const bounded = { maxUses: 5 };
  const grants = [over("a", ["one"], bounded), over("b", ["one"], bounded), over("c", ["two"], bounded)];
  const { read, used } = office(grants, false, { usage });
  expect(said(await read(["two", "one"]))).toBe("succeeded");
  expect([await used("a"), await used("b"), await used("c")]).toEqual([0, 1, 1]);
});

for (const isLedger of [true, false]) {
  test(`nothing happens when the decision cannot be stored, ${isLedger ? "by a ledger" : "by a sink"}`, async () => {
    const tool = notesTool();
    const grants = [over("a", ["one", "two"])];
    const audit = refusingAudit(({ type }) => type === "authorization.checked");
    const { kernel, auditErrors } = worldOf({
      grants,
      tools: [tool],
      audit,
      ...(isLedger && { ledger: { decide: fails } }),
    });
    const result = await kernel.invokeTool(contextOf(), callOf({ arguments: { notes: ["one", "two"] } }));
    expect(result).toMatchObject({ status: "failed", error: { code: "audit_unavailable" } });
    expect(tool.calls).toEqual([]);
    expect(auditErrors).toHaveLength(1);
  });
}

describe("what a tool may require", () => {
  for (const row of [
    { name: "nothing", required: [] },
    { name: "65 things", required: Array.from({ length: 65 }, (_one, place) => needs("notes", `${place}`)) },
    { name: "something outside its ceiling", required: [needs("notes", "one"), needs("private")] },
    { name: "another action", required: [needs("notes", "one"), { ...needs("notes", "two"), action: "write" }] },
    {
      name: "a place of another owner",
      required: [
        needs("notes", "one"),
        { action: "read", resource: { ...needs("notes", "two").resource, owner: bob } },
      ],
    },
    { name: "something that is no requirement", required: [needs("notes", "one"), "two"] },
    { name: "a list that is gone", required: revokedProxy() },
    { name: "a list of lists", required: [[needs("notes", "one")]] },
    {
      name: "what throws when it is read",
      required: new Proxy([], {
        get: () => {
          throw new Error(portSecret);
        },
      }),
    },
  ]) {
    test(`is never ${row.name}: invalid_tool_requirement`, async () => {
      const tool = noteTool({ requirement: () => untyped<AuthorizationRequest[]>(row.required) });
      const everything = grantOf("all", {
        capabilities: [capability("files", [], "*"), capability("files", [], "*", { owner: bob })],
      });
      const { kernel, portErrors, events } = worldOf({ grants: [everything], tools: [tool] });
      const result = await kernel.invokeTool(contextOf(), callOf());
      expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_requirement" } });
      expect(tool.calls).toEqual([]);
      expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "files.read" } }]);
      expect(events.map(({ type }) => type)).toEqual(["tool.invoked"]);
    });
  }

  test("is up to 64 things, and a list of one is that one", async () => {
    const notes = Array.from({ length: 64 }, (_one, place) => `note-${place}`);
    const { kernel, events } = worldOf({ grants: [grantOf("all")], tools: [notesTool()] });
    expect(said(await kernel.invokeTool(contextOf(), callOf({ arguments: { notes } })))).toBe("succeeded");
    expect(said(await kernel.invokeTool(contextOf(), callOf({ id: "2", arguments: { notes: ["one"] } })))).toBe(
      "succeeded",
    );
    const [several, , one] = events;
    expect(several?.metadata?.["others"]).toHaveLength(63);
    expect(one).not.toHaveProperty("metadata");
  });

  test("the owner's name beside it changes nothing", async () => {
    const named = { action: "read", resource: { ...needs("notes", "one").resource, owner: alice } };
    const tool = noteTool({ requirement: () => [needs("notes", "one"), named] });
    const { kernel, events } = worldOf({ grants: [grantOf("a")], tools: [tool] });
    expect(said(await kernel.invokeTool(contextOf(), callOf()))).toBe("succeeded");
    expect(events[0]).not.toHaveProperty("metadata");
  });

  test("is what a defined tool says, in a list too", async () => {
    const tool = defineTool({
      name: "files.read",
      description: "Reads notes.",
      namespace: "files",
      readWrite: "read",
      input: z.object({ notes: z.array(z.string()) }),
      requires: { ceiling: needs("notes"), of: ({ notes }) => notes.map((note) => needs("notes", note)) },
      run: ({ notes }) => notes.length,
    });
    const { kernel } = worldOf({ grants: [over("a", ["one", "two"])], tools: [tool] });
    const read = (id: string, notes: string[]): Promise<ToolResult> =>
      kernel.invokeTool(contextOf(), callOf({ id, arguments: { notes } }));
    expect(await read("1", ["one", "two"])).toMatchObject({ status: "succeeded", output: 2 });
    expect(said(await read("2", ["one", "three"]))).toBe("no_matching_grant");
  });
});

describe("a tool that throws a ToolError in place of a requirement", () => {
  test("denies the call with its code and its words", async () => {
    const tool = noteTool({
      requirement() {
        throw new ToolError("closed_today", "Come back tomorrow.", { retryable: true });
      },
    });
    const { kernel, events, portErrors } = worldOf({ grants: [grantOf("a")], tools: [tool] });
    expect(await kernel.invokeTool(contextOf(), callOf())).toEqual({
      status: "denied",
      callId: "call-1",
      tool: "files.read",
      completedAt: now,
      error: { code: "closed_today", message: "Come back tomorrow.", retryable: true },
    });
    expect(tool.calls).toEqual([]);
    expect(events).toMatchObject([{ type: "tool.invoked", outcome: "denied", reason: "closed_today" }]);
    expect(portErrors).toEqual([]);
  });

  for (const row of [
    { name: "has no words", error: new ToolError("closed", "") },
    { name: "has too many words", error: new ToolError("closed", "x".repeat(4097)) },
    { name: "has no code", error: new ToolError("", "Closed.") },
    { name: "is another error", error: new Error(portSecret) },
    {
      name: "throws when it is read",
      error: new Proxy(new ToolError("a", "b"), {
        getPrototypeOf: () => {
          throw new Error(portSecret);
        },
      }),
    },
  ]) {
    test(`fails it when the error ${row.name}`, async () => {
      const tool = noteTool({
        requirement() {
          throw row.error;
        },
      });
      const { kernel, portErrors } = worldOf({ grants: [grantOf("a")], tools: [tool] });
      const result = await kernel.invokeTool(contextOf(), callOf());
      expect(result).toMatchObject({ status: "failed", error: { code: "tool_requirement_resolution_failed" } });
      expect(JSON.stringify(result)).not.toContain(portSecret);
      expect(portErrors).toHaveLength(1);
      expect(tool.calls).toEqual([]);
    });
  }
});

test("inside a turn each requirement is decided on what was admitted, at its own instant", async () => {
  const run = grantOf("run", { capabilities: [runAgent] });
  const { kernel, grants, tool } = office([run, over("a", ["one"]), over("b", ["two"])], false);
  const admission = await kernel.admitTurn(contextOf(), { agent });
  if (admission.kind === "refused") throw new Error(admission.reason);
  const { scope } = admission;
  const { signal } = new AbortController();
  const read = (id: string, notes: string[], at = now): Promise<ToolResult> =>
    scope.invokeTool(callOf({ id, arguments: { notes } }), at, signal);
  expect(said(await read("1", ["one", "two"]))).toBe("succeeded");
  grants.issue(over("c", ["three"]));
  expect(said(await read("2", ["one", "three"]))).toBe("no_matching_grant");
  grants.revoke("demo", "b", later);
  expect(said(await read("3", ["one", "two"], later))).toBe("no_matching_grant");
  expect(tool.calls).toHaveLength(1);
});

describe("an approval of a running act of several", () => {
  /** Whether the act covers a note that none of its requirements names, and one that it does. */
  async function shownUnder(grants: readonly Grant[]): Promise<boolean[]> {
    const shown: boolean[] = [];
    const permits = memoryPermits();
    const tool = noteTool({
      requirement: () => [needs("notes", "one"), needs("notes", "two")],
      async invoke(_context, call) {
        shown.push(
          await kernel.covers(call, needs("notes", "private")),
          await kernel.covers(call, needs("notes", "one")),
        );
        return { status: "succeeded", callId: call.id, tool: call.tool, completedAt: now, output: null };
      },
    });
    const { kernel } = worldOf({ grants, tools: [tool], permits });
    await kernel.invokeTool(contextOf(), callOf({ id: "1" }));
    permits.approve(permits.asked[0]?.id ?? "", { by: "human:carol", at: now });
    expect(said(await kernel.invokeTool(contextOf(), callOf({ id: "2" })))).toBe("succeeded");
    return shown;
  }

  test("shows it nothing under another grant", async () => {
    const both = over("free", ["one"]);
    const closed = { ...capability("files", ["notes", "private"], "read"), approval: "each" as const };
    const grants = [{ ...both, capabilities: [...both.capabilities, closed] }, guarded("careful", ["two"])];
    expect(await shownUnder(grants)).toEqual([false, true]);
  });

  test("is one to what its grant covers", async () => {
    expect(await shownUnder([guarded("careful", ["one", "two", "private"])])).toEqual([true, true]);
  });
});

test("a call of several is allowed exactly when each of them is, and takes one use of every bounded grant that carries one", async () => {
  const note = fc.constantFrom("one", "two", "three", "four");
  const held = fc.array(
    fc.record({ notes: fc.uniqueArray(note, { minLength: 1 }), maxUses: fc.option(fc.constantFrom(1, 5)) }),
    { maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(held, fc.uniqueArray(note, { minLength: 2 }), fc.boolean(), async (grants, notes, isLedger) => {
      const { kernel, read, used } = office(
        grants.map(({ notes: places, maxUses }, place) =>
          over(`${place}`, places, maxUses === null ? {} : { maxUses }),
        ),
        isLedger,
      );
      const alone = await Promise.all(notes.map((one) => kernel.authorize(contextOf(), { ...needs("notes", one) })));
      const isAllowed = alone.every(({ allowed }) => allowed);
      const result = await read(notes);
      // A tool of which nothing at all is granted is not even visible.
      expect(result.status).toBe(isAllowed ? "succeeded" : "denied");
      const carriers = new Set(isAllowed ? alone.map(({ matchedGrantId }) => matchedGrantId) : []);
      for (const [place, { maxUses }] of grants.entries())
        expect(await used(`${place}`)).toBe(maxUses !== null && carriers.has(`${place}`) ? 1 : 0);
    }),
    { numRuns: 200 },
  );
});
