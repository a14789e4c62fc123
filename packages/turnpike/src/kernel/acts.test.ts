import { describe, expect, test } from "vitest";
import {
  alice,
  bob,
  contextOf,
  fails,
  grantOf,
  capability,
  later,
  needs,
  noteTool,
  now,
  portSecret,
  providerOf,
  rejection,
  worldOf,
} from "../../test/deployment.ts";
import { atomicLedger } from "../../test/memory-ledger.ts";
import type { ActOutcome, ActRequest } from "../contracts/index.ts";
import { memoryActs, memoryPermits, memoryUsage, type MemoryPermits } from "../testing/index.ts";
import { isOver } from "./act-state.ts";
import type { ActStore, StoredAct } from "./act-store.ts";
import type { KernelOptions } from "./ports.ts";

const request: ActRequest = {
  version: 1,
  id: "act-1",
  tool: "summarize",
  needs: [needs("notes", "today")],
  requestedAt: now,
  traceId: "trace-1",
};
const done: ActOutcome = { version: 1, traceId: "trace-1", status: "succeeded", output: "short" };
const nothing: ActOutcome = {
  version: 1,
  traceId: "trace-1",
  status: "failed",
  error: { code: "no_disk", message: "No space.", nothingHappened: true },
};
const keyOfAct = { namespaceId: "demo", actor: contextOf().actor, scope: "trace trace-1", id: "act-1" };
const twoNotes = { needs: [needs("notes", "today"), needs("notes", "tomorrow")] };

type Options = NonNullable<Parameters<typeof worldOf>[0]> & Pick<Partial<KernelOptions>, "acts">;

/** A kernel with acts in memory, and shorthands for the one act of its tests. */
function actsOf(options: Options = {}) {
  const world = worldOf({ acts: memoryActs(), grants: [grantOf("notes")], ...options });
  const { kernel } = world;
  return {
    ...world,
    begin: async (changes: Partial<ActRequest> = {}, context = contextOf()) => {
      const beginning = await kernel.beginAct(context, { ...request, ...changes });
      return beginning.kind === "refused" ? beginning.code : beginning.state;
    },
    finish: (outcome: ActOutcome, context = contextOf()) => kernel.finishAct(context, "act-1", outcome),
  };
}

/** A store that finds its acts with these changes. */
function actsFoundWith(changes: Partial<StoredAct>, acts = memoryActs()): ActStore {
  const find: ActStore["find"] = async (key) => {
    const act = await acts.find(key);
    return act && { ...act, ...changes };
  };
  return { ...acts, find };
}

test("an act that is covered is allowed until the end of its lease", async () => {
  const { begin, kernel } = actsOf();
  const state = { status: "allowed", id: "act-1", expiresAt: "2026-01-01T12:05:00.000Z", grants: ["notes"] };
  expect(await begin()).toEqual(state);
  expect(await kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" })).toEqual(state);
  expect(await kernel.getAct(contextOf({ now: later }), "act-1", { traceId: "trace-1" })).toEqual({
    status: "interrupted",
    id: "act-1",
    expiresAt: "2026-01-01T12:05:00.000Z",
  });
});

test("each need has to be covered by a grant alone, and a denial says all that is needed", async () => {
  const { begin } = actsOf();
  const mail = { action: "send", resource: { namespace: "mail", path: [] } };
  expect(await begin({ needs: [needs("notes", "today"), mail] })).toMatchObject({
    status: "denied",
    error: { code: "no_matching_grant" },
    requiredAuthority: { capabilities: [{ actions: ["read"] }, { actions: ["send"], resource: mail.resource }] },
  });
  expect(await begin(twoNotes)).toMatchObject({ status: "allowed", grants: ["notes"] });
});

for (const { name, ledger } of [
  { name: "with a ledger", ledger: true },
  { name: "without one", ledger: false },
]) {
  test(`an act takes one use of each grant that it needs, ${name}`, async () => {
    const usage = memoryUsage();
    const { begin } = actsOf({
      usage,
      ...(ledger && { ledger: atomicLedger(usage) }),
      grants: [grantOf("notes", { constraints: { maxUses: 1 } })],
    });
    expect(await begin(twoNotes)).toMatchObject({ status: "allowed" });
    expect(await usage.used("demo", "notes")).toBe(1);
    expect(await begin({ ...twoNotes, id: "act-2" })).toMatchObject({ error: { code: "grant_exhausted" } });
  });
}

describe("a repeated request", () => {
  for (const { name, changes = {}, at = now, report, says } of [
    { name: "is pending within the lease", says: "replay_pending" },
    { name: "is interrupted after it", at: later, says: "replay_interrupted" },
    { name: "for another act is a conflict", changes: { tool: "other" }, says: "replay_conflict" },
    {
      name: "with other amounts is a conflict",
      changes: { spends: [{ unit: "EUR", amount: 1 }] },
      says: "replay_conflict",
    },
    {
      name: "observed at another time is answered with the outcome",
      changes: { requestedAt: later },
      report: done,
      says: { status: "succeeded", id: "act-1", output: "short", completedAt: now },
    },
  ]) {
    test(name, async () => {
      const { begin, finish } = actsOf();
      await begin();
      if (report !== undefined) await finish(report);
      expect(await begin(changes, contextOf({ now: at }))).toEqual(says);
    });
  }

  test("within another execution or trace is another act", async () => {
    const { begin } = actsOf();
    for (const changes of [{}, { executionId: "trace-1" }, { executionId: "turn-1" }])
      expect(await begin(changes)).toMatchObject({ status: "allowed" });
    expect(await begin({ traceId: "trace-2" }, contextOf({ traceId: "trace-2" }))).toMatchObject({ status: "allowed" });
  });

  test("of another actor is another act", async () => {
    const { begin } = actsOf({ grants: [grantOf("notes"), grantOf("bob", { subject: bob })] });
    await begin();
    expect(await begin({}, contextOf({ actor: bob }))).toMatchObject({ status: "allowed" });
  });
});

describe("an outcome", () => {
  test("is recorded once, and another one is a conflict", async () => {
    const { begin, finish, events } = actsOf();
    await begin();
    const ended = { status: "succeeded", id: "act-1", output: "short", completedAt: now };
    expect([await finish(done), await finish(done)]).toEqual([ended, ended]);
    expect(await rejection(finish({ ...done, output: "long" }))).toMatchObject({ code: "outcome_conflict" });
    expect(events.filter(({ type }) => type === "act.finished")).toEqual([]);
  });

  test("of nothing that happened frees the id and gives back what was taken, within the lease alone", async () => {
    const given: unknown[] = [];
    const acts = memoryActs({ onGivenBack: (taken) => void given.push(taken) });
    const { begin, finish } = actsOf({ acts, grants: [grantOf("notes", { constraints: { maxUses: 3 } })] });
    await begin();
    await finish(nothing);
    expect(given).toEqual([{ grants: ["notes"], uses: [{ namespaceId: "demo", grantId: "notes", maxUses: 3 }] }]);
    expect(await begin()).toMatchObject({ status: "allowed" });
    expect(await finish(nothing, contextOf({ now: later }))).toEqual({
      status: "failed",
      id: "act-1",
      completedAt: later,
      late: true,
      error: { code: "no_disk", message: "No space." },
    });
    expect(given).toHaveLength(1);
    expect(await begin({}, contextOf({ now: later }))).toMatchObject({ status: "failed", late: true });
  });

  test("is recorded after the grant was revoked, in the context that the act began in", async () => {
    const events: unknown[] = [];
    const record = (event: unknown) => Promise.resolve(void events.push(event));
    const { begin, finish, grants } = actsOf({ acts: memoryActs({ audit: { record } }) });
    await begin();
    grants.revoke("demo", "notes", now);
    await finish(done, contextOf({ authority: bob, owner: bob, purpose: "other", traceId: "trace-9" }));
    expect(events).toMatchObject([
      {
        type: "act.finished",
        outcome: "succeeded",
        tool: "summarize",
        operationId: "act-1",
        grantId: "notes",
        authority: alice,
        owner: alice,
        purpose: "help",
        traceId: "trace-1",
      },
    ]);
  });

  test("of an act that has begun anew elsewhere is that of the new beginning", async () => {
    const acts = memoryActs();
    const { begin, finish } = actsOf({ acts });
    await begin();
    const first = await acts.find(keyOfAct);
    await finish(nothing);
    await begin();
    const elsewhere = actsOf({ acts: { ...acts, recall: () => first } });
    expect(await elsewhere.finish(done)).toMatchObject({ status: "succeeded" });
    expect(await elsewhere.finish(done)).toMatchObject({ status: "succeeded" });
    expect(await rejection(elsewhere.finish({ ...done, output: "other" }))).toMatchObject({ code: "outcome_conflict" });
    expect(await acts.find(keyOfAct)).toMatchObject({
      claim: "claim-2",
      end: { status: "succeeded", output: "short" },
    });
  });

  test("that is reported again while the act begins anew leaves the new beginning as it is", async () => {
    const acts = memoryActs();
    const { begin, finish } = actsOf({ acts });
    await begin();
    const readBefore = [await acts.find(keyOfAct)];
    await finish(nothing);
    await begin();
    const find: ActStore["find"] = (key) =>
      readBefore.length > 0 ? Promise.resolve(readBefore.pop()) : acts.find(key);
    const slow = actsOf({ acts: { ...acts, find } });
    expect(await slow.finish(nothing)).toEqual({
      status: "failed",
      id: "act-1",
      completedAt: now,
      error: { code: "no_disk", message: "No space.", nothingHappened: true },
    });
    const anew = await acts.find(keyOfAct);
    expect([anew?.claim, anew?.end]).toEqual(["claim-2", undefined]);
  });

  test("of an act of an execution names the execution, and not the trace", async () => {
    const events: unknown[] = [];
    const record = (event: unknown) => Promise.resolve(void events.push(event));
    const { begin, finish, kernel } = actsOf({ acts: memoryActs({ audit: { record } }) });
    await begin({ executionId: "turn-1" }, contextOf({ executionId: "turn-1" }));
    expect(await rejection(finish(done))).toMatchObject({ code: "not_found" });
    expect(await finish({ version: 1, executionId: "turn-1", status: "succeeded" })).toEqual({
      status: "succeeded",
      id: "act-1",
      completedAt: now,
    });
    expect(await kernel.getAct(contextOf(), "act-1", { executionId: "turn-1" })).toMatchObject({ status: "succeeded" });
    expect(events).toMatchObject([{ type: "act.finished", traceId: "trace-1", executionId: "turn-1" }]);
  });

  test("has no event where there is no audit log", async () => {
    const events: unknown[] = [];
    const record = (event: unknown) => Promise.resolve(void events.push(event));
    const { begin, finish } = actsOf({ audit: "none", acts: memoryActs({ audit: { record } }) });
    await begin();
    expect(await finish(done)).toMatchObject({ status: "succeeded" });
    expect(events).toEqual([]);
  });

  test("of an act that is stored without grants names none", async () => {
    const events: object[] = [];
    const record = (event: object) => Promise.resolve(void events.push(event));
    const acts = actsFoundWith({ taken: { grants: [], uses: [] } }, memoryActs({ audit: { record } }));
    const { begin, finish } = actsOf({ acts });
    await begin();
    await finish(done);
    expect(events).toMatchObject([{ type: "act.finished", outcome: "succeeded" }]);
    expect(events[0]).not.toHaveProperty("grantId");
  });

  test("that was too large to store leaves the act interrupted, and another one is still a conflict", async () => {
    const { begin, finish, kernel } = actsOf({ acts: actsFoundWith({ end: "lost" }) });
    await begin();
    await finish(done);
    const interrupted = { status: "interrupted", id: "act-1", expiresAt: "2026-01-01T12:05:00.000Z" };
    expect(await kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" })).toEqual(interrupted);
    expect(await finish(done)).toEqual(interrupted);
    expect(await rejection(finish(nothing))).toMatchObject({ code: "outcome_conflict" });
  });

  test("of an act whose lease cannot be read is late, and gives nothing back", async () => {
    const given: unknown[] = [];
    const onGivenBack = (taken: unknown) => void given.push(taken);
    const { begin, finish, kernel } = actsOf({
      acts: actsFoundWith({ expiresAt: "soon" }, memoryActs({ onGivenBack })),
    });
    await begin();
    expect(await kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" })).toMatchObject({ status: "interrupted" });
    expect(await finish(nothing)).toMatchObject({ status: "failed", late: true });
    expect(given).toEqual([]);
  });

  for (const { name, outcome = done, context = contextOf(), code } of [
    {
      name: "that names neither trace nor execution",
      outcome: { version: 1, status: "succeeded" } as const,
      code: "invalid_request",
    },
    { name: "in an invalid context", context: contextOf({ now: "soon" }), code: "invalid_access_context" },
  ]) {
    test(`${name} is refused, and the act goes on`, async () => {
      const { begin, finish, kernel } = actsOf();
      await begin();
      expect(await rejection(finish(outcome, context))).toMatchObject({ code });
      expect(await kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" })).toMatchObject({ status: "allowed" });
    });
  }

  for (const { name, operation } of [
    { name: "of an act that did not begin", operation: () => actsOf().finish(done) },
    {
      name: "of an act of another actor",
      async operation() {
        const { begin, finish } = actsOf();
        await begin();
        return finish(done, contextOf({ actor: bob }));
      },
    },
    { name: "where there is no store", operation: () => worldOf().kernel.finishAct(contextOf(), "act-1", done) },
  ]) {
    test(`${name} is not found`, async () => {
      expect(await rejection(operation())).toMatchObject({ code: "not_found" });
    });
  }
});

describe("an act that needs approval", () => {
  const guarded = grantOf("guarded", {
    capabilities: [{ ...capability("files", ["notes"], "read"), approval: "each" }],
  });
  const openAsked = () => {
    const permits = memoryPermits();
    return { permits, ...actsOf({ permits, grants: [guarded] }) };
  };

  test("waits, and is allowed once a person approved exactly it", async () => {
    const { begin, permits } = openAsked();
    expect(await begin({ arguments: { note: 1 } })).toMatchObject({
      status: "waiting",
      escalationId: "escalation-1",
      requestHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    permits.approve("escalation-1", { by: "human:alice", at: now });
    expect(await begin({ arguments: { note: 2 } })).toMatchObject({ status: "waiting", escalationId: "escalation-2" });
    const same = { arguments: { note: 1 }, id: "act-2", leaseSeconds: 9, write: false };
    const elsewhere = { traceId: "trace-2", executionId: "turn-2", requestedAt: "2026-01-01T11:59:00Z" };
    const state = await begin({ ...same, ...elsewhere }, contextOf({ traceId: "trace-2" }));
    expect(state).toMatchObject({ status: "allowed", grants: ["guarded"] });
    expect(await begin({ arguments: { note: 1 }, id: "act-3" })).toMatchObject({ status: "waiting" });
  });

  test("is approved with its amounts, and with no others", async () => {
    const { begin, permits } = openAsked();
    await begin({ spends: [{ unit: "EUR", amount: 1 }] });
    expect(permits.asked).toMatchObject([{ act: { tool: "summarize", spends: [{ unit: "EUR", amount: 1 }] } }]);
    permits.approve("escalation-1", { by: "human:alice", at: now });
    expect(await begin({ spends: [{ unit: "EUR", amount: 2 }] })).toMatchObject({ escalationId: "escalation-2" });
    expect(await begin({ spends: [{ unit: "EUR", amount: 1 }] })).toMatchObject({ status: "allowed" });
  });

  test("names the open escalation when it is tried dry", async () => {
    const { begin, permits } = openAsked();
    await begin();
    expect(await begin({ dryRun: true })).toMatchObject({
      status: "waiting",
      escalationId: "escalation-1",
      expiresAt: "2026-01-02T12:00:00.000Z",
    });
    expect(permits.asked).toHaveLength(1);
  });

  describe("is found", () => {
    const waiting = { status: "waiting", id: "act-1", escalationId: "escalation-1" };
    const openFound = (options: Options = {}) => {
      const permits = memoryPermits();
      const world = actsOf({ permits, grants: [guarded], ...options });
      const get = (context = contextOf(), id = "act-1") => world.kernel.getAct(context, id, { traceId: "trace-1" });
      return { permits, ...world, get };
    };

    test("as waiting while a person is asked, and not under another key", async () => {
      const { begin, get, permits } = openFound();
      await begin();
      expect(await get()).toEqual({
        ...waiting,
        requestHash: permits.asked[0]?.hash,
        expiresAt: "2026-01-02T12:00:00.000Z",
      });
      for (const other of [
        get(contextOf({ actor: bob })),
        get(contextOf({ namespaceId: "else" })),
        get(undefined, "2"),
      ])
        expect(await rejection(other)).toMatchObject({ code: "not_found" });
    });

    for (const { name, answer, at = now } of [
      { name: "has approved it", answer: (permits) => permits.approve("escalation-1", { by: "human:alice", at: now }) },
      { name: "has denied it", answer: (permits) => permits.deny("escalation-1", { at: now }) },
      { name: "gave no answer in time", answer: () => {}, at: "2026-01-02T12:00:00Z" },
    ] satisfies { name: string; answer: (permits: MemoryPermits) => void; at?: string }[])
      test(`not any more when a person ${name}, and its id is free`, async () => {
        const { begin, get, permits } = openFound();
        await begin();
        answer(permits);
        expect(await rejection(get(contextOf({ now: at })))).toMatchObject({ code: "not_found" });
      });

    test("as what it is once it began", async () => {
      const { begin, finish, get, permits } = openFound();
      await begin();
      permits.approve("escalation-1", { by: "human:alice", at: now });
      await begin();
      await begin({ id: "act-2" });
      expect(await get()).toMatchObject({ status: "allowed" });
      await finish(done);
      expect(await get()).toMatchObject({ status: "succeeded" });
    });

    test("as waiting again when nothing happened at first", async () => {
      const { begin, finish, get, permits } = openFound();
      await begin();
      permits.approve("escalation-1", { by: "human:alice", at: now });
      await begin();
      await finish(nothing);
      expect(await get()).toMatchObject({ status: "failed" });
      await begin();
      expect(await get()).toMatchObject({ ...waiting, escalationId: "escalation-2" });
    });

    test("with a ledger that decides what waits", async () => {
      const permits = memoryPermits();
      const ledger = atomicLedger(memoryUsage(), permits);
      const { begin } = openFound({ permits, ledger });
      await begin();
      expect(ledger.asked.at(-1)?.map(({ requestHash }) => requestHash)).toEqual([permits.asked[0]?.hash]);
      permits.deny("escalation-1", { at: now });
      await begin();
      expect(ledger.asked.at(-1)?.map((choice) => "requestHash" in choice)).toEqual([false]);
    });

    test("not at all when the approvals cannot be read", async () => {
      const { begin, get, permits } = openFound();
      await begin();
      permits.find = fails;
      expect(await rejection(get())).toMatchObject({ message: portSecret });
    });

    test("not as waiting where no one can be asked", async () => {
      const acts = { ...memoryActs(), findWaiting: () => Promise.resolve("hash") };
      const { kernel } = actsOf({ acts });
      const get = kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" });
      expect(await rejection(get)).toMatchObject({ code: "not_found" });
    });
  });

  test("is denied once a person denied it", async () => {
    const { begin, permits } = openAsked();
    await begin();
    permits.deny("escalation-1", { at: now });
    expect(await begin()).toMatchObject({ status: "denied", error: { code: "approval_denied" } });
  });

  test("asks no one when it is tried dry, or only shadows", async () => {
    const { begin, permits } = openAsked();
    expect(await begin({ dryRun: true })).toMatchObject({ status: "waiting" });
    expect(await begin({ shadow: true })).toMatchObject({ status: "allowed", shadow: { status: "waiting" } });
    expect(permits.asked).toEqual([]);
  });

  test("is denied where no one can be asked", async () => {
    const { begin } = actsOf({ grants: [guarded] });
    for (const changes of [{}, { dryRun: true as const }])
      expect(await begin(changes)).toMatchObject({ status: "denied", error: { code: "approval_required" } });
  });
});

test("an allowed act is recorded with every place that it needs, and the action where it differs", async () => {
  const mail = grantOf("mail", { capabilities: [capability("mail", ["outbox"], "send")] });
  const { begin, events } = actsOf({ grants: [grantOf("notes"), mail] });
  const sending = { action: "send", resource: { namespace: "mail", path: ["outbox"] } };
  expect(await begin({ needs: [...twoNotes.needs, sending] })).toMatchObject({ grants: ["notes", "mail"] });
  expect(events.map(({ metadata }) => metadata)).toEqual([
    {
      others: [
        { path: ["notes", "tomorrow"], grantId: "notes" },
        { action: "send", namespace: "mail", path: ["outbox"], grantId: "mail" },
      ],
    },
  ]);
});

test("a shadow is recorded as what it would have been, and a dry run as one", async () => {
  const { begin, events, usage } = actsOf({ grants: [grantOf("notes", { constraints: { maxUses: 1 } })] });
  await begin({ shadow: true });
  await begin({ shadow: true, needs: [needs("diary")] });
  await begin({ dryRun: true });
  expect(events.map(({ outcome, reason, metadata }) => [outcome, reason, metadata])).toMatchObject([
    ["shadow", undefined, { shadow: "allowed" }],
    ["shadow", "no_matching_grant", { shadow: "denied" }],
    ["allowed", undefined, { dryRun: true }],
  ]);
  expect(await usage.used("demo", "notes")).toBe(0);
});

test("a shadow says all that the act lacks, and a denial the first alone", async () => {
  const guarded = grantOf("guarded", {
    capabilities: [{ ...capability("files", ["letters"], "read"), approval: "each" }],
  });
  const { begin, events } = actsOf({ grants: [grantOf("notes"), guarded], permits: memoryPermits() });
  const lacking = [needs("diary"), needs("notes"), needs("letters"), needs("photos")];
  await begin({ shadow: true, needs: lacking });
  await begin({ needs: lacking });
  await begin({ shadow: true, needs: [needs("diary"), needs("notes")] });
  const resource = (name: string) => ({ namespace: "files", path: [name] });
  expect(events.map(({ resource: first, metadata }) => [first, metadata?.["lacking"]])).toEqual([
    [
      resource("diary"),
      [
        { action: "read", resource: resource("letters"), reason: "approval_required" },
        { action: "read", resource: resource("photos"), reason: "no_matching_grant" },
      ],
    ],
    [resource("diary"), undefined],
    [resource("diary"), undefined],
  ]);
});

for (const { name, options = {}, changes = {}, context = contextOf(), code } of [
  { name: "of another trace", context: contextOf({ traceId: "trace-2" }), code: "trace_mismatch" },
  { name: "whose grants cannot be read", options: { source: { load: fails } }, code: "authority_unavailable" },
  { name: "whose decision cannot be recorded", options: { audit: { record: fails } }, code: "audit_unavailable" },
  {
    name: "whose dry run cannot be recorded",
    options: { audit: { record: fails } },
    changes: { dryRun: true as const },
    code: "audit_unavailable",
  },
  { name: "in an invalid context", context: contextOf({ now: "soon" }), code: "invalid_context" },
  { name: "whose request is malformed", changes: { requestedAt: "soon" }, code: "invalid_request" },
  {
    name: "on another owner's resource",
    changes: { needs: [{ action: "read", resource: { namespace: "files", path: ["notes"], owner: bob } }] },
    code: "invalid_request",
  },
]) {
  test(`an act ${name} is denied, and its id stays free`, async () => {
    const { begin, kernel } = actsOf(options);
    expect(await begin(changes, context)).toMatchObject({ status: "denied", error: { code } });
    expect(await rejection(kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" }))).toMatchObject({
      code: "not_found",
    });
  });
}

for (const { name, tool, isOffered } of [
  { name: "that is registered", tool: "files.read", isOffered: true },
  { name: "in a namespace that a provider serves", tool: "mail.send", isOffered: true },
  { name: "that only begins like a namespace", tool: "mailbox.send", isOffered: false },
  { name: "of the caller's own", tool: "summarize", isOffered: false },
]) {
  test(`an act of a tool ${name} is ${isOffered ? "refused" : "decided"}`, async () => {
    const { begin } = actsOf({ tools: [noteTool()], toolProviders: [providerOf("mail", ["mail"])] });
    const said = await begin({ tool }).catch((error: unknown) => error);
    expect(said).toMatchObject(isOffered ? { code: "tool_is_offered" } : { status: "allowed" });
  });
}

test("where acts are not stored, none begins and none is found", async () => {
  const { kernel } = worldOf({ grants: [grantOf("notes")] });
  expect(await rejection(kernel.beginAct(contextOf(), request))).toMatchObject({ code: "not_found" });
  expect(await rejection(kernel.getAct(contextOf(), "act-1", { traceId: "trace-1" }))).toMatchObject({
    code: "not_found",
  });
});

test("an act is not found without its trace or execution", async () => {
  const { begin, kernel } = actsOf();
  await begin();
  expect(await rejection(kernel.getAct(contextOf(), "act-1", {}))).toMatchObject({ code: "not_found" });
});

test("a store that begins an act without a decision allows nothing", async () => {
  const { begin, events } = actsOf({ acts: { ...memoryActs(), begin: () => Promise.resolve({ kind: "begun" }) } });
  expect(await rejection(begin())).toMatchObject({ message: "The store of acts did not ask for a decision." });
  expect(events).toEqual([]);
});

test("a lease is over at its end, and when an instant cannot be read", () => {
  const lease = { expiresAt: later };
  expect([isOver(lease, now), isOver(lease, later), isOver(lease, "soon"), isOver({ expiresAt: "soon" }, now)]).toEqual(
    [false, true, true, true],
  );
});

for (const { name, changes } of [
  { name: "of a trace", changes: {} },
  { name: "of an execution", changes: { executionId: "turn-1" } },
]) {
  test(`an act ${name} whose caller goes while it is decided takes nothing`, async () => {
    const given: unknown[] = [];
    const caller = new AbortController();
    const usage = memoryUsage();
    const consume: typeof usage.consume = (...use) => {
      caller.abort(new Error("gone"));
      return usage.consume(...use);
    };
    const { kernel } = actsOf({
      usage: { ...usage, consume },
      acts: memoryActs({ onGivenBack: (taken) => void given.push(taken) }),
      grants: [grantOf("notes", { constraints: { maxUses: 1 } })],
    });
    const gone = kernel.beginAct(contextOf(), { ...request, ...changes }, { signal: caller.signal });
    expect(await rejection(gone)).toMatchObject({ message: "gone" });
    expect(given).toHaveLength(1);
    expect(await kernel.beginAct(contextOf(), { ...request, ...changes, dryRun: true })).toMatchObject({
      kind: "decided",
    });
  });
}

test("an act whose caller goes stays taken when it cannot be given back, and the failure is reported", async () => {
  const caller = new AbortController();
  const usage = memoryUsage();
  const consume: typeof usage.consume = (...use) => {
    caller.abort(new Error("gone"));
    return usage.consume(...use);
  };
  const { begin, kernel, portErrors } = actsOf({
    usage: { ...usage, consume },
    acts: { ...memoryActs(), finish: fails },
    grants: [grantOf("notes", { constraints: { maxUses: 1 } })],
  });
  const gone = kernel.beginAct(contextOf(), request, { signal: caller.signal });
  expect(await rejection(gone)).toMatchObject({ message: "gone" });
  expect(portErrors.map(({ failure }) => failure)).toEqual([{ port: "acts" }]);
  expect(await begin()).toBe("replay_pending");
});
