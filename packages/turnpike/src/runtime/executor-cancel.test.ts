import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deferred, grantOf, runAgent } from "../../test/deployment.ts";
import {
  aborted,
  calling,
  completed,
  recordingRun,
  never,
  runGrant,
  ticks,
  toolOf,
  turnWorldOf,
  typesOf,
} from "../../test/turns.ts";
import type { AuditEvent, Grant } from "../contracts/index.ts";
import type { AuditSink } from "../kernel/index.ts";
import type { RuntimePlugin } from "./plugin.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets everything that waits for nothing but promises go as far as it can. */
async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

const cancelled = {
  status: "cancelled",
  error: { code: "turn_cancelled", message: expect.any(String), retryable: true },
};

/** A sink that stops at the events that `stops` picks until the gate is opened. */
function slowAudit(stops: (event: AuditEvent) => boolean): AuditSink & { events: AuditEvent[]; open(): void } {
  const events: AuditEvent[] = [];
  const gate = deferred<void>();
  return {
    events,
    open: () => gate.resolve(undefined),
    async record(event) {
      if (stops(event)) await gate.promise;
      events.push(event);
    },
  };
}

describe("a turn is cancelled at its deadline", () => {
  const late: { name: string; run: RuntimePlugin["run"] }[] = [
    { name: "never returns", run: never },
    { name: "returns late", run: async (_turn, _host, signal) => (await aborted(signal), completed("late")) },
    {
      name: "fails late",
      run: async (_turn, _host, signal) => (
        await aborted(signal),
        { type: "fail", error: { code: "late", message: "x" } }
      ),
    },
    {
      name: "escalates late",
      run: async (_turn, _host, signal) => (await aborted(signal), { type: "escalate", reason: "late" }),
    },
    {
      name: "throws late",
      async run(_turn, _host, signal) {
        await aborted(signal);
        throw new Error("late");
      },
    },
    { name: "returns long after", run: () => new Promise((resolve) => setTimeout(resolve, 5_000, completed("late"))) },
    {
      name: "rejects long after",
      run: () => new Promise((_resolve, reject) => setTimeout(reject, 5_000, new Error("late"))),
    },
  ];
  for (const { name, run } of late) {
    test(`with a plugin that ${name}`, async () => {
      const world = turnWorldOf(run);
      const turn = world.run({ options: { timeoutMs: 1_000 } });
      let isOver = false;
      void turn.then(() => (isOver = true));
      await vi.advanceTimersByTimeAsync(999);
      expect(isOver).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(isOver).toBe(true);
      const result = await turn;
      const before = structuredClone(result);
      expect(result).toMatchObject(cancelled);
      expect(typesOf(result)).toStrictEqual(["turn.started", "turn.cancelled"]);
      expect(world.turnErrors).toStrictEqual([]);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(result).toStrictEqual(before);
      expect(world.events.map(({ type }) => type)).toStrictEqual([
        "authorization.checked",
        "turn.started",
        "turn.ended",
      ]);
      expect(vi.getTimerCount()).toBe(0);
    });
  }

  test("and not an instant before, when the plugin returns in time", async () => {
    const world = turnWorldOf(() => new Promise((resolve) => setTimeout(resolve, 999, completed("in time"))));
    const turn = world.run({ options: { timeoutMs: 1_000 } });
    await vi.advanceTimersByTimeAsync(999);
    expect(await turn).toMatchObject({ status: "succeeded", output: "in time" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the default deadline is two minutes", async () => {
    const turn = turnWorldOf(never).run();
    let isOver = false;
    void turn.then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(119_999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await turn).toMatchObject(cancelled);
  });

  test("the clock runs while the turn is admitted: grants that never load cancel it", async () => {
    const world = turnWorldOf(never, { source: { load: never } });
    const turn = world.run({ options: { timeoutMs: 1_000 } });
    await vi.advanceTimersByTimeAsync(1_000);
    const result = await turn;
    expect(result).toMatchObject(cancelled);
    expect(typesOf(result)).toStrictEqual(["turn.cancelled"]);
  });

  test("the signal fires for the plugin and for the tool that runs, and the tool's late answer is dropped", async () => {
    const answers = deferred<string>();
    const seen: AbortSignal[] = [];
    const read = toolOf("files.read", { work: (_call, signal) => (seen.push(signal), answers.promise) });
    const world = turnWorldOf(
      async (_turn, host, signal) => {
        seen.push(signal);
        return completed((await host.invokeTool(calling("call-1"))).status);
      },
      { tools: [read] },
    );
    const turn = world.run({ options: { timeoutMs: 1_000 } });
    await vi.advanceTimersByTimeAsync(1_000);
    const result = await turn;
    expect(result).toMatchObject(cancelled);
    expect(seen.map((signal) => signal.aborted)).toStrictEqual([true, true]);
    answers.resolve("late");
    await settled();
    expect(typesOf(result)).toStrictEqual(["turn.started", "tool.requested", "turn.cancelled"]);
  });
});

/** Runs a turn that escalates and aborts it after so many rounds of promises; what happened, once all is quiet. */
async function abortedAfter(pause: number): Promise<{ status: string; auditLog: string[] }> {
  const caller = new AbortController();
  const requestedAuthority = { capabilities: runGrant.capabilities };
  const world = turnWorldOf(() => Promise.resolve({ type: "escalate", reason: "May I?", requestedAuthority }));
  const turn = world.run({}, { signal: caller.signal });
  await ticks(pause);
  caller.abort();
  const { status } = await turn;
  // The id of the ask is hashed outside of the event loop: wait for a hash that was begun after it.
  await crypto.subtle.digest("SHA-256", new Uint8Array(1024));
  await new Promise((resolve) => setImmediate(resolve));
  return { status, auditLog: world.events.map(({ type }) => type) };
}

describe("a caller that aborts", () => {
  test("before the turn starts: cancelled, nothing is consumed and nothing runs", async () => {
    const bounded = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 1 } });
    const { run, given } = recordingRun();
    const world = turnWorldOf(run, { grants: [bounded] });
    const result = await world.run({}, { signal: AbortSignal.abort() });
    expect(result).toMatchObject(cancelled);
    expect(typesOf(result)).toStrictEqual(["turn.cancelled"]);
    expect(given).toStrictEqual([]);
    expect(await world.usage.used("demo", "run")).toBe(0);
    expect(world.events.map(({ type, outcome, reason }) => ({ type, outcome, reason }))).toStrictEqual([
      { type: "turn.ended", outcome: "cancelled", reason: "turn_cancelled" },
    ]);
  });

  test("while grants load: cancelled, and grants that come late admit nothing", async () => {
    const grants = deferred<Grant[]>();
    const { run, given } = recordingRun();
    const caller = new AbortController();
    const world = turnWorldOf(run, { source: { load: () => grants.promise } });
    const turn = world.run({}, { signal: caller.signal });
    await settled();
    caller.abort();
    expect(await turn).toMatchObject(cancelled);
    grants.resolve([runGrant]);
    await settled();
    expect(given).toStrictEqual([]);
    expect(world.events.map(({ type }) => type)).toStrictEqual(["turn.ended"]);
  });

  for (const { name, readWrite, retryable } of [
    { name: "a read runs: cancelled, and to be tried again", readWrite: "read" as const, retryable: true },
    { name: "a write runs: cancelled, and not to be tried again", readWrite: "write" as const, retryable: false },
  ]) {
    test(`while ${name}`, async () => {
      const caller = new AbortController();
      const tool = toolOf("files.tool", { readWrite, work: never });
      const world = turnWorldOf(
        async (_turn, host) => completed((await host.invokeTool(calling("call-1", "files.tool"))).status),
        {
          tools: [tool],
        },
      );
      const turn = world.run({}, { signal: caller.signal });
      await settled();
      expect(tool.calls).toHaveLength(1);
      caller.abort();
      expect(await turn).toMatchObject({ status: "cancelled", error: { code: "turn_cancelled", retryable } });
    });
  }

  test("while the decision on a write is recorded: cancelled, the write never starts, and may be tried again", async () => {
    const caller = new AbortController();
    const tool = toolOf("files.write", { readWrite: "write" });
    const audit = slowAudit((event) => event.tool !== undefined);
    const world = turnWorldOf(
      async (_turn, host) => completed((await host.invokeTool(calling("call-1", "files.write"))).status),
      {
        tools: [tool],
        audit,
      },
    );
    const turn = world.run({}, { signal: caller.signal });
    await settled();
    caller.abort();
    expect(await turn).toMatchObject({ status: "cancelled", error: { retryable: true } });
    audit.open();
    await settled();
    expect(tool.calls).toStrictEqual([]);
  });

  test("while the end is recorded: too late, the turn has its ending", async () => {
    const caller = new AbortController();
    const audit = slowAudit(({ type }) => type === "turn.ended");
    const turn = turnWorldOf(() => Promise.resolve(completed("mine")), { audit }).run({}, { signal: caller.signal });
    await settled();
    caller.abort();
    audit.open();
    expect(await turn).toMatchObject({ status: "succeeded", output: "mine" });
    expect(audit.events.at(-1)).toMatchObject({ type: "turn.ended", outcome: "succeeded" });
  });

  test("while the decision to escalate is recorded: cancelled, and no escalation is in the audit log", async () => {
    const caller = new AbortController();
    const audit = slowAudit(({ action }) => action === "request");
    const world = turnWorldOf(() => Promise.resolve({ type: "escalate", reason: "May I?" }), { audit });
    const turn = world.run({}, { signal: caller.signal });
    await settled();
    caller.abort();
    expect(await turn).toMatchObject(cancelled);
    audit.open();
    await settled();
    expect(audit.events.map(({ type }) => type)).not.toContain("escalation.requested");
  });

  test("at any point: a turn that has ended in the audit log does not start there afterwards", async () => {
    vi.useRealTimers();
    const startedAfterEnd: number[] = [];
    for (let pause = 0; pause < 60; pause += 1) {
      const { auditLog } = await abortedAfter(pause);
      if (auditLog.indexOf("turn.started") > auditLog.indexOf("turn.ended")) startedAfterEnd.push(pause);
    }
    expect(startedAfterEnd).toStrictEqual([]);
  });

  test("at any point: a turn that is cancelled leaves no escalation in the audit log after its end", async () => {
    vi.useRealTimers();
    const escalatedAfterEnd: number[] = [];
    for (let pause = 0; pause < 60; pause += 1) {
      const { status, auditLog } = await abortedAfter(pause);
      if (status === "cancelled" && auditLog.indexOf("escalation.requested") > auditLog.indexOf("turn.ended"))
        escalatedAfterEnd.push(pause);
    }
    expect(escalatedAfterEnd).toStrictEqual([]);
  });

  test("is known to the plugin by its own reason, and is not an error to report", async () => {
    const caller = new AbortController();
    const reasons: unknown[] = [];
    const world = turnWorldOf(async (_turn, _host, signal) => {
      await aborted(signal);
      reasons.push(signal.reason);
      throw signal.reason;
    });
    const turn = world.run({}, { signal: caller.signal });
    await settled();
    caller.abort("gone");
    expect(await turn).toMatchObject(cancelled);
    await settled();
    expect(reasons).toStrictEqual(["gone"]);
    expect(world.turnErrors).toStrictEqual([]);
  });
});
