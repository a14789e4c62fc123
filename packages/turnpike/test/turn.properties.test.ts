import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  AuditEventSchema,
  TurnResultSchema,
  type AuditEvent,
  type JsonValue,
  type ToolResult,
  type TurnEvent,
  type TurnResult,
} from "../src/contracts/index.ts";
import { type RuntimeHost, type RuntimeOutcome, type RuntimePlugin } from "../src/runtime/index.ts";
import { descriptorOf, untyped } from "./deployment.ts";
import {
  escalateTool,
  calling,
  escalationGrant,
  never,
  runGrant,
  ticks,
  toolGrant,
  toolOf,
  turnWorldOf,
  type TurnWorld,
} from "./turns.ts";
import { timesOf } from "../../../tests/support/size.ts";

/** A wait of so many rounds of promises, and then of so many milliseconds. */
interface Pause {
  rounds: number;
  ms: number;
}

type Act =
  | { kind: "call"; id: number; tool: string; step: number; awaited: boolean }
  | { kind: "calls"; ids: number[]; tool: string }
  | { kind: "emit"; data: unknown }
  | { kind: "pause"; pause: Pause }
  | { kind: "revoke"; grant: string };

interface ToolScript {
  before: Pause;
  answer: "output" | "throws" | "nonsense" | "never";
}

/** Everything that is left to chance about one turn. */
interface Script {
  acts: Act[];
  /** What the plugin does when its acts are done: an outcome, or throwing, or never returning. */
  end: unknown;
  read: ToolScript;
  write: ToolScript;
  limits: { maxSteps: number; maxToolCalls: number; timeoutMs: number };
  aborts: Pause | undefined;
  slow: { grants: Pause; audit: Pause };
  refusedEvent: number | undefined;
  isAdmitted: boolean;
  hasAuditLog: boolean;
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const pause: fc.Arbitrary<Pause> = fc.record({
  rounds: fc.nat({ max: 25 }),
  ms: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 40 })),
});
const none: Pause = { rounds: 0, ms: 0 };
const short: fc.Arbitrary<Pause> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(none) },
  { weight: 1, arbitrary: fc.record({ rounds: fc.nat({ max: 6 }), ms: fc.constantFrom(0, 0, 0, 8) }) },
);
const toolName = fc.constantFrom(
  "files.read",
  "files.write",
  "files.read",
  "files.write",
  "files.hidden",
  "files.none",
  "service.escalate",
);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("call" as const),
      id: fc.nat({ max: 6 }),
      tool: toolName,
      step: fc.constantFrom(0, 0, 0, 0, 1, 2, 3, -1, Number.NaN, Number.POSITIVE_INFINITY),
      awaited: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("calls" as const),
      ids: fc.array(fc.nat({ max: 9 }), { maxLength: 6 }),
      tool: toolName,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("emit" as const),
      data: fc.constantFrom<unknown>(1, null, undefined, Number.NaN, { a: [1] }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("pause" as const), pause }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("revoke" as const), grant: fc.constantFrom("tools", "escalate", "run") }),
  },
);
const end: fc.Arbitrary<unknown> = fc.constantFrom(
  { type: "complete", output: "done" },
  { type: "complete", output: "done" },
  { type: "complete", output: Number.NaN },
  { type: "fail", error: { code: "mine", message: "x", retryable: true } },
  { type: "escalate", reason: "May I?" },
  { type: "escalate", reason: "" },
  undefined,
  "throws",
  "never",
);
const toolScript: fc.Arbitrary<ToolScript> = fc.record({
  before: short,
  answer: fc.constantFrom("output", "output", "output", "throws", "nonsense", "never"),
});
const script: fc.Arbitrary<Script> = fc.record({
  acts: fc.array(act, { maxLength: 8 }),
  end,
  read: toolScript,
  write: toolScript,
  limits: fc.record({
    maxSteps: fc.integer({ min: 1, max: 4 }),
    maxToolCalls: fc.integer({ min: 1, max: 5 }),
    timeoutMs: fc.constantFrom(1, 20, 60, 500),
  }),
  aborts: seldom(pause),
  slow: fc.record({ grants: short, audit: short }),
  refusedEvent: seldom(fc.nat({ max: 12 })),
  isAdmitted: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  hasAuditLog: fc.boolean(),
});

/** The timers of the test's own actors, which outlive a turn. */
let ownTimers = 0;

async function wait({ rounds, ms }: Pause): Promise<void> {
  await ticks(rounds);
  if (ms === 0) return;
  ownTimers += 1;
  await new Promise<void>((resolve) => setTimeout(resolve, ms));
  ownTimers -= 1;
}

/** Plays the acts, then ends. */
function pluginOf({ acts, end: how }: Script, world: () => TurnWorld): RuntimePlugin["run"] {
  return async (_turn, host) => {
    for (const one of acts) await play(one, host, world());
    if (how === "never") return never();
    if (how === "throws") throw new Error("thrown by the plugin");
    return untyped<RuntimeOutcome>(how);
  };
}

async function play(one: Act, host: RuntimeHost, world: TurnWorld): Promise<unknown> {
  switch (one.kind) {
    case "call": {
      const running = host.invokeTool(calling(`call-${one.id}`, one.tool), { step: one.step }).catch(() => {});
      return one.awaited ? running : undefined;
    }
    case "calls":
      return Promise.allSettled(one.ids.map((id) => host.invokeTool(calling(`call-${id}`, one.tool))));
    case "emit":
      try {
        return host.emit({ type: "thought", data: untyped<JsonValue>(one.data) });
      } catch {
        return undefined;
      }
    case "pause":
      return wait(one.pause);
    case "revoke":
      return world.grants.revoke("demo", one.grant, "2026-01-01T11:00:00Z");
  }
}

/** What happened in one turn and around it. */
interface Observed {
  result: TurnResult;
  shown: TurnEvent[];
  auditLog: AuditEvent[];
  /** Each time a handler was started, in order, and whether the turn was over by then. */
  started: { tool: string; id: string; isOver: boolean }[];
  /** Timers that were left, at the end, by anyone but the test's own actors. */
  /** At the end of the turn, and a while later. */
  timersLeft: number;
  timersLater: number;
  eventsLater: number;
}

async function observe(one: Script): Promise<Observed> {
  const started: Observed["started"] = [];
  const shown: TurnEvent[] = [];
  const auditLog: AuditEvent[] = [];
  const caller = new AbortController();
  const tool = (name: string, readWrite: "read" | "write", { before, answer }: ToolScript) =>
    toolOf(name, {
      readWrite,
      async work(call, signal) {
        started.push({ tool: name, id: call.id, isOver: signal.aborted });
        await wait(before);
        if (answer === "throws") throw new Error("thrown by a tool");
        return answer === "never" ? never() : "output";
      },
      ...(answer === "nonsense" && { result: () => untyped<ToolResult>({ status: "fine" }) }),
    });
  const hidden = tool("files.hidden", "write", { before: none, answer: "output" });
  const world: TurnWorld = turnWorldOf(
    pluginOf(one, () => world),
    {
      grants: one.isAdmitted ? [runGrant, toolGrant, escalationGrant] : [toolGrant],
      tools: [tool("files.read", "read", one.read), tool("files.write", "write", one.write), hidden, escalateTool],
      audit: one.hasAuditLog
        ? {
            async record(event) {
              auditLog.push(event);
              const place = auditLog.length - 1;
              await wait(one.slow.audit);
              if (place === one.refusedEvent) throw new Error("refused by the sink");
            },
          }
        : "none",
    },
  );
  const load = world.grants.load.bind(world.grants);
  world.grants.load = async (scope, signal) => {
    await wait(one.slow.grants);
    return load(scope, signal);
  };
  const offered = ["files.read", "files.write", "service.escalate"].map((name) => descriptorOf({ name }));
  const turn = world.run(
    { options: one.limits, tools: offered },
    { signal: caller.signal, onEvent: (event) => shown.push(event) },
  );
  let timersLeft = -1;
  void turn.then(() => (timersLeft = vi.getTimerCount() - ownTimers));
  const { aborts } = one;
  if (aborts !== undefined) void wait(aborts).then(() => caller.abort());
  await vi.advanceTimersByTimeAsync(1_000);
  const result = await turn;
  const eventsAtEnd = result.events.length;
  await vi.advanceTimersByTimeAsync(1_000);
  const timersLater = vi.getTimerCount() - ownTimers;
  return { result, shown, auditLog, started, timersLeft, timersLater, eventsLater: result.events.length - eventsAtEnd };
}

const terminal = new Set(["turn.completed", "turn.escalated", "turn.failed", "turn.denied", "turn.cancelled"]);

beforeEach(() => {
  vi.useFakeTimers();
  ownTimers = 0;
});

afterEach(() => {
  vi.useRealTimers();
});

/** One end, the last event, after a count without gaps; nothing is shown that is not in the result, or later. */
function endsOnce({ result, shown, auditLog, eventsLater, timersLeft, timersLater }: Observed): void {
  expect(result.events.filter(({ type }) => terminal.has(type))).toHaveLength(1);
  expect(terminal).toContain(result.events.at(-1)?.type);
  expect(result.events.map(({ sequence }) => sequence)).toStrictEqual(result.events.map((_event, place) => place));
  expect(shown).toStrictEqual(result.events);
  expect(eventsLater).toBe(0);
  // Only calls that were made are waited for, and only briefly: what became of them is to be in the audit log.
  const calls = result.events.filter(({ type }) => type === "tool.requested");
  expect(timersLeft).toBeLessThanOrEqual(calls.length);
  expect(timersLater).toBe(0);
  expect(TurnResultSchema.safeParse(result)).toMatchObject({ success: true });
  for (const event of auditLog) expect(AuditEventSchema.safeParse(event)).toMatchObject({ success: true });
}

/** No tool outside the catalog runs, none twice for an id, none beyond the limits, and none after the end. */
function runsOnlyWhatItMay({ started }: Observed, { limits }: Script): void {
  expect(started.length).toBeLessThanOrEqual(limits.maxToolCalls);
  expect(started.filter(({ tool }) => tool === "files.hidden")).toStrictEqual([]);
  expect(new Set(started.map(({ id }) => id)).size).toBe(started.length);
  expect(started.filter(({ isOver }) => isOver)).toStrictEqual([]);
}

/** A retry is promised only when no write may have happened. */
function promisesOnlySafeRetries({ result, started }: Observed): void {
  const hasWritten = started.some(({ tool }) => tool === "files.write");
  const promises = "error" in result && result.error?.retryable === true;
  expect(hasWritten && promises).toBe(false);
}

/** With an audit log, the last thing on it is the end, but for calls that were still on their way. */
function endsInAuditLog({ result, auditLog }: Observed, { hasAuditLog }: Script): void {
  const ends = auditLog.filter(({ type }) => type === "turn.ended");
  expect(ends.map(({ outcome }) => outcome)).toStrictEqual(hasAuditLog ? [result.status] : []);
  const after = auditLog.slice(auditLog.findIndex(({ type }) => type === "turn.ended") + 1).map(({ type }) => type);
  expect(after.filter((type) => type !== "tool.invoked" && type !== "authorization.checked")).toStrictEqual([]);
}

test("random turns end once, run only what they may, promise only safe retries, and end in the audit log", async () => {
  const statuses = new Set<string>();
  let ran = 0;
  const property = fc.asyncProperty(script, async (one) => {
    const observed = await observe(one);
    endsOnce(observed);
    runsOnlyWhatItMay(observed, one);
    promisesOnlySafeRetries(observed);
    endsInAuditLog(observed, one);
    statuses.add(observed.result.status);
    ran += observed.started.length;
  });
  await fc.assert(property, { numRuns: timesOf(200, 4_000), seed: 20_260_101 });
  expect([...statuses].toSorted()).toStrictEqual(["cancelled", "denied", "escalated", "failed", "succeeded"]);
  expect(ran).toBeGreaterThan(100);
});
