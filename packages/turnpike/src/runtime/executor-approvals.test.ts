import { describe, expect, test } from "vitest";
import { alice, capability, deferred, grantOf, runAgent, scopeOf } from "../../test/deployment.ts";
import { drivenBy, expectSound, journalWorld, key, outputs, resumable } from "../../test/journal-turns.ts";
import {
  escalateTool,
  calling,
  completed,
  dataOf,
  endingAt,
  runGrant,
  saidOf,
  toolOf,
  toolsOf,
  turnWorldOf,
} from "../../test/turns.ts";
import type { JsonValue, ToolResult, TurnOptions } from "../contracts/index.ts";
import type { AuditSink, Kernel, PermitStore, TurnScope } from "../kernel/index.ts";
import { memoryPermits, memoryTurnJournal, type MemoryTurnJournal } from "../testing/index.ts";
import { TurnPause, type TurnJournal } from "./journal.ts";
import type { RuntimeHost, RuntimePlugin } from "./plugin.ts";

const expiresAt = "2026-01-02T00:00:00Z";

/** Approvals and denials of calls by their ids. A call that is asked about and not named has no answer. */
interface People {
  /** The calls that need an approval. */
  asked: readonly string[];
  approved: Set<string>;
  /** How often the kernel was asked to make each call. */
  decisions: string[];
  /** No person can be asked. */
  isFull?: boolean;
}

function people(...asked: readonly string[]): People {
  return { asked, approved: new Set(), decisions: [] };
}

/** A kernel whose turns need a person's approval for some calls. */
function askingKernel(kernel: Kernel, { asked, approved, decisions, isFull }: People): Kernel {
  const invokeTool =
    (scope: TurnScope): TurnScope["invokeTool"] =>
    async (call, now, signal, options) => {
      decisions.push(call.id);
      if (!asked.includes(call.id) || approved.has(call.id)) return scope.invokeTool(call, now, signal, options);
      const details = {
        requestHash: "hash",
        ...(isFull !== true && { escalationId: `escalation-${call.id}`, expiresAt }),
      };
      const error = { code: "approval_required", message: "A person has to approve.", retryable: false, details };
      return { status: "denied", callId: call.id, tool: call.tool, completedAt: now, error };
    };
  return {
    ...kernel,
    async admitTurn(...args) {
      const admission = await kernel.admitTurn(...args);
      if (admission.kind === "refused") return admission;
      const scope = Object.create(admission.scope, { invokeTool: { value: invokeTool(admission.scope) } }) as TurnScope;
      return { ...admission, scope };
    },
  };
}

const escalations = () => {
  const added: string[] = [];
  const reference = { id: "escalation-ask", expiresAt };
  return {
    added,
    add: (_context: unknown, { reason }: { reason: string }) => Promise.resolve((added.push(reason), reference)),
  };
};

/** A world in which people are asked; each has its own tools unless they are given. */
function approvalWorld(
  runtime: RuntimePlugin,
  said: People,
  options: Parameters<typeof journalWorld>[1] & { journal?: MemoryTurnJournal } = {},
) {
  const tools = options.tools ?? [...Object.values(toolsOf()), escalateTool];
  const base = turnWorldOf(runtime, { ...options, tools });
  const kernel = askingKernel(base.kernel, said);
  const world = journalWorld(runtime, { ...options, tools, executor: { kernel, ...options.executor } });
  return { ...world, events: base.events };
}

const start = { isAsync: true } as const;
const denialOf = (callId: string, code: string): ToolResult => ({
  status: "denied",
  callId,
  tool: "files.write",
  completedAt: "2026-01-01T12:00:00Z",
  error: { code, message: "No.", retryable: false },
});
const waitingOf = async (journal: MemoryTurnJournal): Promise<string[]> => {
  const { stored } = journal.take(key);
  const behind = stored.findLastIndex(({ kind }) => kind !== "waiting");
  return stored.slice(behind + 1).flatMap((entry) => (entry.kind === "waiting" ? [entry.callId] : []));
};

const write = (id: string) => calling(id, "files.write");
const ask = {
  ...calling("ask", "service.escalate"),
  arguments: { reason: "May I?", requestedAuthority: { capabilities: [capability("files", ["notes"], "*")] } } as never,
};

describe("a call that needs a person's approval", () => {
  const three = () =>
    drivenBy(
      () => ({ type: "tools", calls: [write("write-1"), calling("read-1"), write("write-2")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );

  test("waits while every other call of its step is done, and runs once after the approval, whatever else still waits", async () => {
    const { runtime, asked } = three();
    const said = people("write-1", "write-2");
    const journal = memoryTurnJournal();
    const { read, write: tool } = toolsOf();
    const world = approvalWorld(runtime, said, { journal, tools: [read, tool] });
    const options: TurnOptions = { maxToolCalls: 3 };
    const first = await world.run({ options }, start);
    const escalation = {
      status: "pending",
      reason: "files.write needs a person's approval.",
      requestedAt: "2026-01-01T12:00:00Z",
      reviewer: alice,
    };
    expect(first).toMatchObject({ status: "escalated", escalation });
    expect(await journal.find(key)).toMatchObject({ status: "waiting", escalation, toolCalls: 3 });
    expect([read.calls, tool.calls].map((calls) => calls.length)).toEqual([1, 0]);
    expect(dataOf(first, "tool.completed")).toEqual([{ callId: "read-1", tool: "files.read", status: "succeeded" }]);
    expect(await waitingOf(journal)).toEqual(["write-1", "write-2"]);
    expect(journal.take(key).stored.at(-1)).toMatchObject({ kind: "waiting", approval: { tool: "files.write" } });

    said.approved.add("write-1");
    world.time.now = "2026-01-01T12:05:00Z";
    expect(await world.resume()).toMatchObject({ status: "escalated", escalation });
    expect(tool.calls.map(({ id }) => id)).toEqual(["write-1"]);
    expect(await waitingOf(journal)).toEqual(["write-2"]);
    expect(await journal.find(key)).toMatchObject({ toolCalls: 3 });

    said.approved.add("write-2");
    const result = await world.resume();
    expect(result).toMatchObject({ status: "succeeded", output: ["succeeded", "succeeded", "succeeded"] });
    expect(tool.calls.map(({ id }) => id)).toEqual(["write-1", "write-2"]);
    expect(said.decisions.filter((id) => id === "read-1")).toHaveLength(1);
    expect(asked).toEqual([0, 1]);
    for (const type of ["tool.requested", "tool.completed"] as const)
      expect(
        dataOf(result, type)
          .map((data) => (data as { callId: string }).callId)
          .toSorted(),
      ).toEqual(["read-1", "write-1", "write-2"]);
    await expectSound(journal);
  });

  for (const code of ["approval_denied", "approval_expired"])
    test(`gets ${code} as its result, once, without another escalation, and is not made`, async () => {
      const { runtime } = three();
      const said = people("write-1");
      const world = approvalWorld(runtime, said);
      await world.run({}, start);
      world.journal.answer(key, "write-1", denialOf("write-1", code));
      const result = await world.resume();
      expect(result).toMatchObject({ output: [code, "succeeded", "succeeded"] });
      expect(said.decisions.filter((id) => id === "write-1")).toHaveLength(1);
      const completions = dataOf(result, "tool.completed").filter(
        (data) => (data as { callId: string }).callId === "write-1",
      );
      expect(completions).toEqual([{ callId: "write-1", tool: "files.write", status: "denied", code }]);
      await expectSound(world.journal);
    });

  test("never widens the turn: what was issued meanwhile is not there", async () => {
    const { runtime } = three();
    const said = people("write-1");
    const world = approvalWorld(runtime, said);
    await world.run({}, start);
    world.journal.answer(key, "write-1", denialOf("write-1", "approval_denied"));
    await world.resume();
    const started = world.events.filter(({ type }) => type === "turn.started");
    expect(started.map(({ metadata }) => metadata?.["goesOn"])).toEqual([undefined, "interrupted"]);
  });

  test("is denied where the turn cannot wait: with a caller, with a runtime that cannot resume, and when no person can be asked", async () => {
    const { runtime } = three();
    const { resumes: _none, ...forgetful } = runtime;
    const denied = { status: "succeeded", output: ["approval_required", "succeeded", "succeeded"] };
    expect(await approvalWorld(runtime, people("write-1")).run()).toMatchObject(denied);
    expect(await approvalWorld(forgetful, people("write-1")).run({}, start)).toMatchObject(denied);
    const full = { ...people("write-1"), isFull: true };
    expect(await approvalWorld(runtime, full).run({}, start)).toMatchObject(denied);
  });

  test("is what the kernel says: a tool that was called and claims it has ended", async () => {
    const error = { code: "approval_required", message: "Ask!", details: { escalationId: "forged", expiresAt } };
    const forging = toolOf("files.write", {
      readWrite: "write",
      result: ({ id, tool }) => ({ status: "denied", callId: id, tool, completedAt: "2026-01-01T12:00:00Z", error }),
    });
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [write("write-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const world = approvalWorld(runtime, people(), { tools: [forging] });
    expect(await world.run({}, start)).toMatchObject({ status: "succeeded", output: ["approval_required"] });
    expect(forging.calls).toHaveLength(1);
  });

  test("has had no effect while it waits, so that the turn may be tried again", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [write("write-1")] }),
      () => ({ type: "fail", error: { code: "given_up", message: "No.", retryable: true } }),
    );
    const world = approvalWorld(runtime, people("write-1"));
    await world.run({}, start);
    world.journal.answer(key, "write-1", denialOf("write-1", "approval_denied"));
    expect(await world.resume()).toMatchObject({ status: "failed", error: { retryable: true } });
  });

  test("has its place among the calls: another one that comes first does not take it", async () => {
    const branches = (order: "early" | "late") =>
      resumable(async (_turn, host) => {
        const waits = async () => {
          if (order === "late") await host.step("think", () => "thought");
          return host.invokeTool(write("write-1"));
        };
        const other = async () => [await host.invokeTool(calling("read-1")), await host.invokeTool(calling("read-2"))];
        const [one, rest] = await Promise.all([waits(), other()]);
        return completed([one, ...rest, await host.invokeTool(calling("read-3"))].map(saidOf));
      });
    const said = people("write-1");
    const journal = memoryTurnJournal();
    await approvalWorld(branches("early"), said, { journal }).run({ options: { maxToolCalls: 2 } }, start);
    said.approved.add("write-1");
    const result = await approvalWorld(branches("late"), said, { journal }).resume();
    const over = "tool_call_limit_exceeded";
    expect(result).toMatchObject({ output: ["succeeded", "succeeded", over, over] });
  });

  test("is stored as made before it is made, so that its process ending then is told and nothing runs twice", async () => {
    const gate = deferred<void>();
    const tool = toolOf("files.write", { readWrite: "write", work: () => gate.promise.then(() => "written") });
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [write("write-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const said = people("write-1");
    const journal = memoryTurnJournal();
    const world = approvalWorld(runtime, said, { journal, tools: [tool] });
    await world.run({}, start);
    said.approved.add("write-1");
    const second = world.resume().catch((error: unknown) => error);
    await expect.poll(() => tool.calls.length).toBe(1);
    const third = await world.resume();
    expect(third).toMatchObject({ output: ["tool_interrupted"] });
    gate.resolve();
    expect(await second).toBeInstanceOf(TurnPause);
    expect(tool.calls).toHaveLength(1);
  });

  test("runs at most once, with whichever write its processes end", async () => {
    let isCut = true;
    for (let nth = 1; isCut; nth += 1) {
      const { read, write: tool } = toolsOf();
      const { runtime } = three();
      const said = people("write-1", "write-2");
      const journal = memoryTurnJournal();
      const options = { journal, tools: [read, tool] };
      isCut = false;
      const run = async (step: Promise<unknown>) => {
        const end = await step.catch((error: unknown) => error);
        if (end instanceof TurnPause) isCut = true;
      };
      await run(approvalWorld(runtime, said, { ...options, through: endingAt(journal, nth) }).run({}, start));
      for (const approval of ["write-1", "write-2"]) {
        if ((await journal.find(key))?.result !== undefined) break;
        said.approved.add(approval);
        const writer = dyingWriter(journal, nth);
        await run(approvalWorld(runtime, said, options).run({}, { isAsync: true, writer }));
        if ((await journal.find(key))?.result === undefined) await approvalWorld(runtime, said, options).resume();
      }
      expect((await journal.find(key))?.status).toBe("succeeded");
      expect(new Set(tool.calls.map(({ id }) => id)).size).toBe(tool.calls.length);
      await expectSound(journal);
    }
  });
});

/** The writer of the next run, whose n-th write is its last. */
function dyingWriter(journal: MemoryTurnJournal, nth: number) {
  const writer = journal.take(key);
  let writes = 0;
  const dying: typeof writer = {
    ...writer,
    write: (...args) =>
      (writes += 1) < nth ? writer.write(...args) : Promise.reject(new TurnPause("The process has ended.")),
  };
  return dying;
}

describe("a step with an escalation and a call that needs an approval", () => {
  const both = () =>
    drivenBy(
      () => ({ type: "tools", calls: [ask, write("write-1"), calling("read-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
  const answered: ToolResult = {
    status: "succeeded",
    callId: "ask",
    tool: "service.escalate",
    completedAt: "2026-01-01T12:00:00Z",
    output: { answer: "approved" },
  };

  for (const row of ["the answer first", "the approval first"])
    test(`waits for both at once, and asks neither twice: ${row}`, async () => {
      const { runtime } = both();
      const said = people("write-1");
      const queue = escalations();
      const world = approvalWorld(runtime, said, { escalations: queue });
      await world.run({}, start);
      expect(await waitingOf(world.journal)).toEqual(["write-1", "ask"]);
      const answer = async () => {
        // The run that waits is the last one of the journal's.
        await world.resume();
        world.journal.answer(key, "ask", answered);
      };
      if (row === "the answer first") await answer();
      else said.approved.add("write-1");
      expect(await world.resume()).toMatchObject({ status: "escalated" });
      expect(await waitingOf(world.journal)).toEqual(row === "the answer first" ? ["write-1"] : ["ask"]);
      if (row === "the answer first") said.approved.add("write-1");
      else await answer();
      expect(await world.resume()).toMatchObject({ output: ["succeeded", "succeeded", "succeeded"] });
      expect(queue.added).toEqual(["May I?"]);
      expect(world.events.filter(({ type }) => type === "escalation.requested")).toHaveLength(1);
      await expectSound(world.journal);
    });

  test("opens its escalation when every other call of the step has ended, or waits as well", async () => {
    const { runtime } = both();
    const queue = escalations();
    const asked: string[][] = [];
    const read = toolOf("files.read", {
      work: async () => {
        await new Promise((resolve) => setTimeout(resolve));
        asked.push([...queue.added]);
        return "read";
      },
    });
    const tools = [read, toolOf("files.write", { readWrite: "write" }), escalateTool];
    await approvalWorld(runtime, people("write-1"), { escalations: queue, tools }).run({}, start);
    expect([...asked, queue.added]).toEqual([[], ["May I?"]]);
  });

  test("ends escalated when the answer to its escalation could not reach it", async () => {
    const { runtime } = both();
    const world = approvalWorld(runtime, people("write-1"));
    expect(await world.run({}, start)).toMatchObject({ status: "escalated", escalation: { reason: "May I?" } });
    expect(await world.journal.find(key)).toMatchObject({ status: "escalated" });
  });
});

describe("a run ends with its escalations once nothing else is under way", () => {
  /** What a plugin had done when its run ended with an escalation, and that it resumes and ends. */
  const ranUntilEscalation = async (run: (host: RuntimeHost, note: (what: string) => void) => Promise<JsonValue>) => {
    const said = people("write-1");
    const done: string[] = [];
    const runtime = resumable(async (_turn, host) => completed(await run(host, (what) => done.push(what))));
    const world = approvalWorld(runtime, said);
    expect(await world.run({}, start)).toMatchObject({ status: "escalated" });
    const before = [...done];
    said.approved.add("write-1");
    const result = await world.resume();
    expect(result.status).toBe("succeeded");
    await expectSound(world.journal);
    return { before, result };
  };
  const slowly = async (what: string): Promise<string> => {
    for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setTimeout(resolve));
    return what;
  };

  const rows: {
    name: string;
    run: Parameters<typeof ranUntilEscalation>[0];
    before: string[];
  }[] = [
    {
      name: "calls one after the other: what comes behind the escalation waits",
      run: async (host, note) => {
        note(saidOf(await host.invokeTool(calling("read-1"))));
        note(saidOf(await host.invokeTool(write("write-1"))));
        note(saidOf(await host.invokeTool(calling("read-2"))));
        return null;
      },
      before: ["succeeded"],
    },
    {
      name: "a branch beside it that makes one call after the other is not held up",
      run: async (host, note) => {
        const branch = async () => {
          for (const id of ["read-1", "read-2", "read-3"]) note((await host.invokeTool(calling(id))).callId);
        };
        await Promise.all([host.invokeTool(write("write-1")), branch()]);
        return null;
      },
      before: ["read-1", "read-2", "read-3"],
    },
    {
      name: "a step that was begun after it is not cut off, nor is the call behind that",
      run: async (host, note) => {
        const branch = async () => {
          note(await host.step("think", () => slowly("thought")));
          note((await host.invokeTool(calling("read-1"))).callId);
        };
        await Promise.all([host.invokeTool(write("write-1")), branch()]);
        return null;
      },
      before: ["thought", "read-1"],
    },
    {
      name: "a step that was begun before it is not cut off, nor is the call behind that",
      run: async (host, note) => {
        const branch = async () => {
          note(await host.step("think", () => slowly("thought")));
          note((await host.invokeTool(calling("read-1"))).callId);
        };
        await Promise.all([branch(), host.invokeTool(write("write-1"))]);
        return null;
      },
      before: ["thought", "read-1"],
    },
    {
      name: "a call that takes its time beside it ends",
      run: async (host, note) => {
        const other = host.invokeTool(calling("read-1")).then(({ callId }) => note(callId));
        await Promise.all([host.invokeTool(write("write-1")), host.beginStep(), other]);
        return null;
      },
      before: ["read-1"],
    },
  ];
  for (const { name, run, before } of rows)
    test(name, async () => {
      expect((await ranUntilEscalation(run)).before).toEqual(before);
    });

  test("what was said beside the escalation is not said again", async () => {
    const { result } = await ranUntilEscalation(async (host) => {
      const branch = async () => {
        host.emit({ type: "begun", data: 1 });
        await host.invokeTool(calling("read-1"));
        host.emit({ type: "read", data: 1 });
      };
      await Promise.all([host.invokeTool(write("write-1")), branch()]);
      host.emit({ type: "written", data: 1 });
      return null;
    });
    const said = dataOf(result, "runtime.event").map((data) => (data as { type: string }).type);
    expect(said).toEqual(["begun", "read", "written"]);
  });

  for (const row of [
    { name: "a new call", resume: (host: RuntimeHost) => host.invokeTool(calling("read-2")) },
    { name: "a new step", resume: (host: RuntimeHost) => host.step("think", () => 1) },
  ])
    test(`what a branch said is not said again because another resumes with ${row.name}`, async () => {
      const runtime = resumable(async (_turn, host) => {
        const waiting = async () => {
          await host.invokeTool(write("write-1"));
          await row.resume(host);
        };
        const talking = async () => {
          await host.invokeTool(calling("read-1"));
          host.emit({ type: "read", data: 1 });
        };
        await Promise.all([waiting(), talking()]);
        return completed();
      });
      const world = approvalWorld(runtime, people("write-1"));
      await world.run({}, start);
      world.journal.answer(key, "write-1", denialOf("write-1", "approval_denied"));
      expect(dataOf(await world.resume(), "runtime.event")).toEqual([{ type: "read", data: 1 }]);
    });

  test("a denial is said of the call that waited, not of another one under its id", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [write("write-1"), write("write-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const world = approvalWorld(runtime, people("write-1"));
    await world.run({}, start);
    world.journal.answer(key, "write-1", denialOf("write-1", "approval_denied"));
    const result = await world.resume();
    expect(result).toMatchObject({ output: ["approval_denied", "duplicate_call_id"] });
    const codes = dataOf(result, "tool.completed").map((data) => (data as { code?: string }).code);
    expect(codes).toEqual(["duplicate_call_id", "approval_denied"]);
  });

  test("nothing is called, done or said behind its end", async () => {
    const late: string[] = [];
    const gate = deferred<void>();
    const runtime = resumable(async (_turn, host) => {
      const outside = async (): Promise<void> => {
        await gate.promise;
        host.emit({ type: "late", data: 1 });
        for (const operate of [
          () => host.invokeTool(calling("read-1")),
          () => host.step("late", () => 1),
          host.beginStep,
        ])
          late.push(
            await operate().then(
              () => "done",
              (error: Error) => error.message,
            ),
          );
      };
      await Promise.all([host.invokeTool(write("write-1")), outside()]);
      return completed();
    });
    const journal = memoryTurnJournal();
    /** The plugin wakes up while its escalations are being stored. */
    const waking: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const writer: typeof begun.writer = {
          ...begun.writer,
          async write(entries, progress) {
            if (entries.some(({ kind }) => kind === "waiting")) {
              gate.resolve();
              await expect.poll(() => late.length).toBe(3);
            }
            await begun.writer.write(entries, progress);
          },
        };
        return { kind: "begun", writer };
      },
    };
    const world = approvalWorld(runtime, people("write-1"), { journal, through: waking });
    expect(await world.run({}, start)).toMatchObject({ status: "escalated" });
    expect(new Set(late)).toEqual(new Set(["The turn waits for a person: this run of it is over."]));
    expect(journal.take(key).stored.at(-1)?.kind).toBe("waiting");
  });

  test("a turn that is cancelled while it waits ends cancelled, and its call is not made", async () => {
    const tool = toolOf("files.write", { readWrite: "write" });
    const runtime = resumable(async (_turn, host) => completed(saidOf(await host.invokeTool(write("write-1")))));
    const said = people("write-1");
    const world = approvalWorld(runtime, said, { tools: [tool] });
    await world.run({}, start);
    expect(await world.journal.cancel(key)).toMatchObject({ status: "running" });
    said.approved.add("write-1");
    expect(await world.resume()).toMatchObject({ status: "cancelled" });
    expect(tool.calls).toEqual([]);
  });

  test("a run that is to pause waits instead when only escalations are left", async () => {
    const journal = memoryTurnJournal();
    const pausing = new AbortController();
    const pausable: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const writer: typeof begun.writer = {
          ...begun.writer,
          pauses: pausing.signal,
          async write(entries, progress) {
            if (entries.some(({ kind }) => kind === "asked")) pausing.abort(new TurnPause("The host stops."));
            await begun.writer.write(entries, progress);
          },
        };
        return { kind: "begun", writer };
      },
    };
    const runtime = resumable(async (_turn, host) => completed(saidOf(await host.invokeTool(write("write-1")))));
    await approvalWorld(runtime, people("write-1"), { journal, through: pausable }).run({}, start);
    expect(await journal.find(key)).toMatchObject({ status: "waiting" });
  });
});

describe("with the kernel and people who answer", () => {
  const guarded = grantOf("guarded", {
    capabilities: [{ ...capability("files", ["notes"], "write"), approval: "each" }],
  });
  const reading = grantOf("reading", { capabilities: [capability("files", ["notes"], "read")] });
  const grants = [runGrant, reading, guarded];
  const writing = (id: string, line: string) => ({ ...write(id), arguments: { line } });
  const at = "2026-01-01T12:00:00Z";

  test("a call runs under its permit once, an equal one needs another approval, and neither is asked about twice", async () => {
    const { read, write: tool } = toolsOf();
    const permits = memoryPermits();
    const { runtime } = drivenBy(
      () => ({
        type: "tools",
        calls: [writing("write-1", "a"), writing("write-2", "a"), calling("read-1"), writing("write-3", "b")],
      }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const world = journalWorld(runtime, { permits, grants, tools: [read, tool] });
    const idsOf = () => tool.calls.map(({ id }) => id);
    await world.run({ options: { maxToolCalls: 4 } }, start);
    expect([permits.asked.length, read.calls.length, tool.calls.length]).toEqual([2, 1, 0]);
    expect(await waitingOf(world.journal)).toEqual(["write-1", "write-2", "write-3"]);

    permits.approve("escalation-1", { by: "bob", at });
    expect(await world.resume()).toMatchObject({ status: "escalated" });
    expect(idsOf()).toEqual(["write-1"]);
    expect(permits.asked.map(({ id }) => id)).toEqual(["escalation-1", "escalation-2", "escalation-3"]);

    permits.deny("escalation-2", { at });
    permits.approve("escalation-3", { by: "bob", at });
    expect(await world.resume()).toMatchObject({
      status: "succeeded",
      output: ["succeeded", "succeeded", "succeeded", "approval_denied"],
    });
    expect(idsOf()).toEqual(["write-1", "write-2"]);
    await expectSound(world.journal);
  });

  test("an approval of a turn covers all that its runtime is handed, with a journal and without", async () => {
    const state = { conversation: ["shall I wait?"] };
    const metadata = { mode: "careful" };
    const running = grantOf("run", { capabilities: [{ ...runAgent, approval: "each" }] });
    const { runtime } = drivenBy();
    for (const worldOf of [turnWorldOf, journalWorld]) {
      const permits = memoryPermits();
      const world = worldOf(runtime, { permits, grants: [running] });
      await world.run({ state, metadata });
      expect(permits.asked[0]?.act).toMatchObject({ kind: "turn", state, metadata });
      permits.approve("escalation-1", { by: "bob", at });
      const other = { state: { conversation: ["shall I pay?"] }, metadata, executionId: "turn-2" };
      expect(await world.run(other)).toMatchObject({ status: "denied", error: { code: "approval_required" } });
      expect(await world.run({ state, metadata, executionId: "turn-3" })).toMatchObject({ status: "succeeded" });
    }
  });

  test("a permit does not revive a grant that was revoked before the turn resumed", async () => {
    const { read, write: tool } = toolsOf();
    const permits = memoryPermits();
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [write("write-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const journal = memoryTurnJournal();
    const tools = [read, tool];
    await journalWorld(runtime, { journal, permits, grants, tools }).run({}, start);
    permits.approve("escalation-1", { by: "bob", at });
    const left = [runGrant, reading];
    expect(await journalWorld(runtime, { journal, permits, grants: left, tools }).resume()).toMatchObject({
      output: ["tool_unavailable"],
    });
    expect(tool.calls).toEqual([]);
  });

  test("that a person is asked is recorded before they are, whatever else is stored later with the call", async () => {
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [write("write-1")] }));
    /** A sink that stores what comes with a scope later, as a host's does. */
    const durable: string[] = [];
    const record: AuditSink["record"] = async ({ type }, call) => {
      if (call?.writes === undefined) durable.push(type);
    };
    const permits = memoryPermits();
    let before: string[] = [];
    const askLater: PermitStore["ask"] = (context, act) => {
      before = [...durable];
      return permits.ask(context, act);
    };
    const journal = memoryTurnJournal();
    const scoped: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        return { kind: "begun", writer: { ...begun.writer, openScope: scopeOf } };
      },
    };
    const world = { journal, through: scoped, permits: { ...permits, ask: askLater }, grants, audit: { record } };
    await journalWorld(runtime, world).run({}, start);
    expect(before).toContain("escalation.requested");
  });
});
