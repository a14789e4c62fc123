import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { act as anyAct, accessContext } from "../../test/arbitraries.ts";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  later,
  needs,
  noteTool,
  now,
  operationOf,
  portSecret,
  refusingAudit,
  runAgent,
  said,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import { atomicLedger } from "../../test/memory-ledger.ts";
import type { AuditEvent, Capability, ErrorObject, Grant, JsonObject, ToolResult } from "../contracts/index.ts";
import { canonicalJson } from "../internal/index.ts";
import { memoryMessages, memoryPermits, memoryResources, memoryUsage, type MemoryPermits } from "../testing/index.ts";
import { requestHash } from "./approval.ts";
import { deriveGrant } from "./derive.ts";
import type { DecisionLedger, KernelOptions, PermitStore } from "./ports.ts";

const guarded = (one: Capability): Capability => ({ ...one, approval: "each" });
const readNotes = capability("files", ["notes"], "read");
const afterAsking = grantOf("careful", { capabilities: [guarded(readNotes)] });

type Ports = Partial<Omit<KernelOptions, "grants" | "permits">>;

/** A world in which people answer, a tool that reads notes, and calls of it under fresh ids. */
function office(grants: readonly Grant[] = [afterAsking], ports: Ports = {}) {
  const permits = memoryPermits();
  const tool = noteTool();
  const world = worldOf({ tools: [tool], ...ports, permits, grants });
  let calls = 0;
  const read = (note = "today", at = now): Promise<ToolResult> =>
    world.kernel.invokeTool(contextOf({ now: at }), callOf({ id: `call-${(calls += 1)}`, arguments: { note } }));
  const approve = (at = now): void => permits.approve(permits.asked.at(-1)?.id ?? "", { by: "human:carol", at });
  return { ...world, permits, tool, read, approve };
}

function errorOf(result: object): ErrorObject | undefined {
  return "error" in result ? (result.error as ErrorObject) : undefined;
}

function typesOf(events: readonly AuditEvent[]): string[] {
  return events.map(({ type, outcome }) => `${type} ${outcome}`);
}

describe("an act under a capability that needs approval", () => {
  test("does not happen, and a person is asked about exactly that act", async () => {
    const { read, tool, permits } = office();
    const result = await read();
    const [asked] = permits.asked;
    expect(result).toMatchObject({ status: "denied", error: { code: "approval_required", retryable: true } });
    const { hash: asHash, expiresAt, id, act, request, grantId } = asked ?? {};
    expect(errorOf(result)?.details).toEqual({ escalationId: id, requestHash: asHash, expiresAt });
    expect(act).toEqual({ kind: "tool", tool: "files.read", arguments: { note: "today" } });
    expect({ request, grantId }).toEqual({ request: needs("notes", "today"), grantId: "careful" });
    expect(tool.calls).toEqual([]);
  });

  test("is in the audit log before a person is asked, without its arguments", async () => {
    const { read, events, permits } = office();
    await read("s3cret");
    expect(typesOf(events)).toEqual([
      "authorization.checked denied",
      "escalation.requested escalated",
      "tool.invoked denied",
    ]);
    expect(events[0]).toMatchObject({
      reason: "approval_required",
      metadata: { grants: [{ grantId: "careful", failed: "approval_required" }] },
    });
    expect(events[1]).toMatchObject({
      receiver: alice,
      tool: "files.read",
      grantId: "careful",
      metadata: { requestHash: permits.asked[0]?.hash },
    });
    // The note is in the path that the tool made of it, and nowhere else.
    expect(JSON.stringify(events).replaceAll('"path":["notes","s3cret"]', "")).not.toContain("s3cret");
  });

  test("joins the escalation that is open already, under whatever id", async () => {
    const { read, permits, events } = office();
    const [one, other] = [await read(), await read()];
    expect(errorOf(other)?.details).toEqual(errorOf(one)?.details);
    expect(permits.asked).toHaveLength(1);
    expect(typesOf(events).filter((type) => type.startsWith("escalation"))).toHaveLength(1);
  });

  test("happens once after an approval, under whatever id, and needs another approval after that", async () => {
    const { read, approve, tool, permits, events } = office();
    await read();
    approve();
    expect(await read()).toMatchObject({ status: "succeeded" });
    expect(tool.calls).toHaveLength(1);
    const used = events.find(({ type, outcome }) => type === "authorization.checked" && outcome === "allowed");
    const [asked] = permits.asked;
    expect(used).toMatchObject({
      grantId: "careful",
      metadata: { permit: { id: asked?.id, requestHash: asked?.hash, approvedBy: ["human:carol"] } },
    });
    expect(said(await read())).toBe("approval_required");
    expect(permits.asked).toHaveLength(2);
    expect(tool.calls).toHaveLength(1);
  });

  test("is another act with another argument", async () => {
    const { read, approve, tool } = office();
    await read("today");
    approve();
    expect(said(await read("tomorrow"))).toBe("approval_required");
    expect(tool.calls).toEqual([]);
    expect(said(await read("today"))).toBe("succeeded");
  });

  test("is what the tool made of its arguments: they run, and they are what a person reads", async () => {
    const parse = ({ note }: JsonObject): JsonObject => ({ note: String(note).trim() });
    const { read, approve, permits } = office([afterAsking], { tools: [noteTool({ parse })] });
    await read(" today ");
    expect(permits.asked[0]?.act).toMatchObject({ arguments: { note: "today" } });
    approve();
    expect(said(await read("today  "))).toBe("succeeded");
  });

  test("does not happen after a denial, for an hour, and no person is asked again", async () => {
    const { read, permits, tool } = office();
    await read();
    permits.deny(permits.asked[0]?.id ?? "", { at: now });
    const result = await read("today", "2026-01-01T12:59:59Z");
    expect(result).toMatchObject({ status: "denied", error: { code: "approval_denied", retryable: false } });
    expect(errorOf(result)?.details).toBeUndefined();
    expect(permits.asked).toHaveLength(1);
    expect(said(await read("today", "2026-01-01T13:00:00Z"))).toBe("approval_required");
    expect(tool.calls).toEqual([]);
  });

  test("does not happen without an answer in time, for an hour after that", async () => {
    const { read, permits } = office();
    await read();
    expect(said(await read("today", "2026-01-02T12:00:00Z"))).toBe("approval_expired");
    expect(said(await read("today", "2026-01-02T12:59:59Z"))).toBe("approval_expired");
    expect(permits.asked).toHaveLength(1);
    expect(said(await read("today", "2026-01-02T13:00:00Z"))).toBe("approval_required");
  });

  test("does not happen under an approval that has lapsed", async () => {
    const { read, approve, tool } = office();
    await read();
    approve();
    expect(said(await read("today", "2026-01-01T12:15:00Z"))).toBe("approval_required");
    expect(tool.calls).toEqual([]);
  });

  test("happens for one of forty calls that race for one approval", async () => {
    const { read, approve, tool, permits } = office();
    await read();
    approve();
    const results = await Promise.all(Array.from({ length: 40 }, () => read()));
    expect(results.filter(({ status }) => status === "succeeded")).toHaveLength(1);
    expect(new Set(results.map(said))).toEqual(new Set(["succeeded", "approval_required"]));
    expect(tool.calls).toHaveLength(1);
    expect(permits.asked).toHaveLength(2);
  });
});

describe("an approval", () => {
  test("does not revive a grant that was revoked", async () => {
    const { read, approve, tool, grants } = office();
    await read();
    approve();
    grants.revoke("demo", "careful", now);
    expect(said(await read())).toBe("tool_unavailable");
    expect(tool.calls).toEqual([]);
  });

  test("does not outlive its grant, whatever its own end is", async () => {
    const short = grantOf("careful", { ...afterAsking, constraints: { expiresAt: later } });
    const { read, approve, tool } = office([short]);
    await read();
    approve();
    expect(said(await read("today", later))).toBe("tool_unavailable");
    expect(tool.calls).toEqual([]);
  });

  const spoiled: { reason: string; grant?: Partial<Grant>; spoil: (world: ReturnType<typeof closable>) => unknown }[] =
    [
      { reason: "host_policy_denied", spoil: ({ close }) => close() },
      {
        reason: "delegation_chain_invalid",
        grant: { parentId: "parent" },
        spoil: ({ grants }) => grants.revoke("demo", "parent", now),
      },
      {
        reason: "grant_exhausted",
        grant: { constraints: { maxUses: 1 } },
        spoil: ({ usage }) => usage.consume("demo", "careful", 1),
      },
    ];
  function closable(changes: Partial<Grant> = {}) {
    let isClosed = false;
    const parent = grantOf("parent", { subject: alice, issuer: bob, constraints: { delegationDepth: 1 } });
    const policy = { narrow: () => (isClosed ? {} : undefined) };
    return { ...office([parent, { ...afterAsking, ...changes }], { policy }), close: () => void (isClosed = true) };
  }
  for (const { reason, grant, spoil } of spoiled) {
    test(`is worth nothing against ${reason}, and is still there`, async () => {
      const world = closable(grant);
      await world.read();
      world.approve();
      await spoil(world);
      expect(said(await world.read())).toBe(reason);
      expect(world.tool.calls).toEqual([]);
      const { hash = "" } = world.permits.asked[0] ?? {};
      expect(await world.permits.find("demo", hash, now)).toMatchObject({ kind: "permitted" });
    });
  }

  test("is for the grant that it was given under, not for another that covers the same", async () => {
    const { read, approve, tool, grants, permits } = office();
    await read();
    approve();
    grants.revoke("demo", "careful", now);
    grants.issue({ ...afterAsking, id: "another" });
    expect(said(await read())).toBe("approval_required");
    expect(permits.asked.map(({ grantId }) => grantId)).toEqual(["careful", "another"]);
    expect(tool.calls).toEqual([]);
  });

  test("counts where the store says that it is for this act alone, and not past the end that it names", async () => {
    const permit = { id: "permit-1", grantId: "careful", approvedBy: ["human:carol"], expiresAt: now };
    const permits = storeSaying({ find: () => Promise.resolve({ kind: "permitted", permit }) });
    const world = worldOf({ permits, grants: [afterAsking], tools: [noteTool()] });
    expect(said(await world.kernel.invokeTool(contextOf(), callOf()))).toBe("approval_required");
  });

  const others: { name: string; changes: Parameters<typeof contextOf>[0]; grant: Partial<Grant> }[] = [
    { name: "actor", changes: { actor: bob }, grant: { subject: bob } },
    { name: "authority", changes: { authority: bob }, grant: { issuer: bob } },
    { name: "owner", changes: { owner: bob }, grant: {} },
    { name: "purpose", changes: { purpose: "other" }, grant: {} },
    { name: "tenant", changes: { namespaceId: "elsewhere" }, grant: { namespaceId: "elsewhere" } },
  ];
  for (const { name, changes, grant } of others) {
    test(`is for no request of another ${name}`, async () => {
      const other = { ...afterAsking, ...grant, id: Object.keys(grant).length === 0 ? "careful" : "other" };
      const { read, approve, tool, kernel } = office(other.id === "careful" ? [afterAsking] : [afterAsking, other]);
      await read();
      approve();
      expect(said(await kernel.invokeTool(contextOf(changes), callOf()))).toBe("approval_required");
      expect(tool.calls).toEqual([]);
    });
  }
});

describe("uses and other grants", () => {
  test("no use is counted for an escalation; the act itself takes one", async () => {
    const { read, approve, usage } = office([{ ...afterAsking, constraints: { maxUses: 1 } }]);
    await read();
    await read();
    expect(await usage.used("demo", "careful")).toBe(0);
    approve();
    expect(said(await read())).toBe("succeeded");
    expect(await usage.used("demo", "careful")).toBe(1);
  });

  test("no person is asked about a grant that is used up", async () => {
    const { read, usage, permits } = office([{ ...afterAsking, constraints: { maxUses: 1 } }]);
    await usage.consume("demo", "careful", 1);
    expect(said(await read())).toBe("grant_exhausted");
    expect(permits.asked).toEqual([]);
  });

  test("no person is asked when uses cannot be counted", async () => {
    const usage = { used: fails, consume: fails };
    const { read, permits } = office([{ ...afterAsking, constraints: { maxUses: 1 } }], { usage });
    expect(said(await read())).toBe("usage_store_unavailable");
    expect(permits.asked).toEqual([]);
  });

  const permit = { id: "permit-1", grantId: "careful", approvedBy: [], expiresAt: later };
  const permitted = () => Promise.resolve({ kind: "permitted", permit } as const);

  test("no use is taken for an approval that another call used meanwhile, and nothing happens", async () => {
    const permits = storeSaying({ find: permitted, use: () => Promise.resolve(false) });
    const [tool, grants] = [noteTool(), [{ ...afterAsking, constraints: { maxUses: 1 } }]];
    const { kernel, usage } = worldOf({ permits, grants, tools: [tool] });
    expect(said(await kernel.invokeTool(contextOf(), callOf()))).toBe("approval_required");
    expect(await usage.used("demo", "careful")).toBe(0);
    expect(tool.calls).toEqual([]);
  });

  test("no person is asked about a grant whose last use another call took meanwhile, but about the next", async () => {
    const asked: string[] = [];
    const ask: PermitStore["ask"] = (_context, { grantId }) => {
      asked.push(grantId);
      return Promise.resolve({ id: "escalation", expiresAt: later });
    };
    const usage = { used: () => Promise.resolve(0), consume: () => Promise.resolve(false) };
    const bounded = { constraints: { maxUses: 1 } };
    const grants = [
      { ...afterAsking, ...bounded },
      { ...afterAsking, ...bounded, id: "second" },
    ];
    const { kernel } = worldOf({ permits: storeSaying({ find: permitted, ask }), usage, grants, tools: [noteTool()] });
    expect(said(await kernel.invokeTool(contextOf(), callOf()))).toBe("approval_required");
    expect(asked).toEqual(["second"]);
  });

  test("a grant that needs no approval is tried first, also a bounded one", async () => {
    const { read, usage, permits } = office([afterAsking, grantOf("bounded", { constraints: { maxUses: 1 } })]);
    expect(said(await read())).toBe("succeeded");
    expect(await usage.used("demo", "bounded")).toBe(1);
    expect(said(await read())).toBe("approval_required");
    expect(permits.asked).toHaveLength(1);
  });

  test("one grant with both needs no approval where a capability without it covers the act", async () => {
    const today = capability("files", ["notes", "today"], "read");
    const { read } = office([grantOf("both", { capabilities: [guarded(readNotes), today] })]);
    expect(said(await read("today"))).toBe("succeeded");
    expect(said(await read("tomorrow"))).toBe("approval_required");
  });

  test("a grant that covers the act without an approval is checked once", async () => {
    const capabilities = [guarded(readNotes), readNotes];
    const usage = { used: fails, consume: fails };
    const { read, portErrors } = office([grantOf("both", { capabilities, constraints: { maxUses: 1 } })], { usage });
    expect(said(await read())).toBe("usage_store_unavailable");
    expect(portErrors).toHaveLength(1);
  });

  test("no person is asked about what the policy refuses", async () => {
    const { read, permits } = office([afterAsking], { policy: { narrow: () => ({}) } });
    expect(said(await read())).toBe("host_policy_denied");
    expect(permits.asked).toEqual([]);
  });

  test("no person is asked about a grant whose chain is broken", async () => {
    const { read, permits } = office([{ ...afterAsking, parentId: "gone" }]);
    expect(said(await read())).toBe("delegation_chain_invalid");
    expect(permits.asked).toEqual([]);
  });

  test("a missing approval is told before a chain that is broken, and after one that cannot be read", async () => {
    const { read, permits } = office([afterAsking, grantOf("broken", { parentId: "gone" })]);
    expect(said(await read())).toBe("approval_required");
    expect(permits.asked).toHaveLength(1);
    const source = { load: () => Promise.resolve([afterAsking, grantOf("broken", { parentId: "gone" })]) };
    const other = memoryPermits();
    const unread = worldOf({ permits: other, source, tools: [noteTool()] });
    const result = await unread.kernel.invokeTool(contextOf(), callOf());
    expect(errorOf(result)).toEqual({
      code: "delegation_chain_unverified",
      message: expect.any(String) as string,
      retryable: true,
    });
    expect(other.asked).toEqual([]);
  });
});

/** A store that knows nothing, in parts replaced. */
function storeSaying(parts: Partial<PermitStore>): PermitStore {
  return {
    find: () => Promise.resolve(undefined),
    waiting: () => Promise.resolve([]),
    use: () => Promise.resolve(true),
    ask: () => Promise.resolve({ id: "escalation", expiresAt: later }),
    ...parts,
  };
}

describe("without an answer of the permit store nothing happens", () => {
  const permit = { id: "permit-1", grantId: "careful", approvedBy: [], expiresAt: later };
  const permitted = () => Promise.resolve({ kind: "permitted", permit } as const);
  const rows: { name: string; parts: Partial<Record<keyof PermitStore, unknown>> }[] = [
    { name: "that cannot be read", parts: { find: fails } },
    { name: "that cannot ask", parts: { ask: fails } },
    { name: "that cannot say whether the approval is used", parts: { find: permitted, use: fails } },
    {
      name: "that says something else than whether it is used",
      parts: { find: permitted, use: () => Promise.resolve(1) },
    },
    ...[null, 1, {}, { kind: "yes" }, { kind: "refused" }, { kind: "refused", reason: "no" }].map((state) => ({
      name: `that knows ${JSON.stringify(state)}`,
      parts: { find: () => Promise.resolve(state) },
    })),
    ...[{}, { id: "q" }, { ...permit, grantId: 1 }, { ...permit, approvedBy: "carol" }].map((one) => ({
      name: `with the permit ${JSON.stringify(one)}`,
      parts: { find: () => Promise.resolve({ kind: "permitted", permit: one }) },
    })),
    {
      name: "with an open escalation without an end",
      parts: { find: () => Promise.resolve({ kind: "asked", escalation: { id: "q" } }) },
    },
    ...[undefined, null, "yes", {}, { id: "q" }].map((answer) => ({
      name: `that answers an escalation with ${JSON.stringify(answer)}`,
      parts: { ask: () => Promise.resolve(answer) },
    })),
  ];
  for (const { name, parts } of rows) {
    test(`one ${name}`, async () => {
      const tool = noteTool();
      const permits = storeSaying(untyped<Partial<PermitStore>>(parts));
      const { kernel, portErrors } = worldOf({ permits, grants: [afterAsking], tools: [tool] });
      const result = await kernel.invokeTool(contextOf(), callOf());
      expect(result).toMatchObject({ status: "denied", error: { code: "permit_store_unavailable", retryable: true } });
      expect(JSON.stringify(result)).not.toContain(portSecret);
      expect(portErrors.map(({ failure }) => failure.port)).toEqual(["permits"]);
      expect(tool.calls).toEqual([]);
    });
  }

  test("an escalation that could not be opened is recorded as failed", async () => {
    const permits = storeSaying({ ask: fails });
    const { kernel, events } = worldOf({ permits, grants: [afterAsking], tools: [noteTool()] });
    await kernel.invokeTool(contextOf(), callOf());
    expect(typesOf(events).slice(1, 3)).toEqual(["escalation.requested escalated", "escalation.requested failed"]);
    expect(events[2]).toMatchObject({ reason: "permit_store_unavailable" });
  });

  test("without a store it needs an approval that no person can give, and no person is asked", async () => {
    const { kernel, events } = worldOf({ grants: [afterAsking], tools: [noteTool()] });
    const result = await kernel.invokeTool(contextOf(), callOf());
    expect(said(result)).toBe("approval_required");
    expect(errorOf(result)?.details).toBeUndefined();
    expect(typesOf(events)).toEqual(["authorization.checked denied", "tool.invoked denied"]);
    expect(await kernel.authorize(contextOf(), needs("notes", "today"))).toMatchObject({
      allowed: false,
      reasonCode: "approval_required",
    });
  });

  test("an actor with too many open escalations is told so, and opens no more", async () => {
    const permits = memoryPermits({ maxOpen: 1 });
    const { kernel, events } = worldOf({ permits, grants: [afterAsking], tools: [noteTool()] });
    await kernel.invokeTool(contextOf(), callOf());
    const result = await kernel.invokeTool(contextOf(), callOf({ id: "2", arguments: { note: "tomorrow" } }));
    expect(said(result)).toBe("approval_required");
    expect(errorOf(result)).toMatchObject({
      message: expect.stringContaining("as many open escalations") as string,
      details: { requestHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    });
    expect(errorOf(result)?.details).not.toHaveProperty("escalationId");
    expect(events.at(-2)).toMatchObject({
      type: "escalation.requested",
      outcome: "failed",
      reason: "too_many_escalations",
    });
  });

  test("no person is asked what could not be recorded", async () => {
    const audit = refusingAudit(({ type }) => type === "escalation.requested");
    const { read, permits } = office([afterAsking], { audit });
    expect(await read()).toMatchObject({ status: "failed", error: { code: "audit_unavailable" } });
    expect(permits.asked).toEqual([]);
  });

  test("nothing is used up when the decision cannot be stored by a ledger", async () => {
    const ledger: DecisionLedger = { decide: fails };
    const { read, permits } = office([afterAsking], { ledger });
    expect(said(await read())).toBe("audit_unavailable");
    expect(permits.asked).toEqual([]);
  });
});

describe("with a ledger", () => {
  /** A ledger over the permits and uses in memory. */
  function ledgerOf(permits: MemoryPermits, usage = memoryUsage()): DecisionLedger & { events: AuditEvent[] } {
    const events: AuditEvent[] = [];
    return {
      events,
      async decide(choices) {
        for (const [place, { uses: [use] = [], left: [left] = [], permit, event }] of choices.entries()) {
          if (left !== undefined && (await usage.used(left.namespaceId, left.grantId)) >= left.maxUses) continue;
          if (permit !== undefined && !(await permits.use(permit.namespaceId, permit.id))) continue;
          if (use !== undefined && !(await usage.consume(use.namespaceId, use.grantId, use.maxUses))) continue;
          events.push(event);
          return place;
        }
        throw new Error("The last choice takes nothing.");
      },
    };
  }

  for (const row of [
    { name: "a grant that needs an approval", grants: [afterAsking] },
    { name: "a bounded one", grants: [{ ...afterAsking, constraints: { maxUses: 1 } }] },
    {
      name: "a bounded one before one that needs an approval",
      grants: [grantOf("b", { constraints: { maxUses: 1 } }), afterAsking],
    },
    { name: "two that need an approval", grants: [afterAsking, { ...afterAsking, id: "second" }] },
  ]) {
    test(`acts happen, are refused and are told as with ports of their own: ${row.name}`, async () => {
      const usage = memoryUsage();
      const permits = memoryPermits();
      const ledger = ledgerOf(permits, usage);
      const together = worldOf({ grants: row.grants, tools: [noteTool()], permits, usage, ledger });
      const apart = office(row.grants);
      const seen: unknown[][] = [[], []];
      for (const step of ["read", "read", "approve", "read", "read"]) {
        if (step === "approve") {
          apart.approve();
          permits.approve(permits.asked.at(-1)?.id ?? "", { by: "human:carol", at: now });
          continue;
        }
        const id = `call-${seen[0]?.length ?? 0}`;
        for (const [place, { kernel }] of [apart, together].entries())
          seen[place]?.push(await kernel.invokeTool(contextOf(), callOf({ id })));
      }
      expect(seen[1]).toEqual(seen[0]);
      const told = ({ type, outcome, reason, grantId, metadata }: AuditEvent): unknown => [
        type,
        outcome,
        reason,
        grantId,
        metadata,
      ];
      const decisions = apart.events.filter(({ type }) => type === "authorization.checked");
      expect(ledger.events.map(told)).toEqual(decisions.map(told));
    });
  }

  test("a permit that another caller used meanwhile needs another approval, which is asked for", async () => {
    const permits = memoryPermits();
    const world = worldOf({ grants: [afterAsking], tools: [noteTool()], permits, ledger: ledgerOf(permits) });
    const read = () => world.kernel.invokeTool(contextOf(), callOf());
    await read();
    permits.approve(permits.asked[0]?.id ?? "", { by: "human:carol", at: now });
    const results = await Promise.all([read(), read(), read()]);
    expect(results.map(said).toSorted()).toEqual(["approval_required", "approval_required", "succeeded"]);
    expect(permits.asked).toHaveLength(2);
  });
});

test("with a ledger no person is asked about a grant whose last use went with the approval, but about the next", async () => {
  for (const { grants, says, asked } of [
    { grants: ["careful"], says: "grant_exhausted", asked: ["careful"] },
    { grants: ["careful", "second"], says: "approval_required", asked: ["careful", "second"] },
  ]) {
    const [permits, usage] = [memoryPermits(), memoryUsage()];
    const bounded = grants.map((id) => ({ ...afterAsking, id, constraints: { maxUses: 1 } }));
    const ledger = atomicLedger(usage, permits);
    const world = worldOf({ grants: bounded, tools: [noteTool()], permits, usage, ledger });
    const read = (id: string) => world.kernel.invokeTool(contextOf(), callOf({ id }));
    await read("1");
    permits.approve("escalation-1", { by: "human:carol", at: now });
    const results = await Promise.all([read("2"), read("3")]);
    expect(results.map(said).toSorted()).toEqual([says, "succeeded"].toSorted());
    expect(permits.asked.map(({ grantId }) => grantId)).toEqual(asked);
    expect(ledger.events.map(({ reason }) => reason)).toEqual(["approval_required", undefined, says]);
  }
});

test("what people said is read once a decision, however many grants need it", async () => {
  let reads = 0;
  const find = () => Promise.resolve(void (reads += 1));
  const permits = storeSaying({ find });
  const grants = [afterAsking, { ...afterAsking, id: "second" }];
  const { kernel } = worldOf({ permits, grants, tools: [noteTool()] });
  await kernel.invokeTool(contextOf(), callOf());
  expect(reads).toBe(1);
});

describe("authorize knows no act", () => {
  const request = needs("notes", "today");

  test("it says that an approval is needed, with an authority request, and asks no one", async () => {
    const { kernel, permits } = office();
    const decision = await kernel.authorize(contextOf(), request);
    expect(decision).toMatchObject({
      allowed: false,
      reasonCode: "approval_required",
      requiredAuthority: { capabilities: [{ resource: request.resource, actions: ["read"], scope: "exact" }] },
    });
    expect(permits.asked).toEqual([]);
  });

  test("it says allowed while an approval for some act there waits to be used, and does not use it up", async () => {
    const { kernel, read, approve } = office();
    await read();
    approve();
    const allowed = { allowed: true, reasonCode: "allowed", matchedGrantId: "careful" };
    expect(await kernel.authorize(contextOf(), request)).toEqual(allowed);
    expect(await kernel.authorize(contextOf(), request)).toEqual(allowed);
    expect(await kernel.authorize(contextOf(), needs("notes", "tomorrow"))).toMatchObject({ allowed: false });
    await read();
    expect(await kernel.authorize(contextOf(), request)).toMatchObject({ reasonCode: "approval_required" });
  });

  for (const waiting of [
    fails,
    () => Promise.resolve(untyped<never>({})),
    () => Promise.resolve(untyped<never>([{}])),
  ]) {
    test("it says so when the store gives no usable answer", async () => {
      const { kernel, portErrors } = worldOf({ permits: storeSaying({ waiting }), grants: [afterAsking] });
      expect(await kernel.authorize(contextOf(), request)).toEqual({
        allowed: false,
        reasonCode: "permit_store_unavailable",
      });
      expect(portErrors).toHaveLength(1);
    });
  }

  test("explain names the grant that needs an approval", async () => {
    const { kernel } = office();
    const { decision, grants } = await kernel.explain(contextOf(), request);
    expect(decision).toEqual({ allowed: false, reasonCode: "approval_required" });
    expect(grants).toEqual([{ grantId: "careful", failed: "approval_required" }]);
  });
});

test("reach leaves out what needs an approval, and the catalog offers it", async () => {
  const list = capability("files", ["notes"], "list");
  const { kernel } = office([grantOf("careful", { capabilities: [guarded(readNotes), list] })]);
  expect(await kernel.reach(contextOf())).toEqual({
    status: "computed",
    reach: [{ namespace: "files", path: ["notes"], actions: ["list"], scope: "descendants" }],
  });
  expect((await kernel.listTools(contextOf())).map(({ name }) => name)).toEqual(["files.read"]);
});

describe("every kind of act needs its approval", () => {
  test("a resource operation, by its input and metadata, and not by its id", async () => {
    const resources = memoryResources("files");
    const { kernel, approve, permits } = office([afterAsking], { resources: [resources] });
    const read = (changes: Parameters<typeof operationOf>[0]) =>
      kernel.invokeResource(contextOf(), operationOf(changes));
    const first = await read({ input: { from: 1 } });
    expect(first).toMatchObject({
      status: "denied",
      error: { code: "approval_required", details: { escalationId: permits.asked[0]?.id } },
    });
    expect(permits.asked[0]?.act).toEqual({
      kind: "resource",
      action: "read",
      resource: { namespace: "files", path: ["notes", "today"], owner: alice },
      input: { from: 1 },
    });
    approve();
    expect(said(await read({ operationId: "2", input: { from: 2 } }))).toBe("approval_required");
    expect(said(await read({ operationId: "3", input: { from: 1 }, metadata: { a: 1 } }))).toBe("approval_required");
    expect(said(await read({ operationId: "4", input: { from: 1 } }))).toBe("succeeded");
    expect(resources.operations).toHaveLength(1);
  });

  test("a message, by its receiver and payload, and not by its id", async () => {
    const messages = memoryMessages();
    const send = guarded(capability("service.messaging", ["human"], "send"));
    const { kernel, approve, permits } = office([grantOf("careful", { capabilities: [send] })], { messages });
    const deliver = (changes: Parameters<typeof envelopeOf>[0]) => kernel.sendMessage(contextOf(), envelopeOf(changes));
    const first = await deliver({});
    expect(first).toMatchObject({
      status: "denied",
      error: { code: "approval_required", details: { escalationId: permits.asked[0]?.id } },
    });
    expect(permits.asked[0]?.act).toEqual({ kind: "message", receiver: bob, payload: "hello" });
    approve();
    expect(said(await deliver({ id: "2", payload: "bye" }))).toBe("approval_required");
    expect(said(await deliver({ id: "3", receiver: alice }))).toBe("approval_required");
    expect(await deliver({ id: "4" })).toMatchObject({ messageId: "4" });
    expect(messages.delivered.map(({ id }) => id)).toEqual(["4"]);
  });

  test("a message, by all that its receiver is told: what it answers, and where it comes from", async () => {
    const messages = memoryMessages();
    const send = guarded(capability("service.messaging", ["human"], "send"));
    const { kernel, approve, permits } = office([grantOf("careful", { capabilities: [send] })], { messages });
    const provenance = { source: "mail", parentIds: ["1"], metadata: { says: "hello" } };
    const approved = { payload: "yes", replyTo: "shall I wait?", provenance };
    const deliver = async (changes: Parameters<typeof envelopeOf>[0]) =>
      said(await kernel.sendMessage(contextOf(), envelopeOf({ ...approved, ...changes })));
    await deliver({});
    expect(permits.asked[0]?.act).toEqual({ kind: "message", receiver: bob, ...approved });
    approve();
    expect(await deliver({ id: "2", replyTo: "shall I pay?" })).toBe("approval_required");
    expect(await deliver({ id: "3", provenance: { ...provenance, metadata: { says: "pay" } } })).toBe(
      "approval_required",
    );
    expect(messages.delivered).toEqual([]);
    await deliver({ id: "4" });
    expect(messages.delivered.map(({ id }) => id)).toEqual(["4"]);
  });

  test("a turn, by its agent and message", async () => {
    const { kernel, approve, permits } = office([grantOf("careful", { capabilities: [guarded(runAgent)] })]);
    const admit = (payload: string) =>
      kernel.admitTurn(contextOf(), { agent, message: envelopeOf({ sender: bob, receiver: agent, payload }) });
    const first = await admit("hello");
    expect(first).toMatchObject({
      kind: "refused",
      reason: "approval_required",
      error: { code: "approval_required", details: { escalationId: permits.asked[0]?.id } },
    });
    expect(permits.asked[0]?.act).toEqual({ kind: "turn", agent, sender: bob, payload: "hello" });
    approve();
    expect(await admit("bye")).toMatchObject({ reason: "approval_required" });
    const admitted = await admit("hello");
    expect(admitted).toMatchObject({ kind: "admitted" });
    expect(await admit("hello")).toMatchObject({ reason: "approval_required" });
  });

  test("a turn, by all that its agent is told: the message, its state and its metadata", async () => {
    const { kernel, approve, permits } = office([grantOf("careful", { capabilities: [guarded(runAgent)] })]);
    const [replyTo, state, metadata] = ["shall I wait?", { conversation: ["wait?"] }, { mode: "careful" }];
    const message = envelopeOf({ sender: bob, receiver: agent, payload: "yes", replyTo });
    const turn = { agent, message, state, metadata };
    await kernel.admitTurn(contextOf(), turn);
    expect(permits.asked[0]?.act).toEqual({
      kind: "turn",
      agent,
      sender: bob,
      payload: "yes",
      replyTo,
      state,
      metadata,
    });
    approve();
    for (const changed of [
      { message: { ...message, replyTo: "shall I pay?" } },
      { state: { conversation: ["pay?"] } },
      { metadata: { mode: "bold" } },
    ])
      expect(await kernel.admitTurn(contextOf(), { ...turn, ...changed })).toMatchObject({
        reason: "approval_required",
      });
    expect(await kernel.admitTurn(contextOf(), turn)).toMatchObject({ kind: "admitted" });
  });

  test("a turn of an unknown message is never admitted, and no person is asked", async () => {
    const { kernel, permits } = office([grantOf("careful", { capabilities: [guarded(runAgent)] })]);
    expect(await kernel.admitTurn(contextOf(), { agent })).toEqual({ kind: "refused", reason: "approval_required" });
    expect(permits.asked).toEqual([]);
  });

  test("a turn that was admitted after an approval continues without another", async () => {
    const { kernel, approve, grants, tool } = office([
      grantOf("run", { capabilities: [guarded(runAgent)] }),
      grantOf("notes"),
    ]);
    const message = envelopeOf({ receiver: agent });
    await kernel.admitTurn(contextOf(), { agent, message });
    approve();
    const admitted = await kernel.admitTurn(contextOf(), { agent, message });
    if (admitted.kind !== "admitted") throw new Error("It was refused.");
    const { signal } = new AbortController();
    expect(said(await admitted.scope.invokeTool(callOf(), now, signal))).toBe("succeeded");
    // Another set of grants is checked anew.
    grants.issue(grantOf("more", { capabilities: [capability("mail", [], "send")] }));
    expect(said(await admitted.scope.invokeTool(callOf({ id: "2" }), now, signal))).toBe("succeeded");
    const admission = admitted.scope.admission();
    const earlier = { admission, isAnswered: false, mayHaveTakenEffect: false };
    expect(await kernel.admitTurn(contextOf(), { agent, message, resumes: earlier })).toMatchObject({
      kind: "admitted",
    });
    grants.revoke("demo", "run", now);
    expect(said(await admitted.scope.invokeTool(callOf({ id: "3" }), now, signal))).toBe("no_matching_grant");
    expect(tool.calls).toHaveLength(2);
  });

  test("a turn that ended in the middle of its admission is not carried on by a grant that needs an approval", async () => {
    const { kernel } = office([grantOf("run", { capabilities: [guarded(runAgent)] })]);
    const began = { at: now, namespaces: ["files"] };
    const earlier = { admission: undefined, began, isAnswered: false, mayHaveTakenEffect: false };
    const message = envelopeOf({ receiver: agent });
    expect(await kernel.admitTurn(contextOf(), { agent, message, resumes: earlier })).toMatchObject({
      kind: "refused",
    });
  });
});

describe("inside a turn", () => {
  const running = grantOf("run", { capabilities: [runAgent] });

  async function turnOf(grants: readonly Grant[]) {
    const world = office([running, ...grants]);
    const admitted = await world.kernel.admitTurn(contextOf(), { agent });
    if (admitted.kind !== "admitted") throw new Error("It was refused.");
    const { signal } = new AbortController();
    let calls = 0;
    const read = () => admitted.scope.invokeTool(callOf({ id: `call-${(calls += 1)}` }), now, signal);
    return { ...world, read };
  }

  test("an approval lets the same call happen, also after other grants were issued", async () => {
    const { read, approve, grants, tool } = await turnOf([afterAsking]);
    expect(said(await read())).toBe("approval_required");
    approve();
    grants.issue(grantOf("more", { capabilities: [capability("mail", [], "send")] }));
    expect(said(await read())).toBe("succeeded");
    expect(tool.calls).toHaveLength(1);
  });

  test("what needed an approval at the admission needs one, whatever the grant says now", async () => {
    const { read, grants, tool } = await turnOf([afterAsking]);
    grants.issue({ ...afterAsking, capabilities: [readNotes] });
    expect(said(await read())).toBe("approval_required");
    expect(tool.calls).toEqual([]);
  });

  test("of grants that need an approval, those without counted uses are asked about first, whatever they said before", async () => {
    const bounded = grantOf("bounded", { ...afterAsking, id: "bounded", constraints: { maxUses: 1 } });
    const { read, grants, permits } = await turnOf([bounded, afterAsking]);
    grants.issue({ ...bounded, capabilities: [readNotes] });
    expect(said(await read())).toBe("approval_required");
    expect(permits.asked.map(({ grantId }) => grantId)).toEqual(["careful"]);
  });

  test("what needs an approval now needs one, whatever the grant said at the admission", async () => {
    const { read, grants, tool } = await turnOf([grantOf("careful")]);
    grants.issue(afterAsking);
    expect(said(await read())).toBe("approval_required");
    expect(tool.calls).toEqual([]);
  });
});

describe("a running act covers what needs an approval", () => {
  const shown = capability("files", ["notes"], "list");

  async function covered(grants: readonly Grant[], isApproved: boolean): Promise<boolean[]> {
    const seen: boolean[] = [];
    const tool = noteTool({
      async invoke(context, call) {
        seen.push(await world.kernel.covers(call, needs("notes", "other")));
        return { status: "succeeded", callId: call.id, tool: call.tool, completedAt: context.now, output: null };
      },
    });
    const world = office(grants, { tools: [tool] });
    await world.read();
    if (isApproved) {
      world.approve();
      await world.read();
    }
    return seen;
  }

  test("only when a person approved it under that grant", async () => {
    const today = capability("files", ["notes", "today"], "read");
    expect(await covered([grantOf("both", { capabilities: [guarded(readNotes), today, shown] })], false)).toEqual([
      false,
    ]);
    expect(await covered([afterAsking], true)).toEqual([true]);
  });

  test("and not under another grant", async () => {
    const today = grantOf("today", { capabilities: [guarded(capability("files", ["notes", "today"], "read"))] });
    const other = grantOf("other", { capabilities: [guarded(capability("files", ["notes", "other"], "read"))] });
    expect(await covered([today, other], true)).toEqual([false]);
  });
});

describe("a derived grant", () => {
  const parentOf = (capabilities: Capability[]): Grant =>
    grantOf("parent", { subject: alice, issuer: bob, capabilities, constraints: { delegationDepth: 1 } });
  const ask = (capabilities: Capability[]) => ({ id: "child", subject: agent, capabilities, issuedAt: now });

  test("may add that an approval is needed, and never drop it", () => {
    expect(deriveGrant(parentOf([readNotes]), ask([guarded(readNotes)]))).toMatchObject({ ok: true });
    expect(deriveGrant(parentOf([guarded(readNotes)]), ask([guarded(readNotes)]))).toMatchObject({ ok: true });
    expect(deriveGrant(parentOf([guarded(readNotes)]), ask([readNotes]))).toEqual({
      ok: false,
      reason: "capability_exceeds_parent",
    });
  });

  test("that dropped it carries nothing", async () => {
    const child = grantOf("child", { parentId: "parent" });
    const { read, permits } = office([parentOf([guarded(readNotes)]), child]);
    expect(said(await read())).toBe("delegation_chain_invalid");
    expect(permits.asked).toEqual([]);
  });
});

describe("the request hash", () => {
  test("is equal for equal content, in whatever order it is written, and for no other", () => {
    fc.assert(
      fc.property(accessContext, anyAct, accessContext, anyAct, (context, act, other, another) => {
        const bound = ({ namespaceId, actor, authority, owner, purpose }: typeof context) => ({
          namespaceId,
          actor,
          authority,
          owner,
          purpose,
        });
        const isSame = canonicalJson([bound(context), act]) === canonicalJson([bound(other), another]);
        expect(requestHash(context, act) === requestHash(other, another)).toBe(isSame);
        expect(requestHash(context, reversed(act))).toBe(requestHash(context, act));
        const elsewhere = {
          ...context,
          now: other.now,
          traceId: other.traceId,
          enabledToolNamespaces: [],
          executionId: "x",
        };
        expect(requestHash(elsewhere, act)).toBe(requestHash(context, act));
        for (const field of ["namespaceId", "actor", "authority", "owner", "purpose"] as const) {
          const changed = { ...context, [field]: other[field] };
          const isEqual = canonicalJson(changed[field]) === canonicalJson(context[field]);
          expect([field, requestHash(changed, act) === requestHash(context, act)]).toEqual([field, isEqual]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** The same value, with the keys of every object the other way round. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) return untyped<T>(value.map(reversed));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return untyped<T>(Object.fromEntries(entries.map(([key, part]) => [key, reversed(part)])));
}
