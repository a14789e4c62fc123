import { describe, expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  portSecret,
  runAgent,
  untyped,
} from "../../test/deployment.ts";
import {
  aborted,
  calling,
  completed,
  recordingRun,
  pluginOf,
  requestOf,
  runGrant,
  saidOf,
  toolGrant,
  turnWorldOf,
  typesOf,
} from "../../test/turns.ts";
import {
  TurnResultSchema,
  type AccessContext,
  type TurnEvent,
  type TurnOptions,
  type TurnRequest,
} from "../contracts/index.ts";
import { createTurnExecutor, type TurnToExecute } from "./executor.ts";
import type { RuntimeOutcome, RuntimePlugin } from "./plugin.ts";

const runtime = { id: "test", version: "7" };
const defaultLimits = { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 };

const busy: RuntimePlugin["run"] = async (_turn, host) => {
  await host.invokeTool(calling("call-1"));
  host.emit({ type: "thought", data: { about: "notes" } });
  return completed({ text: "done" });
};

describe("a turn ends in one of five ways", () => {
  test("succeeded, with all of its events in order", async () => {
    const result = await turnWorldOf(busy).run();
    const common = { version: 1, executionId: "turn-1", traceId: "trace-1", occurredAt: "2026-01-01T12:00:00Z" };
    expect(result).toStrictEqual({
      version: 1,
      executionId: "turn-1",
      traceId: "trace-1",
      startedAt: "2026-01-01T12:00:00Z",
      completedAt: "2026-01-01T12:00:00Z",
      status: "succeeded",
      output: { text: "done" },
      metadata: { runtime },
      events: [
        { ...common, eventId: "event-1", sequence: 0, type: "turn.started", data: { runtime, limits: defaultLimits } },
        {
          ...common,
          eventId: "event-2",
          sequence: 1,
          type: "tool.requested",
          data: { callId: "call-1", tool: "files.read" },
        },
        {
          ...common,
          eventId: "event-3",
          sequence: 2,
          type: "tool.completed",
          data: { callId: "call-1", tool: "files.read", status: "succeeded" },
        },
        {
          ...common,
          eventId: "event-4",
          sequence: 3,
          type: "runtime.event",
          data: { type: "thought", data: { about: "notes" } },
        },
        { ...common, eventId: "event-5", sequence: 4, type: "turn.completed", data: {} },
      ],
    });
  });

  const endings: {
    name: string;
    run: RuntimePlugin["run"];
    aborts?: boolean;
    grants?: (typeof runGrant)[];
    said: string;
    last: string;
    first?: string;
  }[] = [
    { name: "succeeded", run: () => Promise.resolve(completed()), said: "succeeded", last: "turn.completed" },
    {
      name: "failed, as the plugin says",
      run: () => Promise.resolve({ type: "fail", error: { code: "no_paper", message: "The printer is empty." } }),
      said: "no_paper",
      last: "turn.failed",
    },
    {
      name: "escalated",
      run: () => Promise.resolve({ type: "escalate", reason: "May I?" }),
      said: "escalated",
      last: "turn.escalated",
    },
    {
      name: "cancelled",
      run: async (_turn, _host, signal) => (await aborted(signal), completed()),
      aborts: true,
      said: "turn_cancelled",
      last: "turn.cancelled",
    },
    {
      name: "denied",
      run: () => fails(),
      grants: [toolGrant],
      said: "no_matching_grant",
      last: "turn.denied",
      first: "turn.denied",
    },
  ];
  for (const { name, run, aborts, grants, said, last, first = "turn.started" } of endings) {
    test(`${name}: one terminal event, the last one, and a result that fits the contract`, async () => {
      const caller = new AbortController();
      const world = turnWorldOf(run, grants && { grants });
      const onEvent = ({ type }: TurnEvent): void => {
        if (aborts === true && type === "turn.started") caller.abort();
      };
      const result = await world.run({}, { signal: caller.signal, onEvent });
      expect(saidOf(result)).toBe(said);
      expect(TurnResultSchema.safeParse(result)).toMatchObject({ success: true });
      expect(typesOf(result).at(0)).toBe(first);
      expect(typesOf(result).filter((type) => /^turn\.(?!started)/.test(type))).toStrictEqual([last]);
      expect(typesOf(result).at(-1)).toBe(last);
      const { error } = { error: undefined, ...result };
      expect(result.events.at(-1)?.data).toStrictEqual(error === undefined ? {} : { code: said });
    });
  }

  test("the nine kinds of events are those of the wire", async () => {
    const results = await Promise.all([
      turnWorldOf(busy).run(),
      ...endings.map(({ run, grants, aborts }) =>
        turnWorldOf(run, grants && { grants }).run({}, aborts === true ? { signal: AbortSignal.abort() } : {}),
      ),
    ]);
    expect([...new Set(results.flatMap(typesOf))].toSorted()).toStrictEqual([
      "runtime.event",
      "tool.completed",
      "tool.requested",
      "turn.cancelled",
      "turn.completed",
      "turn.denied",
      "turn.escalated",
      "turn.failed",
      "turn.started",
    ]);
  });

  for (const version of [1, "1"] as const) {
    test(`version ${JSON.stringify(version)} of the request is repeated in the result and in every event`, async () => {
      const result = await turnWorldOf(busy).run({ version });
      expect(result.version).toBe(version);
      expect(new Set(result.events.map((event) => event.version))).toStrictEqual(new Set([version]));
    });
  }
});

describe("before a turn is admitted", () => {
  const other = { kind: "agent", agentId: "other" } as const;
  const rows: { name: string; context?: Partial<AccessContext>; turn?: Partial<TurnRequest>; code: string }[] = [
    { name: "another agent acts", context: { actor: other }, code: "actor_mismatch" },
    {
      name: "a namesake of another kind acts",
      context: { actor: { kind: "service", serviceId: "helper" } },
      code: "actor_mismatch",
    },
    { name: "the turn names another agent", turn: { agent: other }, code: "actor_mismatch" },
    {
      name: "the message is for another agent",
      turn: { message: envelopeOf({ receiver: other }) },
      code: "receiver_mismatch",
    },
    {
      name: "the message is for a person",
      turn: { message: envelopeOf({ receiver: alice }) },
      code: "receiver_mismatch",
    },
    {
      name: "the message is of another trace",
      turn: { message: envelopeOf({ receiver: agent, traceId: "trace-2" }) },
      code: "message_context_mismatch",
    },
    {
      name: "the message has another purpose",
      turn: { message: envelopeOf({ receiver: agent, purpose: "spy" }) },
      code: "message_context_mismatch",
    },
  ];
  for (const { name, context = {}, turn = {}, code } of rows) {
    test(`${name}: denied ${code}, nothing is loaded and nothing runs`, async () => {
      const { run, given } = recordingRun();
      let loads = 0;
      const load = () => {
        loads += 1;
        return Promise.resolve([runGrant]);
      };
      const world = turnWorldOf(run, { source: { load } });
      const result = await world.run({ ...turn, context });
      expect(result).toMatchObject({ status: "denied", error: { code, retryable: false }, traceId: "trace-1" });
      expect(typesOf(result)).toStrictEqual(["turn.denied"]);
      expect(result.events.map(({ traceId }) => traceId)).toStrictEqual(["trace-1"]);
      expect({ loads, given }).toStrictEqual({ loads: 0, given: [] });
      expect(world.events.map(({ type, outcome, reason }) => ({ type, outcome, reason }))).toStrictEqual([
        { type: "turn.ended", outcome: "denied", reason: code },
      ]);
    });
  }

  test("a message from anyone is taken: who sends says nothing about what the agent may do", async () => {
    const result = await turnWorldOf(busy).run({ message: envelopeOf({ sender: bob, receiver: agent }) });
    expect(result.status).toBe("succeeded");
  });

  const admissions: { name: string; grants: (typeof runGrant)[]; code: string }[] = [
    { name: "no grant at all", grants: [], code: "no_matching_grant" },
    {
      name: "a grant for another agent",
      grants: [grantOf("run", { capabilities: [capability("service.execution", ["agent", "helper-2"], "invoke")] })],
      code: "no_matching_grant",
    },
    {
      name: "a grant for another action",
      grants: [grantOf("run", { capabilities: [capability("service.execution", ["agent", "helper"], "read")] })],
      code: "no_matching_grant",
    },
    {
      name: "a revoked grant",
      grants: [{ ...runGrant, revokedAt: "2026-01-01T11:00:00Z" }],
      code: "no_matching_grant",
    },
    { name: "an allowed turn", grants: [runGrant], code: "succeeded" },
  ];
  for (const { name, grants, code } of admissions) {
    test(`admission with ${name}: ${code}`, async () => {
      const { run, given } = recordingRun();
      expect(saidOf(await turnWorldOf(run, { grants }).run())).toBe(code);
      expect(given).toHaveLength(code === "succeeded" ? 1 : 0);
    });
  }

  test("admission takes one use of a bounded grant, and the turn after the last use is denied", async () => {
    const bounded = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 2 } });
    const { run, given } = recordingRun();
    const world = turnWorldOf(run, { grants: [bounded] });
    const said = [];
    for (let turn = 0; turn < 3; turn += 1) said.push(saidOf(await world.run()));
    expect(said).toStrictEqual(["succeeded", "succeeded", "grant_exhausted"]);
    expect(given).toHaveLength(2);
    expect(await world.usage.used("demo", "run")).toBe(2);
  });

  test("grants that cannot be read deny the turn by code, and only the operator gets the words", async () => {
    const world = turnWorldOf(busy, { source: { load: fails } });
    const result = await world.run();
    expect(result).toMatchObject({ status: "denied", error: { code: "authority_unavailable" } });
    expect(JSON.stringify(result)).not.toContain(portSecret);
    expect(world.portErrors).toMatchObject([{ error: { message: portSecret } }]);
  });

  const misuses: { name: string; turn: unknown }[] = [
    { name: "a request that does not fit", turn: { ...requestOf(), version: 2, context: contextOf() } },
    { name: "a request with grants in it", turn: { ...requestOf(), grants: [], context: contextOf() } },
    { name: "a context that does not fit", turn: { ...requestOf(), context: { actor: agent } } },
    { name: "limits out of range", turn: { ...requestOf({ options: { maxSteps: 0 } }), context: contextOf() } },
  ];
  for (const { name, turn } of misuses) {
    test(`${name} is the host's mistake and rejects`, async () => {
      const { kernel } = turnWorldOf(busy);
      const turns = createTurnExecutor({ kernel, runtime: pluginOf(busy) });
      await expect(turns.execute({ ...requestOf(), context: contextOf() })).resolves.toMatchObject({
        status: "succeeded",
      });
      await expect(turns.execute(untyped<TurnToExecute>(turn))).rejects.toThrow(TypeError);
    });
  }

  test("an executor that is given no clock and no ids has its own", async () => {
    const { kernel } = turnWorldOf(busy);
    const turns = createTurnExecutor({ kernel, runtime: pluginOf(busy) });
    const { events } = await turns.execute({ ...requestOf(), context: contextOf() });
    expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(5);
    for (const { eventId, occurredAt } of events) {
      expect(eventId).toMatch(/^[0-9a-f-]{36}$/);
      expect(Date.parse(occurredAt)).toBeGreaterThan(Date.parse("2026-01-01T00:00:00Z"));
    }
  });

  test("defaults that do not fit the contract are refused when the executor is made", () => {
    const { kernel } = turnWorldOf(busy);
    const make = (defaults: TurnOptions) => createTurnExecutor({ kernel, runtime: pluginOf(busy), defaults });
    expect(() => make({ timeoutMs: 600_001 })).toThrow("timeoutMs");
    expect(() => make({ timeoutMs: 600_000 })).not.toThrow();
  });
});

describe("limits", () => {
  const rows: { name: string; asked?: TurnOptions; defaults?: TurnOptions; limits: object }[] = [
    { name: "the wire's own when nothing is said", limits: defaultLimits },
    {
      name: "maxToolCalls follows the request's maxSteps",
      asked: { maxSteps: 3 },
      limits: { ...defaultLimits, maxSteps: 3, maxToolCalls: 3 },
    },
    {
      name: "maxToolCalls follows the host's maxSteps",
      defaults: { maxSteps: 4 },
      limits: { ...defaultLimits, maxSteps: 4, maxToolCalls: 4 },
    },
    {
      name: "a default for maxToolCalls is used when the request says maxSteps",
      asked: { maxSteps: 3 },
      defaults: { maxToolCalls: 5 },
      limits: { ...defaultLimits, maxSteps: 3, maxToolCalls: 5 },
    },
    {
      name: "the request wins over the defaults",
      asked: { maxSteps: 1, maxToolCalls: 2, timeoutMs: 3 },
      defaults: { maxSteps: 7, maxToolCalls: 8, timeoutMs: 9 },
      limits: { maxSteps: 1, maxToolCalls: 2, timeoutMs: 3 },
    },
  ];
  for (const { name, asked, defaults, limits } of rows) {
    test(name, async () => {
      const { run, given } = recordingRun();
      const result = await turnWorldOf(run, { executor: { ...(defaults && { defaults }) } }).run({
        ...(asked && { options: asked }),
      });
      expect(given.map(({ turn, host }) => [turn.limits, host.limits])).toStrictEqual([[limits, limits]]);
      expect(result.events.at(0)?.data).toStrictEqual({ runtime, limits });
    });
  }
});

describe("the result names the runtime that ran", () => {
  const forged: RuntimeOutcome[] = [
    { type: "complete", output: 1, metadata: { runtime: { id: "forged", version: "0" }, own: true } },
    { type: "fail", error: { code: "x", message: "x" }, metadata: { runtime: "forged", own: true } },
    { type: "escalate", reason: "x", metadata: { runtime: null, own: true } },
  ];
  for (const outcome of forged) {
    test(`whatever the metadata of ${outcome.type} says`, async () => {
      const result = await turnWorldOf(() => Promise.resolve(outcome)).run();
      expect(result.metadata).toStrictEqual({ own: true, runtime: { id: "test", version: "7" } });
    });
  }

  test("no field of a request can choose another, and a manifest that changes later changes nothing", async () => {
    const plugin = pluginOf(() => Promise.resolve(completed()));
    const world = turnWorldOf(plugin);
    plugin.manifest.id = "forged";
    const result = await world.run({ metadata: { runtime: "other" }, state: { runtime: "other" } });
    expect(result.metadata).toStrictEqual({ runtime: { id: "test", version: "7" } });
  });

  test("also in turns that were denied or cancelled", async () => {
    const denied = await turnWorldOf(busy, { grants: [] }).run();
    const cancelled = await turnWorldOf(busy).run({}, { signal: AbortSignal.abort() });
    expect([denied.metadata, cancelled.metadata]).toStrictEqual([{ runtime }, { runtime }]);
  });
});

describe("the reach of turns", () => {
  const ending = grantOf("ending", { constraints: { expiresAt: "2026-01-01T12:05:00Z" } });
  const own = grantOf("own", { capabilities: [capability("mail", [], "read", { owner: bob })] });

  /** What turns in these contexts learned of their reach. */
  async function reachesIn(...contexts: Partial<AccessContext>[]): Promise<unknown[]> {
    const { run, given } = recordingRun();
    const world = turnWorldOf(run, { grants: [runGrant, ending, own] });
    for (const context of contexts) await world.run({ context });
    return given.map(({ turn }) => turn.reach);
  }

  function namespacesOf(reach: unknown): string[] {
    return (reach as { reach: { namespace: string }[] }).reach.map(({ namespace }) => namespace);
  }

  test("is found once for the same grants and owner, and frozen", async () => {
    const [first, second] = await reachesIn({}, {});
    expect(second).toBe(first);
    expect(Object.isFrozen(first) && Object.isFrozen((first as { reach: object[] }).reach[0])).toBe(true);
    expect(namespacesOf(first)).toStrictEqual(["files", "service.execution"]);
  });

  test("is another one for another owner", async () => {
    const reaches = await reachesIn({}, { owner: bob }, {});
    expect(reaches.map(namespacesOf)).toStrictEqual([
      ["files", "service.execution"],
      ["files", "mail", "service.execution"],
      ["files", "service.execution"],
    ]);
  });

  test("shrinks when a grant ends, and is not reused for those who come while it counts", async () => {
    const reaches = await reachesIn({}, { now: "2026-01-01T12:06:00Z" }, {});
    expect(reaches.map(namespacesOf)).toStrictEqual([
      ["files", "service.execution"],
      ["service.execution"],
      ["files", "service.execution"],
    ]);
  });
});
