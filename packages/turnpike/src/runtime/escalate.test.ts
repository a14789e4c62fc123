import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  agent,
  alice,
  bob,
  capability,
  deferred,
  fails,
  grantOf,
  later,
  portSecret,
  refusingAudit,
  untyped,
} from "../../test/deployment.ts";
import {
  calling,
  completed,
  dataOf,
  escalationGrant,
  mayEscalate,
  never,
  runGrant,
  saidOf,
  ticks,
  toolGrant,
  toolsOf,
  turnWorldOf,
  typesOf,
  type TurnWorld,
  type TurnWorldOptions,
} from "../../test/turns.ts";
import {
  ToolDescriptorSchema,
  type AccessContext,
  type AuthorityRequestInput,
  type Escalation,
  type JsonObject,
  type TurnResult,
} from "../contracts/index.ts";
import { escalationTool, escalationToolName } from "./escalate.ts";
import type { RuntimePlugin } from "./plugin.ts";
import { standardRuntime, type DriverDecision } from "./standard.ts";

const ask: AuthorityRequestInput = {
  capabilities: [capability("files", ["private"], "read")],
  constraints: { maxUses: 1 },
};
const escalating: RuntimePlugin["run"] = () => Promise.resolve({ type: "escalate", reason: "May I?" });

/** Escalates with an ask, which may claim anything. */
function asking(requestedAuthority: unknown): RuntimePlugin["run"] {
  return () =>
    Promise.resolve({
      type: "escalate",
      reason: "May I?",
      requestedAuthority: untyped<AuthorityRequestInput>(requestedAuthority),
    });
}

/** A runtime whose driver decides this once and then completes. */
function decides(...decisions: readonly DriverDecision[]): RuntimePlugin {
  let place = 0;
  const next = () => Promise.resolve(decisions[(place += 1) - 1] ?? { type: "complete" as const, output: "continued" });
  return standardRuntime({ open: () => Promise.resolve({ next }) });
}

function callToEscalate(args: JsonObject, id = "call-1"): DriverDecision {
  return { type: "tools", calls: [{ ...calling(id, "service.escalate"), arguments: args }] };
}

test("the affordance is an ordinary descriptor that a host registers", () => {
  const { descriptor } = escalationTool();
  expect(escalationToolName).toBe("service.escalate");
  expect(ToolDescriptorSchema.safeParse(descriptor)).toMatchObject({ success: true });
  expect(descriptor).toMatchObject({
    name: "service.escalate",
    namespace: "service",
    readWrite: "write",
    requiredCapability: { action: "request", resource: { namespace: "service", path: ["escalation"] } },
  });
});

test("an escalation is pending with the context's owner", async () => {
  const world = turnWorldOf(escalating);
  world.time.now = later;
  const result = await world.run();
  expect(result).toMatchObject({ status: "escalated" });
  expect("escalation" in result && result.escalation).toStrictEqual({
    status: "pending",
    reason: "May I?",
    requestedAt: "2026-01-01T12:10:00Z",
    reviewer: { kind: "human", userId: "alice" },
  });
  expect(typesOf(result)).toStrictEqual(["turn.started", "turn.escalated"]);
  expect(world.events.at(-2)).toMatchObject({ type: "escalation.requested", outcome: "escalated", receiver: alice });
});

test("the reviewer is the owner, not the authority and not the sender", async () => {
  const world = turnWorldOf(escalating);
  expect(await world.run({ context: { owner: bob } })).toMatchObject({ escalation: { reviewer: bob } });
});

describe("an escalation has to be offered", () => {
  const rows: {
    name: string;
    world?: TurnWorldOptions;
    context?: Partial<AccessContext>;
    offered?: string[];
    said: string;
  }[] = [
    { name: "registered, enabled and granted", said: "escalated" },
    {
      name: "granted above its place",
      world: { grants: [runGrant, grantOf("wide", { capabilities: [capability("service", [], "*")] })] },
      said: "escalated",
    },
    { name: "not registered", world: { tools: Object.values(toolsOf()) }, said: "tool_unavailable" },
    { name: "not enabled", context: { enabledToolNamespaces: ["files"] }, said: "tool_unavailable" },
    { name: "not granted", world: { grants: [runGrant, toolGrant] }, said: "tool_unavailable" },
    {
      name: "granted for another action",
      world: { grants: [runGrant, grantOf("near", { capabilities: [capability("service", ["escalation"], "read")] })] },
      said: "tool_unavailable",
    },
    { name: "not among the tools that the turn was offered", offered: ["files.read"], said: "tool_unavailable" },
    { name: "among the tools that the turn was offered", offered: ["service.escalate"], said: "escalated" },
    {
      name: "refused by the host's policy",
      world: { policy: { narrow: ({ action }) => (action === "request" ? {} : undefined) } },
      said: "tool_unavailable",
    },
  ];
  const runtimes: { by: string; run: () => RuntimePlugin | RuntimePlugin["run"] }[] = [
    { by: "a plugin's outcome", run: () => escalating },
    { by: "a driver's decision", run: () => decides({ type: "escalate", reason: "May I?" }) },
    { by: "a driver's call", run: () => decides(callToEscalate({ reason: "May I?" })) },
  ];
  for (const { name, world, context, offered, said } of rows) {
    for (const { by, run } of runtimes) {
      test(`${name}: ${said}, by ${by}`, async () => {
        const made = turnWorldOf(run(), world);
        const descriptor = escalationTool().descriptor;
        const tools = offered?.map((tool) => ({ ...descriptor, name: tool }));
        const result = await made.run({ ...(context && { context }), ...(tools && { tools }) });
        expect(saidOf(result)).toBe(said);
        expect(result.status).toBe(said === "escalated" ? "escalated" : "failed");
        expect(made.events.some(({ type }) => type === "escalation.requested")).toBe(said === "escalated");
      });
    }
  }

  const changes: { name: string; change: (world: TurnWorld) => void; said: string }[] = [
    { name: "nothing changes", change: () => {}, said: "escalated" },
    {
      name: "its grant is revoked",
      change: ({ grants }) => grants.revoke("demo", "escalate", "2026-01-01T11:59:00Z"),
      said: "tool_unavailable",
    },
    { name: "its grant expires", change: ({ time }) => (time.now = "2026-01-02T00:00:00Z"), said: "tool_unavailable" },
  ];
  for (const { name, change, said } of changes) {
    test(`${name} while the turn runs: ${said}`, async () => {
      const expiring = { ...escalationGrant, constraints: { expiresAt: "2026-01-02T00:00:00Z" } };
      const world: TurnWorld = turnWorldOf(
        () => {
          change(world);
          return Promise.resolve({ type: "escalate", reason: "May I?" });
        },
        { grants: [runGrant, expiring] },
      );
      expect(saidOf(await world.run())).toBe(said);
    });
  }

  test("a grant to escalate that is issued while the turn runs does not count in it", async () => {
    const world: TurnWorld = turnWorldOf(
      () => {
        world.grants.issue(escalationGrant);
        return Promise.resolve({ type: "escalate", reason: "May I?" });
      },
      { grants: [runGrant] },
    );
    expect(saidOf(await world.run())).toBe("tool_unavailable");
    expect(saidOf(await world.run({ executionId: "turn-2" }))).toBe("escalated");
  });

  test("an escalation takes one use of a bounded grant", async () => {
    const bounded = grantOf("escalate", { capabilities: [mayEscalate], constraints: { maxUses: 1 } });
    const world = turnWorldOf(escalating, { grants: [runGrant, bounded] });
    expect([saidOf(await world.run()), saidOf(await world.run())]).toStrictEqual(["escalated", "tool_unavailable"]);
    expect(await world.usage.used("demo", "escalate")).toBe(1);
  });
});

async function idOf(asked: AuthorityRequestInput, now?: string): Promise<string | undefined> {
  const world = turnWorldOf(asking(asked));
  if (now !== undefined) world.time.now = now;
  const result = await world.run();
  return "escalation" in result ? result.escalation.requestedAuthority?.id : undefined;
}

describe("the requested authority", () => {
  const minted = {
    id: expect.stringMatching(/^[0-9a-f]{64}$/),
    namespaceId: "demo",
    owner: alice,
    requester: agent,
    purpose: "help",
    requestedAt: "2026-01-01T12:00:00Z",
    ...ask,
  };

  test("is minted from the trusted context", async () => {
    const world = turnWorldOf(asking(ask));
    const result = await world.run();
    expect("escalation" in result && result.escalation.requestedAuthority).toStrictEqual(minted);
    expect(world.events.at(-2)?.metadata).toStrictEqual({
      authorityRequestId: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  const claims: Record<string, unknown>[] = [
    { requester: bob },
    { owner: bob },
    { namespaceId: "elsewhere" },
    { purpose: "spy" },
    { requestedAt: "1999-01-01T00:00:00Z" },
    { id: "forged" },
    { grants: [grantOf("forged")], status: "approved" },
  ];
  for (const claim of claims) {
    test(`does not believe a plugin that claims ${Object.keys(claim).join(" and ")}`, async () => {
      const result = await turnWorldOf(asking({ ...ask, ...claim })).run();
      expect("escalation" in result && result.escalation.requestedAuthority).toStrictEqual(minted);
    });
  }

  test("has the same id for the same ask, and another for another", async () => {
    const id = await idOf(ask);
    expect(id).toBeTypeOf("string");
    expect(await idOf(ask, later)).toBe(id);
    expect(await idOf({ ...ask, constraints: { maxUses: 2 } })).not.toBe(id);
  });

  const owners: { name: string; owner: object; status: string }[] = [
    { name: "the context's owner", owner: alice, status: "escalated" },
    { name: "another owner", owner: bob, status: "invalid_runtime_outcome" },
    {
      name: "a namesake of another kind",
      owner: { kind: "service", serviceId: "alice" },
      status: "invalid_runtime_outcome",
    },
  ];
  for (const { name, owner, status } of owners) {
    test(`for capabilities that name ${name}: ${status}`, async () => {
      const [one] = ask.capabilities;
      const named = { ...one, resource: { ...one?.resource, owner } };
      const world = turnWorldOf(asking({ capabilities: [one, named] }));
      expect(saidOf(await world.run())).toBe(status);
      expect(world.events.some(({ type }) => type === "escalation.requested")).toBe(status === "escalated");
    });
  }
});

describe("a driver that calls service.escalate", () => {
  test("escalates with the call's arguments, and the call is no call of a tool", async () => {
    const result = await turnWorldOf(
      decides(callToEscalate({ reason: "May I?", requestedAuthority: untyped(ask) })),
    ).run();
    expect(result).toMatchObject({
      status: "escalated",
      escalation: { reason: "May I?", requestedAuthority: { ...ask, requester: agent } },
    });
    expect(typesOf(result)).toStrictEqual(["turn.started", "turn.escalated"]);
  });

  test("has its other calls of that step run first", async () => {
    const { read } = toolsOf();
    const calls = [{ ...calling("ask", "service.escalate"), arguments: { reason: "May I?" } }, calling("call-1")];
    const result = await turnWorldOf(decides({ type: "tools", calls }), { tools: [read, escalationTool()] }).run();
    expect(result.status).toBe("escalated");
    expect(dataOf(result, "tool.completed")).toMatchObject([{ callId: "call-1", status: "succeeded" }]);
    expect(read.calls).toHaveLength(1);
  });

  test("cannot claim who asks", async () => {
    const forged = untyped<JsonObject>({ ...ask, requester: bob, owner: bob });
    const result = await turnWorldOf(decides(callToEscalate({ reason: "May I?", requestedAuthority: forged }))).run();
    expect(result).toMatchObject({
      escalation: { reviewer: alice, requestedAuthority: { requester: agent, owner: alice } },
    });
  });
});

test("called as a plain tool it fails, escalates nothing, and the turn continues", async () => {
  const world = turnWorldOf(async (_turn, host) => {
    const result = await host.invokeTool({ ...calling("call-1", "service.escalate"), arguments: { reason: "May I?" } });
    return completed([result.status, saidOf(result)]);
  });
  expect(await world.run()).toMatchObject({ status: "succeeded", output: ["failed", "tool_execution_failed"] });
  expect(world.events.some(({ type }) => type === "escalation.requested")).toBe(false);
});

describe("the queue of escalations", () => {
  /** A queue that stores what it is handed. */
  function recordingQueue() {
    const stored: { context: AccessContext; escalation: Escalation }[] = [];
    const add = (context: AccessContext, escalation: Escalation): Promise<void> => {
      stored.push({ context, escalation });
      return Promise.resolve();
    };
    return { stored, add };
  }

  test("is handed the very escalation that the turn answers with, and the trusted context of that instant", async () => {
    const queue = recordingQueue();
    const world = turnWorldOf(asking(ask), { escalations: queue });
    world.time.now = later;
    const result = await world.run();
    expect(result.status).toBe("escalated");
    expect(queue.stored.map(({ escalation }) => escalation)).toStrictEqual(
      "escalation" in result ? [result.escalation] : [],
    );
    expect(queue.stored[0]?.context).toMatchObject({
      actor: agent,
      authority: alice,
      owner: alice,
      namespaceId: "demo",
      purpose: "help",
      traceId: "trace-1",
      executionId: "turn-1",
      now: "2026-01-01T12:10:00Z",
    });
  });

  test("has stored the escalation before the turn answers, and after it is in the audit log", async () => {
    const { promise, resolve } = deferred<void>();
    const order: string[] = [];
    const world: TurnWorld = turnWorldOf(escalating, {
      escalations: {
        async add() {
          order.push(`asked after ${world.events.at(-1)?.type}`);
          await promise;
          order.push("stored");
        },
      },
    });
    const running = world.run().then(({ status }) => order.push(status));
    await ticks(200);
    expect(order).toStrictEqual(["asked after escalation.requested"]);
    resolve();
    await running;
    expect(order).toStrictEqual(["asked after escalation.requested", "stored", "escalated"]);
  });

  const broken: { name: string; add: () => Promise<void> }[] = [
    { name: "rejects", add: fails },
    {
      name: "throws",
      add() {
        throw new Error(portSecret);
      },
    },
  ];
  for (const { name, add } of broken) {
    test(`that ${name} ends the turn failed, and only the operator learns why`, async () => {
      const world = turnWorldOf(asking(ask), { escalations: { add } });
      const result = await world.run();
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "escalation_unavailable", retryable: true },
      });
      expect(result).not.toHaveProperty("escalation");
      expect(typesOf(result)).toStrictEqual(["turn.started", "turn.failed"]);
      expect(JSON.stringify([result, world.events])).not.toContain(portSecret);
      expect(world.portErrors).toMatchObject([{ failure: { port: "escalations" }, error: { message: portSecret } }]);
      const { metadata } = world.events.findLast(({ outcome }) => outcome === "escalated") ?? {};
      expect(world.events.slice(-2)).toMatchObject([
        {
          type: "escalation.requested",
          outcome: "failed",
          reason: "escalation_unavailable",
          receiver: alice,
          metadata,
        },
        { type: "turn.ended", outcome: "failed", reason: "escalation_unavailable" },
      ]);
    });
  }

  test("that takes no more of the actor's escalations ends the turn failed, which is no fault of the queue", async () => {
    const world = turnWorldOf(asking(ask), { escalations: { add: () => Promise.resolve("full" as const) } });
    const result = await world.run();
    expect(result).toMatchObject({
      status: "failed",
      error: {
        code: "too_many_escalations",
        message:
          "The actor has as many open escalations as it may have: no more are opened until some are answered or expire.",
        retryable: true,
      },
    });
    expect(result).not.toHaveProperty("escalation");
    expect(world.portErrors).toStrictEqual([]);
    expect(world.events.slice(-2)).toMatchObject([
      { type: "escalation.requested", outcome: "failed", reason: "too_many_escalations", receiver: alice },
      { type: "turn.ended", outcome: "failed", reason: "too_many_escalations" },
    ]);
  });

  test("that stores the escalation after the caller has gone ends the turn escalated, not cancelled", async () => {
    const caller = new AbortController();
    const queue = recordingQueue();
    const world = turnWorldOf(escalating, {
      escalations: {
        async add(...escalation) {
          caller.abort();
          await ticks(5);
          return queue.add(...escalation);
        },
      },
    });
    const result = await world.run({}, { signal: caller.signal });
    expect([result.status, queue.stored.length]).toStrictEqual(["escalated", 1]);
    expect(world.events.at(-1)).toMatchObject({ type: "turn.ended", outcome: "escalated" });
  });

  test("that never answers holds the turn for a second longer than it lasts, and no caller is told to ask again", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const world = turnWorldOf(escalating, { escalations: { add: never } });
    let result: TurnResult | undefined;
    void world.run({ options: { timeoutMs: 20 } }).then((ended) => (result = ended));
    await vi.advanceTimersByTimeAsync(1_019);
    expect(result).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(result).toMatchObject({ status: "failed", error: { code: "escalation_unavailable", retryable: false } });
    expect(world.portErrors).toMatchObject([{ failure: { port: "escalations" } }]);
  });

  const silent: { name: string; world: TurnWorldOptions; run?: RuntimePlugin["run"]; said: string }[] = [
    { name: "a turn that completes", world: {}, run: () => Promise.resolve(completed()), said: "succeeded" },
    { name: "a turn that may not escalate", world: { grants: [runGrant, toolGrant] }, said: "tool_unavailable" },
    {
      name: "a request for another owner's places",
      world: {},
      run: asking({ capabilities: [capability("files", [], "read", { owner: bob })] }),
      said: "invalid_runtime_outcome",
    },
    {
      name: "an escalation that cannot be recorded",
      world: { audit: refusingAudit(({ type }) => type === "escalation.requested") },
      said: "audit_unavailable",
    },
    { name: "a turn that is not admitted", world: { grants: [escalationGrant] }, said: "no_matching_grant" },
  ];
  for (const { name, world, run = escalating, said } of silent) {
    test(`hears nothing of ${name}`, async () => {
      const queue = recordingQueue();
      expect(saidOf(await turnWorldOf(run, { ...world, escalations: queue }).run())).toBe(said);
      expect(queue.stored).toStrictEqual([]);
    });
  }

  test("makes no difference to a turn's answer while it works", async () => {
    const without = await turnWorldOf(asking(ask)).run();
    const withQueue = await turnWorldOf(asking(ask), { escalations: recordingQueue() }).run();
    expect(without.status).toBe("escalated");
    expect(withQueue).toStrictEqual(without);
  });
});
