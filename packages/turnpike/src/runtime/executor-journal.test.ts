import { describe, expect, test } from "vitest";
import { agent, capability, deferred, grantOf, refusingAudit, scopeOf } from "../../test/deployment.ts";
import { drivenBy, expectSound, journalWorld, key, outputs, resumable } from "../../test/journal-turns.ts";
import {
  escalateTool,
  calling,
  completed,
  dataOf,
  endingAt,
  escalationGrant,
  pluginOf,
  requestOf,
  runGrant,
  saidOf,
  toolGrant,
  toolOf,
  toolsOf,
  turnWorldOf,
  typesOf,
  withWriter,
  type TurnTool,
  type TurnWorldOptions,
} from "../../test/turns.ts";
import type { Grant, JsonValue, TurnEvent, TurnResult } from "../contracts/index.ts";
import type { AccessGuard, AuditSink, GrantSource, WriteScope } from "../kernel/index.ts";
import { memoryAccess, memoryTurnJournal, memoryUsage, type MemoryTurnJournal } from "../testing/index.ts";
import { KnownTurnError, TurnPause, type JournalEntry, type TurnJournal, type RunWriter } from "./journal.ts";
import type { RuntimePlugin } from "./plugin.ts";
import { standardRuntime, type TurnDriver } from "./standard.ts";

/** Begins an asynchronous turn whose process ends with the n-th write. */
async function interrupted(
  runtime: RuntimePlugin,
  nth: number,
  options: TurnWorldOptions = {},
): Promise<{ journal: MemoryTurnJournal; isPaused: boolean }> {
  const journal = memoryTurnJournal();
  const first = journalWorld(runtime, { ...options, journal, through: endingAt(journal, nth) });
  const ran = await first.run({}, { isAsync: true }).catch((error: unknown) => error);
  return { journal, isPaused: ran instanceof TurnPause };
}

async function entriesOf(journal: MemoryTurnJournal): Promise<readonly JournalEntry[]> {
  return journal.take(key).stored;
}

describe("a turn whose process ends with the n-th write is resumed", () => {
  const two = () =>
    drivenBy(
      () => ({
        type: "tools",
        calls: [calling("read-1"), calling("write-1", "files.write"), calling("put-1", "files.put")],
      }),
      () => ({ type: "tools", calls: [calling("write-2", "files.write")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );

  /** What became of a turn whose process ended with the n-th write. */
  const endedAt = async (nth: number) => {
    const { read, write, put } = toolsOf();
    const tools = [read, write, put];
    const { runtime, asked } = two();
    const usage = memoryUsage();
    const grants = [{ ...runGrant, constraints: { maxUses: 1 } }, toolGrant];
    const { journal, isPaused } = await interrupted(runtime, nth, { tools, usage, grants });
    const stored = isPaused ? await entriesOf(journal) : [];
    const decided = stored.filter(({ kind }) => kind === "step").length;
    const before = asked.length;
    // A journal that stores no decisions cannot know of a use that was taken just before the end.
    const isKnown = stored.some(({ kind }) => kind === "admitted");
    const next = journalWorld(runtime, { tools, usage: isKnown ? usage : memoryUsage(), grants, journal });
    if (isPaused) await next.resume();
    await expectSound(journal);
    const askedNext = asked.slice(before)[0] ?? decided;
    const { status } = (await journal.find(key)) ?? {};
    return { isPaused, status, decided, askedNext, written: write.calls.map(({ id }) => id) };
  };

  test("asks for no decision twice that is stored, and runs nothing twice that is not safe to run again", async () => {
    const ends = [await endedAt(1)];
    while (ends.at(-1)?.isPaused === true) ends.push(await endedAt(ends.length + 1));
    expect(ends.length).toBeGreaterThan(8);
    for (const { status, decided, askedNext, written } of ends) {
      expect(status).toBe("succeeded");
      expect(askedNext).toBe(decided);
      expect(new Set(written).size).toBe(written.length);
    }
  });

  test("promises no retry when an earlier run may have had an effect", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [calling("write-1", "files.write")] }),
      () => ({ type: "fail", error: { code: "mine", message: "No.", retryable: true } }),
    );
    const retries: unknown[] = [];
    for (let nth = 2, isPaused = true; isPaused; nth += 1) {
      const { write } = toolsOf();
      const cut = await interrupted(runtime, nth, { tools: [write] });
      ({ isPaused } = cut);
      if (isPaused) await journalWorld(runtime, { tools: [write], journal: cut.journal }).resume();
      const { result } = (await cut.journal.find(key)) ?? {};
      retries.push(result?.status === "failed" ? result.error.retryable : result?.status);
    }
    expect(new Set(retries)).toEqual(new Set([false]));
  });

  test("gives the driver `tool_interrupted` for a call whose outcome is unknown, and says that it may have happened", async () => {
    const gate = deferred<void>();
    const write = toolOf("files.write", { readWrite: "write", work: () => gate.promise.then(() => "done") });
    const seen: JsonValue[] = [];
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [calling("write-1", "files.write")] }),
      (results) => {
        seen.push(...results.map((result) => ("error" in result ? (result.error ?? null) : null) as JsonValue));
        return { type: "fail", error: { code: "mine", message: "No.", retryable: true } };
      },
    );
    const journal = memoryTurnJournal();
    const first = journalWorld(runtime, { tools: [write], journal });
    const running = first.run({}, { isAsync: true }).catch(() => {});
    await expect.poll(() => write.calls.length).toBe(1);
    const next = journalWorld(runtime, { tools: [write], journal });
    const result = await next.resume();
    gate.resolve();
    await running;
    expect(write.calls).toHaveLength(1);
    expect(seen).toMatchObject([{ code: "tool_interrupted", retryable: false }]);
    expect(result).toMatchObject({ status: "failed", error: { code: "mine", retryable: false } });
    expect(next.events.filter(({ type }) => type === "tool.invoked")).toMatchObject([
      { outcome: "failed", reason: "tool_interrupted", operationId: "write-1" },
    ]);
  });

  for (const tool of ["files.read", "files.put"])
    test(`makes a call of ${tool} again under its id, because that is safe`, async () => {
      let isFirst = true;
      const work = () => (isFirst ? ((isFirst = false), new Promise<never>(() => {})) : Promise.resolve("again"));
      const one =
        tool === "files.read" ? toolOf(tool, { work }) : toolOf(tool, { readWrite: "write", idempotent: true, work });
      const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1", tool)] }));
      const journal = memoryTurnJournal();
      void journalWorld(runtime, { tools: [one], journal })
        .run({}, { isAsync: true })
        .catch(() => {});
      await expect.poll(() => one.calls.length).toBe(1);
      const result = await journalWorld(runtime, { tools: [one], journal }).resume();
      expect(result.status).toBe("succeeded");
      expect(one.calls.map(({ id }) => id)).toEqual(["call-1", "call-1"]);
      expect(dataOf(result, "tool.requested")).toHaveLength(1);
      await expectSound(journal);
    });
});

describe("what is stored, and when", () => {
  test("a decision and its call are stored before the tool runs, and its result before the driver is asked", async () => {
    const journal = memoryTurnJournal();
    const seen: string[][] = [];
    const read = toolOf("files.read", {
      work() {
        seen.push(storedKinds());
        return Promise.resolve("read");
      },
    });
    let stored: JournalEntry[] = [];
    const storedKinds = () => stored.map(({ kind }) => kind).filter((kind) => kind !== "event");
    const watching: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const writer: RunWriter = {
          ...begun.writer,
          async write(entries, progress, closed) {
            // A disk takes its time.
            await new Promise((resolve) => setTimeout(resolve, 5));
            await begun.writer.write(entries, progress, closed);
            stored = [...stored, ...entries];
          },
        };
        return { kind: "begun", writer };
      },
    };
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [calling("call-1")] }),
      () => {
        seen.push(storedKinds());
        return { type: "complete", output: "done" };
      },
    );
    await journalWorld(runtime, { tools: [read], journal, through: watching }).run();
    expect(seen).toEqual([
      ["admitted", "step", "call"],
      ["admitted", "step", "call", "result"],
    ]);
    expect(stored.at(-1)?.kind).toBe("ended");
  });

  test("a decision is durable before the scope of a call is opened because of it, and a step before anything follows it", async () => {
    const journal = memoryTurnJournal();
    let stored: JournalEntry[] = [];
    const opened: boolean[] = [];
    const hasStep = (): boolean => stored.some(({ kind }) => kind === "step");
    const scoped: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const openScope: RunWriter["openScope"] = (entry) => {
          if (entry?.kind === "call") opened.push(hasStep());
          return scopeOf();
        };
        const write: RunWriter["write"] = async (entries, progress) => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          await begun.writer.write(entries, progress);
          stored = [...stored, ...entries];
        };
        return { kind: "begun", writer: { ...begun.writer, openScope, write } };
      },
    };
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    await journalWorld(runtime, { journal, through: scoped }).run();
    expect(opened).toEqual([true]);
  });

  test("behind a write that failed nothing is written, also if it could be", async () => {
    for (let nth = 1; nth < 6; nth += 1) {
      const journal = memoryTurnJournal();
      let writes = 0;
      const failingOnce: TurnJournal = {
        ...journal,
        async begin(turn, call) {
          const begun = await journal.begin(turn, call);
          if (begun.kind === "known") return begun;
          const { writer } = begun;
          const write: RunWriter["write"] = (...args) =>
            (writes += 1) === nth ? Promise.reject(new Error("full")) : writer.write(...args);
          return { kind: "begun", writer: { ...writer, write } };
        },
      };
      const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1"), calling("call-2")] }));
      // A turn with its caller has a result all the same, which must not follow a gap.
      const world = journalWorld(runtime, { journal, through: failingOnce });
      expect(await world.run()).toMatchObject({ status: "failed", error: { code: "audit_unavailable" } });
      expect(writes).toBe(nth);
      // The operator learns that the admission or the end is not stored; the runtime did nothing wrong.
      expect(world.turnErrors).toHaveLength(nth === 1 ? 2 : 1);
    }
  });

  for (const { name, kind, why } of [
    { name: "what it was admitted with", kind: "admitted", why: "audit_unavailable" },
    { name: "a decision", kind: "step", why: "audit_unavailable" },
    { name: "its end", kind: "ended", why: "its end is not stored" },
  ])
    test(`an asynchronous turn of which ${name} cannot be stored resumes later, and its host is told why`, async () => {
      const full = new Error("full");
      const closed: unknown[] = [];
      const journal = memoryTurnJournal();
      const through = withWriter(journal, (writer) => ({
        write: (entries, ...more) =>
          entries.some((entry) => entry.kind === kind) ? Promise.reject(full) : writer.write(entries, ...more),
        close: (pause) => closed.push(pause),
      }));
      const world = journalWorld(drivenBy().runtime, { journal, through });
      const pause = await world.run({}, { isAsync: true }).catch((error: unknown) => error);
      expect(pause).toBeInstanceOf(TurnPause);
      expect(pause).toMatchObject({ message: `The turn cannot continue now: ${why}.`, cause: full });
      expect(closed).toEqual([pause]);
    });

  test("an event is shown once it is stored, and none when it is not", async () => {
    const shown: string[] = [];
    const journal = memoryTurnJournal();
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const world = journalWorld(runtime, { journal, through: endingAt(journal, 3) });
    const onEvent = ({ type }: { type: string }) => shown.push(type);
    await world.run({}, { isAsync: true, onEvent }).catch(() => {});
    expect(shown).toEqual((await journal.events(key, -1)).map(({ type }) => type));
    expect(shown[0]).toBe("turn.started");
  });

  test("a state is told when the id is taken, before anything happens", async () => {
    const { runtime } = drivenBy();
    const states: unknown[] = [];
    const world = journalWorld(runtime);
    await world.run({}, { isAsync: true, onBegun: (state) => states.push({ ...state, events: world.events.length }) });
    expect(states).toMatchObject([{ executionId: "turn-1", status: "running", steps: 0, toolCalls: 0, events: 0 }]);
    expect(await world.journal.find(key)).toMatchObject({ status: "succeeded", steps: 1, toolCalls: 0 });
  });

  test("an id that is taken runs nothing", async () => {
    const { runtime, asked } = drivenBy();
    const world = journalWorld(runtime);
    await world.run();
    const again = await world.run().catch((error: unknown) => error);
    expect(again).toBeInstanceOf(KnownTurnError);
    expect(again).toMatchObject({ name: "KnownTurnError", message: "The id of this turn is taken." });
    expect((again as KnownTurnError).known).toMatchObject({
      isSame: true,
      isAsync: false,
      state: { status: "succeeded" },
    });
    const other = await world.run({ state: { other: true } }).catch((error: unknown) => error);
    expect((other as KnownTurnError).known.isSame).toBe(false);
    expect(asked).toHaveLength(1);
  });

  test("without a journal no turn runs without its caller", async () => {
    await expect(turnWorldOf(drivenBy().runtime).run({}, { isAsync: true })).rejects.toThrow("needs a journal");
  });

  test("a scope is opened for each call and closed with what follows it, and with the admission and the end", async () => {
    const journal = memoryTurnJournal();
    const joined: string[][] = [];
    const opened = new Map<WriteScope | undefined, JournalEntry[]>();
    const alone: string[] = [];
    const scoped: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const { writer } = begun;
        const openScope: RunWriter["openScope"] = (entry) => {
          const scope = scopeOf();
          opened.set(scope, entry === undefined ? [] : [entry]);
          return scope;
        };
        const write: RunWriter["write"] = (entries, progress, closed = []) => {
          const first = closed.flatMap((scope) => opened.get(scope) ?? []);
          const kinds = [...first, ...entries].map(({ kind }) => kind);
          if (closed.length > 0) joined.push(kinds);
          else alone.push(...kinds);
          return writer.write([...first, ...entries], progress);
        };
        return { kind: "begun", writer: { ...writer, openScope, write } };
      },
    };
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const recorded: string[] = [];
    const audit: AuditSink = {
      record({ type }, call) {
        const begun = opened.get(call?.writes)?.map(({ kind }) => kind) ?? ["without a scope"];
        recorded.push([type, ...begun].join(" "));
        return Promise.resolve();
      },
    };
    await journalWorld(runtime, { journal, through: scoped, audit }).run();
    expect(joined).toEqual([
      ["admitting", "admitted", "event"],
      ["call", "result", "event"],
      ["event", "ended"],
    ]);
    expect(alone).not.toContain("call");
    expect(recorded).toEqual([
      "authorization.checked admitting",
      "turn.started admitting",
      "authorization.checked call",
      "tool.invoked call",
      "turn.ended",
    ]);
  });

  test("a runtime that continues to call after something could not be stored is refused everything", async () => {
    const { write } = toolsOf();
    const journal = memoryTurnJournal();
    const said: string[] = [];
    const runtime = resumable(async (_turn, host) => {
      for (const id of ["write-1", "write-2"])
        said.push(await host.invokeTool(calling(id, "files.write")).then(saidOf, (error: Error) => error.name));
      return completed();
    });
    const world = journalWorld(runtime, { tools: [write], journal, through: endingAt(journal, 2) });
    await expect(world.run({}, { isAsync: true })).rejects.toBeInstanceOf(TurnPause);
    await expect.poll(() => said).toEqual(["TurnPause", "Error"]);
    expect(write.calls).toHaveLength(0);
  });

  test("a turn whose events cannot be made fails, and the host is told", async () => {
    const broken = new Error("no ids");
    const createId = (): string => {
      throw broken;
    };
    const world = turnWorldOf(drivenBy().runtime, { executor: { createId } });
    await expect(world.run()).rejects.toBe(broken);
    expect(world.turnErrors).toMatchObject([{ error: broken }]);

    let ids = 0;
    const secondTime = (): string => (ids++ === 0 ? createId() : `event-${ids}`);
    const once = turnWorldOf(drivenBy().runtime, { executor: { createId: secondTime } });
    expect(await once.run()).toMatchObject({ status: "failed", error: { code: "runtime_failed" } });
  });

  test("a turn with a caller that cannot be stored fails instead of doing what no record would show", async () => {
    const { write } = toolsOf();
    const journal = memoryTurnJournal();
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("write-1", "files.write")] }));
    const world = journalWorld(runtime, { tools: [write], journal, through: endingAt(journal, 2) });
    const error = { code: "audit_unavailable", retryable: false };
    expect(await world.run()).toMatchObject({ status: "failed", error });
    expect(write.calls).toHaveLength(0);
  });

  test("a turn with a caller whose escalation cannot be recorded says that it cannot be tried again", async () => {
    const { runtime } = drivenBy(() => ({ type: "escalate", reason: "May it?" }));
    const audit = refusingAudit(({ type }) => type === "escalation.requested");
    const world = journalWorld(runtime, { audit });
    const error = { code: "audit_unavailable", retryable: false };
    expect(await world.run()).toMatchObject({ status: "failed", error });
  });

  for (const [name, isOfTool] of [
    ["admission", false],
    ["first call", true],
  ] as const)
    test(`a turn with a caller whose ${name} cannot be recorded holds its id, and says that it cannot be tried again`, async () => {
      const journal = memoryTurnJournal();
      const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
      const audit = refusingAudit(
        ({ type, tool }) => type === "authorization.checked" && (tool !== undefined) === isOfTool,
      );
      const world = journalWorld(runtime, { journal, audit });
      const error = { code: "audit_unavailable", retryable: false };
      expect(await world.run()).toMatchObject({ status: "failed", error });
      expect(await journal.find(key)).toMatchObject({ result: { status: "failed", error } });
    });

  for (const row of [
    {
      name: "is another run's when it ends is not told an end that is stored nowhere",
      refusal: new TurnPause("Another run has this turn."),
      told: { status: "failed", error: { code: "audit_unavailable", retryable: false } },
      last: { type: "turn.failed", data: { code: "audit_unavailable" } },
    },
    {
      name: "has an end that the journal continues trying to store is told it",
      refusal: new Error("The disk is full."),
      told: { status: "succeeded" },
      last: { type: "turn.completed", data: {} },
    },
  ])
    test(`the caller of a turn that ${row.name}`, async () => {
      const journal = memoryTurnJournal();
      const through: TurnJournal = {
        ...journal,
        async begin(turn, call) {
          const begun = await journal.begin(turn, call);
          if (begun.kind !== "begun") return begun;
          const { writer } = begun;
          const write: RunWriter["write"] = async (entries, ...more) => {
            if (entries.some(({ kind }) => kind === "ended")) throw row.refusal;
            return writer.write(entries, ...more);
          };
          return { ...begun, writer: { ...writer, write } };
        },
      };
      const shown: TurnEvent[] = [];
      const world = journalWorld(drivenBy().runtime, { journal, through });
      const result = await world.run({}, { onEvent: (event) => shown.push(event) });
      expect(result).toMatchObject(row.told);
      expect(result.events.at(-1)).toMatchObject(row.last);
      expect(result.events.map(({ sequence }) => sequence)).toEqual(result.events.map((_event, place) => place));
      expect(shown.map(({ type }) => type)).not.toContain("turn.completed");
    });

  for (const { name, pause, ends } of [
    {
      name: "because its journal cannot be written fails",
      pause: new TurnPause("The journal could not be written.", { cause: new Error("lost") }),
      ends: { status: "failed", error: { code: "audit_unavailable", retryable: false } },
    },
    {
      name: "because the host stops is cancelled",
      pause: new TurnPause("The host stops."),
      ends: { status: "cancelled", error: { code: "turn_cancelled" } },
    },
  ])
    test(`a turn with a caller that is stopped ${name}`, async () => {
      const stopping = new AbortController();
      const journal = memoryTurnJournal();
      const through: TurnJournal = {
        ...journal,
        async begin(turn, call) {
          const begun = await journal.begin(turn, call);
          return begun.kind === "begun" ? { ...begun, writer: { ...begun.writer, stop: stopping.signal } } : begun;
        },
      };
      const runtime = resumable(() => {
        stopping.abort(pause);
        return new Promise(() => {});
      });
      expect(await journalWorld(runtime, { journal, through }).run()).toMatchObject(ends);
    });
});

describe("a turn that cannot resume", () => {
  test("ends as interrupted when it was not asynchronous", async () => {
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const journal = memoryTurnJournal();
    await journalWorld(runtime, { journal, through: endingAt(journal, 3) }).run();
    const next = journalWorld(runtime, { journal });
    expect(await next.resume()).toMatchObject({ status: "failed", error: { code: "turn_interrupted" } });
    expect(next.events.filter(({ type }) => type === "turn.ended")).toMatchObject([
      { outcome: "failed", reason: "turn_interrupted" },
    ]);
    await expectSound(journal);
  });

  test("ends as interrupted when its journal has an entry of a kind that is not known, and does nothing again", async () => {
    const { journal } = await interrupted(
      resumable(async (_turn, host) => completed((await host.invokeTool(calling("call-1"))).status)),
      3,
    );
    const newer = journal.take(key);
    await newer.write([{ kind: "reserved", callId: "call-1" } as unknown as JournalEntry], newer.progress);
    let ran = 0;
    const world = journalWorld(
      resumable(() => {
        ran += 1;
        return Promise.resolve(completed());
      }),
      { journal },
    );
    expect(await world.resume()).toMatchObject({
      status: "failed",
      error: { code: "turn_interrupted", retryable: false },
    });
    expect(ran).toBe(0);
    await expectSound(journal);
  });

  test("ends as interrupted when its journal has lost a part, and calls nothing again", async () => {
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const { journal } = await interrupted(runtime, 3);
    const next = journalWorld(runtime, { journal });
    expect(await next.resume({ isIncomplete: true })).toMatchObject({
      status: "failed",
      error: { code: "turn_interrupted" },
    });
    expect(next.events.filter(({ type }) => type.startsWith("tool."))).toEqual([]);
  });

  const plain = pluginOf(() => Promise.resolve(completed()));
  const others: { name: string; runtime: RuntimePlugin; now: { id: string; version: string } }[] = [
    {
      name: "another runtime",
      runtime: { ...resumable(plain.run), manifest: { id: "other", version: "7" } },
      now: { id: "other", version: "7" },
    },
    {
      name: "a version that does not read its journal",
      runtime: { ...plain, resumes: () => false, manifest: { id: "test", version: "8" } },
      now: { id: "test", version: "8" },
    },
    { name: "a runtime that cannot resume", runtime: plain, now: { id: "test", version: "7" } },
    {
      name: "a runtime that cannot say",
      runtime: {
        ...plain,
        resumes() {
          throw new Error("broken");
        },
      },
      now: { id: "test", version: "7" },
    },
  ];
  for (const { name, runtime, now } of others)
    test(`ends as interrupted with ${name}, and names both`, async () => {
      const { journal } = await interrupted(
        resumable(async (_turn, host) => completed((await host.invokeTool(calling("call-1"))).status)),
        3,
      );
      const result = await journalWorld(runtime, { journal }).resume();
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "turn_interrupted" },
        metadata: { runtimes: { began: { id: "test", version: "7" }, now } },
      });
    });

  test("resumes later when its grants cannot be read now", async () => {
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const { journal } = await interrupted(runtime, 3);
    const source = { load: () => Promise.reject(new Error("out")) };
    await expect(journalWorld(runtime, { journal, source }).resume()).rejects.toBeInstanceOf(TurnPause);
    expect((await journalWorld(runtime, { journal }).resume()).status).toBe("succeeded");
  });
});

describe("stopping", () => {
  const hanging = (tool = "files.read") => {
    const started = deferred<void>();
    const runtime = resumable(async (_turn, host) => {
      await host.invokeTool(calling("call-1", tool));
      started.resolve();
      return new Promise(() => {});
    });
    return { started, runtime };
  };

  test("a cancelled turn ends at once, and is cancelled", async () => {
    const { started, runtime } = hanging();
    const world = journalWorld(runtime);
    const running = world.run({}, { isAsync: true });
    await started.promise;
    await world.journal.cancel(key);
    expect(await running).toMatchObject({ status: "cancelled", error: { code: "turn_cancelled" } });
  });

  test("a turn that was cancelled while no run had it ends as cancelled, and asks no one", async () => {
    const { runtime, asked } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const { journal } = await interrupted(runtime, 3);
    await journal.cancel(key);
    const before = asked.length;
    expect(await journalWorld(runtime, { journal }).resume()).toMatchObject({ status: "cancelled" });
    expect(asked).toHaveLength(before);
    await expectSound(journal);
  });

  test("a turn that is cancelled while no run has it may not be tried again once it may have had an effect", async () => {
    for (const [tool, retryable] of [
      ["files.read", true],
      ["files.write", false],
    ] as const) {
      const { started, runtime } = hanging(tool);
      const { read, write } = toolsOf();
      const options = { tools: [read, write] };
      const world = journalWorld(runtime, options);
      const running = world.run({}, { isAsync: true });
      await started.promise;
      world.journal.take(key);
      await expect(running).rejects.toBeInstanceOf(TurnPause);
      await world.journal.cancel(key);
      const next = journalWorld(runtime, { ...options, journal: world.journal });
      expect(await next.resume()).toMatchObject({ status: "cancelled", error: { code: "turn_cancelled", retryable } });
    }
  });

  test("a run that is to pause ends the calls on their way, makes no further one, and resumes behind them", async () => {
    const pausing = new AbortController();
    const gate = deferred<void>();
    const write = toolOf("files.write", { readWrite: "write", work: () => gate.promise.then(() => "written") });
    const { runtime, asked } = drivenBy(
      () => ({ type: "tools", calls: [calling("write-1", "files.write"), calling("none", "files.none")] }),
      () => ({ type: "tools", calls: [calling("write-2", "files.write")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const journal = memoryTurnJournal();
    const pausable: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        return begun.kind === "known" ? begun : { kind: "begun", writer: { ...begun.writer, pauses: pausing.signal } };
      },
    };
    const world = journalWorld(runtime, { tools: [write], journal, through: pausable });
    const running = world.run({}, { isAsync: true });
    await expect.poll(() => write.calls.length).toBe(1);
    pausing.abort(new TurnPause("The host stops."));
    gate.resolve();
    await expect(running).rejects.toBe(pausing.signal.reason);
    expect(asked).toEqual([0]);
    expect(await journalWorld(runtime, { tools: [write], journal }).resume()).toMatchObject({ output: ["succeeded"] });
    expect(write.calls.map(({ id }) => id)).toEqual(["write-1", "write-2"]);
    await expectSound(journal);
  });

  test("a run that is to pause while a call is being stored does not make it, and the next one does", async () => {
    const pausing = new AbortController();
    const read = toolOf("files.read");
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [calling("call-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const journal = memoryTurnJournal();
    const pausable: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        if (begun.kind === "known") return begun;
        const write: RunWriter["write"] = async (entries, ...rest) => {
          await begun.writer.write(entries, ...rest);
          if (entries.some(({ kind }) => kind === "call")) pausing.abort(new TurnPause("The host stops."));
        };
        return { kind: "begun", writer: { ...begun.writer, write, pauses: pausing.signal } };
      },
    };
    const first = journalWorld(runtime, { tools: [read], journal, through: pausable });
    await expect(first.run({}, { isAsync: true })).rejects.toThrow("The host stops.");
    expect(read.calls).toEqual([]);
    expect(await journalWorld(runtime, { tools: [read], journal }).resume()).toMatchObject({ output: ["succeeded"] });
    expect(read.calls).toHaveLength(1);
  });

  test("a run that is to pause and has its outcome ends with that", async () => {
    const pausing = new AbortController();
    const journal = memoryTurnJournal();
    const through = withWriter(journal, () => ({ pauses: pausing.signal }));
    const runtime = resumable(() => {
      pausing.abort(new TurnPause("The host stops."));
      return Promise.resolve(completed());
    });
    const world = journalWorld(runtime, { journal, through });
    expect(await world.run({}, { isAsync: true })).toMatchObject({ status: "succeeded" });
  });

  test("a turn with a caller does not pause, nor does one that could not resume afterwards", async () => {
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
    const { resumes: _none, ...forgetful } = runtime;
    const journal = memoryTurnJournal();
    const pausable: TurnJournal = {
      ...journal,
      async begin(turn, call) {
        const begun = await journal.begin(turn, call);
        const pauses = AbortSignal.abort(new TurnPause("The host stops."));
        return begun.kind === "known" ? begun : { kind: "begun", writer: { ...begun.writer, pauses } };
      },
    };
    expect(await journalWorld(runtime, { journal, through: pausable }).run()).toMatchObject({ status: "succeeded" });
    const other = await journalWorld(forgetful, { journal, through: pausable }).run(
      { executionId: "turn-2" },
      { isAsync: true },
    );
    expect(other).toMatchObject({ status: "succeeded" });
  });

  test("a run that lost its turn to another stops without an end", async () => {
    const { started, runtime } = hanging();
    const world = journalWorld(runtime);
    const running = world.run({}, { isAsync: true });
    await started.promise;
    world.journal.take(key);
    await expect(running).rejects.toBeInstanceOf(TurnPause);
    expect((await world.journal.find(key))?.status).toBe("running");
  });

  test("the time in which it ran counts over all its runs, and the time in which no run had it does not", async () => {
    const { runtime } = hanging();
    const journal = memoryTurnJournal();
    const world = journalWorld(runtime, { journal, through: endingAt(journal, 2) });
    await world.run({}, { isAsync: true }).catch(() => {});
    const writer = journal.take(key);
    const nearlyOver = { ...writer, progress: { ...writer.progress, ranMs: writer.turn.limits.timeoutMs - 30 } };
    const next = journalWorld(runtime, { journal });
    expect(await next.run({}, { isAsync: true, writer: nearlyOver })).toMatchObject({ status: "cancelled" });
  });
});

test("the time that a turn has run is counted once, however often it is stored", async () => {
  const journal = memoryTurnJournal();
  const stored: number[] = [];
  /** A writer that says how far the turn has come, now. */
  const moving = (writer: RunWriter): RunWriter => {
    let { progress } = writer;
    return {
      ...writer,
      get progress() {
        return progress;
      },
      write(entries, reached, closed) {
        stored.push(reached.ranMs);
        progress = { ...reached, ranMs: 100_000 };
        return writer.write(entries, progress, closed);
      },
    };
  };
  const through: TurnJournal = {
    ...journal,
    async begin(turn, call) {
      const begun = await journal.begin(turn, call);
      return begun.kind === "known" ? begun : { kind: "begun", writer: moving(begun.writer) };
    },
  };
  const { runtime } = drivenBy(() => ({ type: "tools", calls: [calling("call-1")] }));
  await journalWorld(runtime, { journal, through }).run({}, { isAsync: true });
  expect(stored.length).toBeGreaterThan(2);
  expect(Math.max(...stored)).toBeLessThan(100_000);
});

describe("resuming is an admission that can only shrink", () => {
  const other = grantOf("more", { capabilities: [capability("files", ["notes"], "*")] });
  const reading = () =>
    drivenBy(
      () => ({ type: "tools", calls: [calling("call-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
  /** Ends while its first decision is not stored: everything is still to come. */
  const atFirstStep = 2;

  test("what was revoked meanwhile is gone", async () => {
    const { runtime } = reading();
    const { journal } = await interrupted(runtime, atFirstStep);
    const result = await journalWorld(runtime, { journal, grants: [runGrant, escalationGrant] }).resume();
    expect(result).toMatchObject({ status: "succeeded", output: ["tool_unavailable"] });
  });

  test("what was issued meanwhile is not there", async () => {
    const { runtime } = reading();
    const { journal } = await interrupted(runtime, atFirstStep, { grants: [runGrant] });
    const result = await journalWorld(runtime, { journal, grants: [runGrant, other] }).resume();
    expect(result).toMatchObject({ status: "succeeded", output: ["tool_unavailable"] });
  });

  test("a namespace that was switched on meanwhile is off, and one that was switched off is off", async () => {
    for (const [then, now] of [
      [[], ["files"]],
      [["files"], []],
    ] as const) {
      const { runtime } = reading();
      const journal = memoryTurnJournal();
      const first = journalWorld(runtime, { journal, through: endingAt(journal, atFirstStep) });
      await first.run({ context: { enabledToolNamespaces: [...then] } }, { isAsync: true }).catch(() => {});
      const result = await journalWorld(runtime, { journal }).resume({
        context: { context: { enabledToolNamespaces: [...now] } },
      });
      expect(result).toMatchObject({ output: ["tool_unavailable"] });
    }
  });

  test("it began when it began, and has the limits that it began with", async () => {
    const { runtime } = reading();
    const journal = memoryTurnJournal();
    const executor = { defaults: { maxToolCalls: 1 } };
    await journalWorld(runtime, { journal, executor, through: endingAt(journal, atFirstStep) })
      .run({}, { isAsync: true })
      .catch(() => {});
    const two = drivenBy(
      () => ({ type: "tools", calls: [calling("call-1"), calling("call-2")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const next = journalWorld(two.runtime, { journal });
    next.time.now = "2026-01-01T12:30:00Z";
    expect(await next.resume()).toMatchObject({
      startedAt: "2026-01-01T12:00:00Z",
      completedAt: "2026-01-01T12:30:00Z",
      output: ["succeeded", "tool_call_limit_exceeded"],
    });
  });

  test("the grant that admitted it has to be valid", async () => {
    const { runtime, asked } = reading();
    const { journal } = await interrupted(runtime, atFirstStep);
    const before = asked.length;
    const next = journalWorld(runtime, { journal, grants: [toolGrant] });
    expect(await next.resume()).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
    expect(asked).toHaveLength(before);
    expect(next.events[0]).toMatchObject({ type: "authorization.checked", outcome: "denied" });
  });

  test("it takes no second use, and its admission is in the audit log", async () => {
    const { runtime } = reading();
    const usage = memoryUsage();
    const grants = [{ ...runGrant, constraints: { maxUses: 1 } }, toolGrant];
    const { journal } = await interrupted(runtime, atFirstStep, { usage, grants });
    expect(await usage.used("demo", "run")).toBe(1);
    const next = journalWorld(runtime, { journal, usage, grants });
    expect(await next.resume()).toMatchObject({ status: "succeeded", output: ["succeeded"] });
    expect(await usage.used("demo", "run")).toBe(1);
    expect(next.events[0]).toMatchObject({ type: "turn.started", metadata: { goesOn: "interrupted" } });
  });

  test("it resumes later when the guard cannot say whether its access is active", async () => {
    const { runtime } = reading();
    const { journal } = await interrupted(runtime, atFirstStep);
    const access = { check: () => Promise.reject(new Error("out")) };
    await expect(journalWorld(runtime, { journal, access }).resume()).rejects.toBeInstanceOf(TurnPause);
  });

  test("it resumes later when the chain of the grant that admitted it cannot be read now", async () => {
    const { runtime } = reading();
    const parent = { ...runGrant, id: "parent", subject: runGrant.issuer, constraints: { delegationDepth: 1 } };
    const grants = [{ ...runGrant, parentId: "parent" }, toolGrant];
    const sourceWith = (find: () => Promise<Grant>): GrantSource => ({ load: () => Promise.resolve(grants), find });
    const whole = sourceWith(() => Promise.resolve(parent));
    const { journal } = await interrupted(runtime, atFirstStep, { source: whole });
    const out = sourceWith(() => Promise.reject(new Error("out")));
    await expect(journalWorld(runtime, { journal, source: out }).resume()).rejects.toBeInstanceOf(TurnPause);
    expect(await journalWorld(runtime, { journal, source: whole }).resume()).toMatchObject({ status: "succeeded" });
  });

  test("ended in the middle of its admission it takes no second use, by a grant whose chain holds", async () => {
    const { runtime } = reading();
    const usage = memoryUsage();
    const broken = { ...runGrant, id: "broken", parentId: "missing", constraints: { maxUses: 1 } };
    const once = { ...runGrant, constraints: { maxUses: 1 } };
    const journal = memoryTurnJournal();
    const grants = [broken, once, toolGrant];
    await journalWorld(runtime, { journal, through: endingAt(journal, 1), usage, grants })
      .run({}, { isAsync: true })
      .catch(() => {});
    expect(await usage.used("demo", "run")).toBe(1);
    const writer = journal.take(key);
    await writer.write([{ kind: "admitting" }], writer.progress);
    const next = journalWorld(runtime, { journal, usage, grants });
    expect(await next.resume()).toMatchObject({ status: "succeeded", output: ["succeeded"] });
    expect(await usage.used("demo", "run")).toBe(1);
  });

  test("ended in the middle of its admission it gets nothing that was issued or switched on since it began", async () => {
    const later = { ...other, issuedAt: "2026-01-01T13:00:00Z" };
    for (const { grants, on } of [
      { grants: [runGrant, later], on: ["files"] },
      { grants: [runGrant, toolGrant], on: [] },
    ]) {
      const { runtime } = reading();
      const journal = memoryTurnJournal();
      const context = { enabledToolNamespaces: on };
      await journalWorld(runtime, { journal, through: endingAt(journal, 1), grants })
        .run({ context }, { isAsync: true })
        .catch(() => {});
      const writer = journal.take(key);
      await writer.write([{ kind: "admitting" }], writer.progress);
      const next = journalWorld(runtime, { journal, grants, executor: { clock: () => "2026-01-01T14:00:00Z" } });
      const now = { now: "2026-01-01T14:00:00Z", enabledToolNamespaces: ["files"] };
      expect(await next.resume({ context: { context: now } })).toMatchObject({ output: ["tool_unavailable"] });
    }
  });

  test("a credential that was revoked ends it at once", async () => {
    const { runtime, asked } = reading();
    const { journal } = await interrupted(runtime, atFirstStep);
    const access = memoryAccess();
    access.revoke({ namespaceId: "demo", actor: agent });
    const before = asked.length;
    const next = journalWorld(runtime, { journal, access });
    expect(await next.resume()).toMatchObject({ status: "denied", error: { code: "credential_revoked" } });
    expect(asked).toHaveLength(before);
  });
});

describe("asking a person", () => {
  const wanted = { reason: "May I?", requestedAuthority: { capabilities: [capability("files", ["notes"], "*")] } };
  const reference = { id: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" };
  const escalations = { add: () => Promise.resolve(reference) };
  const ask = { ...calling("ask-1", "service.escalate"), arguments: wanted as never };
  const asking = () =>
    drivenBy(
      () => ({ type: "tools", calls: [ask, calling("call-1")] }),
      (results) => ({ type: "tools", calls: [{ ...calling("call-2"), arguments: { said: results.map(saidOf) } }] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
  const approved = {
    status: "succeeded",
    callId: "ask-1",
    tool: "service.escalate",
    completedAt: "2026-01-01T12:00:00Z",
    output: { answer: "approved" },
  } as const;
  const worldTools = (): { read: TurnTool; tools: [TurnTool, typeof escalateTool] } => {
    const read = toolOf("files.read");
    return { read, tools: [read, escalateTool] };
  };

  test("waits, with everything else of the step done, and resumes with the answer and what it grants", async () => {
    const { runtime, asked } = asking();
    const { read, tools } = worldTools();
    const journal = memoryTurnJournal();
    const world = journalWorld(runtime, { journal, escalations, tools, grants: [runGrant, escalationGrant] });
    const first = await world.run({}, { isAsync: true });
    expect(first).toMatchObject({ status: "escalated", escalation: { reason: "May I?" } });
    expect(typesOf(first)).not.toContain("turn.escalated");
    expect(await journal.find(key)).toMatchObject({ status: "waiting", escalation: { reason: "May I?" } });
    expect(asked).toEqual([0]);

    journal.answer(key, "ask-1", approved);
    const next = journalWorld(runtime, { journal, escalations, tools, grants: [runGrant, escalationGrant, toolGrant] });
    const result = await next.resume();
    expect(result).toMatchObject({ status: "succeeded", output: ["succeeded"] });
    expect(asked).toEqual([0, 1, 2]);
    expect(read.calls.map(({ id, arguments: args }) => [id, args])).toEqual([
      ["call-2", { said: ["succeeded", "tool_unavailable"] }],
    ]);
    expect(next.events.find(({ type }) => type === "turn.started")).toMatchObject({ metadata: { goesOn: "answered" } });
    expect(dataOf(result, "tool.completed")).toContainEqual({
      callId: "ask-1",
      tool: "service.escalate",
      status: "succeeded",
    });
    expect(await journal.find(key)).toMatchObject({ steps: 3, toolCalls: 2 });
    await expectSound(journal);
  });

  test("calls that were made beside an escalation end, and are stored, before the turn waits", async () => {
    const gate = deferred<void>();
    const write = toolOf("files.write", { readWrite: "write", work: () => gate.promise.then(() => "written") });
    const runtime = resumable(async (_turn, host) => {
      const results = await Promise.all([host.invokeTool(calling("write-1", "files.write")), host.invokeTool(ask)]);
      return completed(results.map(saidOf));
    });
    const journal = memoryTurnJournal();
    const tools = [write, escalateTool];
    const running = journalWorld(runtime, { journal, escalations, tools }).run({}, { isAsync: true });
    await expect.poll(() => write.calls.length).toBe(1);
    setTimeout(gate.resolve, 20);
    await running;
    journal.answer(key, "ask-1", approved);
    const result = await journalWorld(runtime, { journal, escalations, tools }).resume();
    expect(result).toMatchObject({ output: ["succeeded", "succeeded"] });
    expect(write.calls).toHaveLength(1);
  });

  test("a decision to ask is waited for like a call", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "escalate", ...wanted }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const journal = memoryTurnJournal();
    const world = journalWorld(runtime, { journal, escalations });
    await world.run({}, { isAsync: true });
    expect((await journal.find(key))?.status).toBe("waiting");
    journal.answer(key, "turn-1-ask-0", {
      ...approved,
      callId: "turn-1-ask-0",
      status: "denied",
      error: { code: "escalation_denied", message: "No." },
    } as never);
    expect(await world.resume()).toMatchObject({ output: ["escalation_denied"] });
  });

  test("an answer takes no second use of the grant that admitted it, and needs one that admits it", async () => {
    const usage = memoryUsage();
    const once = { ...runGrant, constraints: { maxUses: 1 } };
    const again = { ...runGrant, id: "again", constraints: { maxUses: 1 } };
    for (const { grants, said, uses } of [
      { grants: [once, toolGrant, escalationGrant], said: "succeeded", uses: 0 },
      { grants: [again, toolGrant, escalationGrant], said: "succeeded", uses: 1 },
      { grants: [toolGrant, escalationGrant], said: "no_matching_grant", uses: 1 },
    ]) {
      const { runtime } = asking();
      const journal = memoryTurnJournal();
      const own = memoryUsage();
      await journalWorld(runtime, { journal, escalations, usage: own, grants: [once, escalationGrant] }).run(
        {},
        { isAsync: true },
      );
      journal.answer(key, "ask-1", approved);
      const result = await journalWorld(runtime, { journal, escalations, usage, grants }).resume();
      expect(saidOf(result)).toBe(said);
      expect(await usage.used("demo", "again")).toBe(uses);
    }
  });

  test("resumes later when the use of the grant that admits it after an answer cannot be counted now", async () => {
    const { runtime } = asking();
    const journal = memoryTurnJournal();
    const again = { ...runGrant, id: "again", constraints: { maxUses: 1 } };
    const [before, after] = [runGrant, again].map((one) => [one, toolGrant, escalationGrant]);
    await journalWorld(runtime, { journal, escalations, grants: before ?? [] }).run({}, { isAsync: true });
    journal.answer(key, "ask-1", approved);
    const out = () => Promise.reject(new Error("out"));
    const next = journalWorld(runtime, {
      journal,
      escalations,
      grants: after ?? [],
      usage: { used: out, consume: out },
    });
    await expect(next.resume()).rejects.toBeInstanceOf(TurnPause);
    expect(await journalWorld(runtime, { journal, escalations, grants: after ?? [] }).resume()).toMatchObject({
      status: "succeeded",
    });
  });

  test("an escalation that the gate denies is denied, as any other call", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [ask] }),
      (results) => ({ type: "complete", output: results.flatMap((one) => [one.status, saidOf(one)]) }),
    );
    const usage = memoryUsage();
    const grants = [runGrant, { ...escalationGrant, constraints: { maxUses: 1 } }];
    const unasked = { add: () => Promise.reject(new Error("It was asked.")) };
    /** Another caller has the last use by the time of the call. */
    const access: AccessGuard = {
      async check({ enabledToolNamespaces }) {
        await usage.consume("demo", escalationGrant.id, 1);
        return { isActive: true, enabledToolNamespaces };
      },
    };
    const world = journalWorld(runtime, { escalations: unasked, usage, grants, access });
    expect(await world.run({}, { isAsync: true })).toMatchObject({ output: ["denied", "grant_exhausted"] });
  });

  for (const type of ["authorization.checked", "escalation.requested"])
    test(`a turn whose escalation cannot be recorded as ${type} ends, and asks no one`, async () => {
      const { runtime, asked } = drivenBy(() => ({ type: "tools", calls: [ask] }));
      let seen = 0;
      const audit = refusingAudit(
        (event) => event.type === type && (type !== "authorization.checked" || (seen += 1) > 1),
      );
      const unasked = { add: () => Promise.reject(new Error("It was asked.")) };
      const world = journalWorld(runtime, { escalations: unasked, audit });
      const result = await world.run({}, { isAsync: true });
      const code = "audit_unavailable";
      expect(result).toMatchObject({ status: "failed", error: { code } });
      expect(dataOf(result, "tool.completed")).toMatchObject([{ callId: "ask-1", status: "failed", code }]);
      expect(asked).toEqual([0]);
    });

  test("ended in the middle of the admission that an answer brings it takes one use for that, and no other", async () => {
    const { runtime } = asking();
    const { tools } = worldTools();
    const journal = memoryTurnJournal();
    const usage = memoryUsage();
    const again = { ...runGrant, id: "again", constraints: { maxUses: 2 } };
    const world = { escalations, tools, usage };
    await journalWorld(runtime, { ...world, journal, grants: [runGrant, escalationGrant] }).run({}, { isAsync: true });
    journal.answer(key, "ask-1", approved);
    /** As the host's: the entry is stored together with the use, and then the process ends. */
    const taken = journal.take(key);
    const begun: (JournalEntry | undefined)[] = [];
    const dying: RunWriter = {
      ...taken,
      openScope: (entry) => void begun.push(entry),
      write: () => Promise.reject(new TurnPause("The process has ended.")),
    };
    const next = journalWorld(runtime, { ...world, journal, grants: [again, toolGrant, escalationGrant] });
    await expect(next.run({}, { isAsync: true, writer: dying })).rejects.toBeInstanceOf(TurnPause);
    expect(await usage.used("demo", "again")).toBe(1);
    await taken.write(
      begun.flatMap((entry) => entry ?? []),
      taken.progress,
    );
    expect(await next.resume()).toMatchObject({ status: "succeeded", output: ["succeeded"] });
    expect(await usage.used("demo", "again")).toBe(1);
  });

  test("a decision to ask is waited for under the longest id that a turn may have", async () => {
    const { runtime } = drivenBy(() => ({ type: "escalate", ...wanted }));
    const journal = memoryTurnJournal();
    const executionId = "x".repeat(256);
    await journalWorld(runtime, { journal, escalations }).run({ executionId }, { isAsync: true });
    expect(await journal.find({ ...key, executionId })).toMatchObject({ status: "waiting" });
  });

  test("ends escalated, as ever, with a caller, without a queue that can be asked, and with a runtime that cannot resume", async () => {
    const { runtime } = asking();
    expect(await journalWorld(runtime, { escalations }).run()).toMatchObject({ status: "escalated" });
    const unanswerable = journalWorld(runtime);
    expect(await unanswerable.run({}, { isAsync: true })).toMatchObject({ status: "escalated" });
    expect((await unanswerable.journal.find(key))?.status).toBe("escalated");
    const { resumes: _none, ...plain } = runtime;
    const forgetful = journalWorld(plain, { escalations });
    expect(await forgetful.run({}, { isAsync: true })).toMatchObject({ status: "escalated" });
    expect((await forgetful.journal.find(key))?.status).toBe("escalated");
  });

  test("an escalation that is not taken is a result of its call", async () => {
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [ask] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    for (const [add, code] of [
      [() => Promise.resolve("full" as const), "too_many_escalations"],
      [() => Promise.reject(new Error("out")), "escalation_unavailable"],
    ] as const) {
      const untaken = await journalWorld(runtime, { escalations: { add } }).run({}, { isAsync: true });
      expect(untaken).toMatchObject({ output: [code] });
      expect(dataOf(untaken, "tool.completed")).toMatchObject([{ status: "failed", code }]);
    }
    for (const wrong of [{ reason: "" }, { reason: "May I?", requestedAuthority: null }]) {
      const asked = drivenBy(
        () => ({ type: "tools", calls: [{ ...ask, arguments: wrong }] }),
        (results) => ({ type: "complete", output: outputs(results) }),
      );
      expect(await journalWorld(asked.runtime, { escalations }).run({}, { isAsync: true })).toMatchObject({
        output: ["invalid_tool_arguments"],
      });
    }
    const access = memoryAccess();
    const asked = drivenBy(
      () => {
        access.switchTo({ namespaceId: "demo", actor: agent }, ["files"]);
        return { type: "tools", calls: [ask] };
      },
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const off = journalWorld(asked.runtime, { escalations, access });
    expect(await off.run({}, { isAsync: true })).toMatchObject({ output: ["tool_unavailable"] });
    const hidden = journalWorld(runtime, { escalations, grants: [runGrant] });
    expect(await hidden.run({}, { isAsync: true })).toMatchObject({ output: ["tool_unavailable"] });
  });
});

test("a session recalls no decision that it has just made", async () => {
  const recalled: unknown[] = [];
  const driver: TurnDriver = {
    open: () =>
      Promise.resolve({
        next: () => Promise.resolve({ type: "complete", output: "done" }),
        recall: (_input, memory) => void recalled.push(memory),
      }),
  };
  expect(await journalWorld(standardRuntime(driver)).run()).toMatchObject({ status: "succeeded" });
  expect(recalled).toEqual([]);
});

test("a session that remembers nothing resumes with the decisions that are stored", async () => {
  let asked = 0;
  const driver: TurnDriver = {
    resumes: () => true,
    open: () =>
      Promise.resolve({
        next(input) {
          asked += 1;
          if (input.type === "start") return Promise.resolve({ type: "tools", calls: [calling("call-1")] });
          return Promise.resolve({ type: "complete", output: outputs(input.results) });
        },
      }),
  };
  const runtime = standardRuntime(driver);
  const { journal } = await interrupted(runtime, 4);
  expect(await journalWorld(runtime, { journal }).resume()).toMatchObject({ output: ["succeeded"] });
  expect(asked).toBe(2);
});

test("a decision that is as deep as JSON may be is stored, and is given again as it was", async () => {
  let deep: JsonValue = "end";
  for (let level = 0; level < 63; level += 1) deep = [deep];
  const call = { ...calling("call-1"), arguments: { deep } };
  const driver = () =>
    drivenBy(
      () => ({ type: "tools", calls: [call] }),
      () => ({ type: "complete", output: [deep] }),
    );
  expect(await turnWorldOf(driver().runtime).run()).toMatchObject({ status: "succeeded", output: [deep] });
  const { runtime, asked } = driver();
  const { read } = toolsOf();
  const { journal } = await interrupted(runtime, 4, { tools: [read] });
  expect(await journalWorld(runtime, { journal, tools: [read] }).resume()).toMatchObject({
    status: "succeeded",
    output: [deep],
  });
  expect(read.calls.at(-1)?.arguments).toEqual({ deep });
  expect(asked.filter((place) => place === 0)).toHaveLength(1);
});

describe("a runtime without a driver", () => {
  test("makes a step once, and is given its value again", async () => {
    let made = 0;
    const runtime = resumable(async (_turn, host) => {
      host.emit({ type: "begun", data: null });
      const value = await host.step("plan", () => ({ made: (made += 1) }));
      host.emit({ type: "planned", data: value });
      const result = await host.invokeTool(calling("write-1", "files.write"));
      host.emit({ type: "written", data: null });
      return completed({ ...value, said: saidOf(result) });
    });
    for (let nth = 1, isWhole = false; !isWhole; nth += 1) {
      made = 0;
      const { write } = toolsOf();
      const { journal, isPaused } = await interrupted(runtime, nth, { tools: [write] });
      isWhole = !isPaused;
      const result = isWhole
        ? (await journal.find(key))?.result
        : await journalWorld(runtime, { tools: [write], journal }).resume();
      expect(result).toMatchObject({ status: "succeeded" });
      expect(write.calls.length).toBeLessThanOrEqual(1);
      expect(dataOf(result as TurnResult, "runtime.event")).toMatchObject([
        { type: "begun" },
        { type: "planned" },
        { type: "written" },
      ]);
      await expectSound(journal);
    }
    expect(made).toBe(1);
  });

  test("may name parts in the value of a step that are not there, which are not stored", async () => {
    const values = [{ a: undefined, b: null, c: [{ d: undefined, e: 1 }] }, null, "text"];
    const runtime = resumable(async (_turn, host) => {
      for (const [place, value] of values.entries()) await host.step(`step-${place}`, () => value as never);
      return completed();
    });
    const atItsEnd = 5;
    const { journal } = await interrupted(runtime, atItsEnd);
    const stored = (await entriesOf(journal)).filter((entry) => entry.kind === "step");
    expect(stored.map(({ value }) => value)).toStrictEqual([{ b: null, c: [{ e: 1 }] }, null, "text"]);
    expect(await journalWorld(runtime, { journal }).resume()).toMatchObject({ status: "succeeded" });
  });

  test("that says something else when it is run again has said both", async () => {
    let word = "first";
    const runtime = resumable(async (_turn, host) => {
      host.emit({ type: word, data: null });
      return completed(await host.step("plan", () => [word]));
    });
    const { journal } = await interrupted(runtime, 3);
    word = "second";
    const result = await journalWorld(runtime, { journal }).resume();
    expect(dataOf(result, "runtime.event")).toMatchObject([{ type: "first" }, { type: "second" }]);
    await expectSound(journal);
  });

  const refusals: { name: string; run: RuntimePlugin["run"]; said: RegExp }[] = [
    {
      name: "a name twice",
      run: async (_turn, host) => completed([await host.step("a", () => 1), await host.step("a", () => 2)]),
      said: /has made a step a already/,
    },
    { name: "no name", run: async (_turn, host) => completed(await host.step("", () => 1)), said: /needs a name/ },
    {
      name: "a name that is no text",
      run: async (_turn, host) => completed(await host.step(7 as never, () => 1)),
      said: /needs a name/,
    },
    {
      name: "no JSON",
      run: async (_turn, host) => completed(await host.step("a", () => (() => 1) as never)),
      said: /no JSON/,
    },
    {
      name: "nothing",
      run: async (_turn, host) => completed(await host.step("a", () => undefined as never)),
      said: /no JSON/,
    },
    {
      name: "an object that is not only its parts",
      run: async (_turn, host) => completed(await host.step("a", () => new Date(0) as never)),
      said: /no JSON/,
    },
  ];
  for (const { name, run, said } of refusals)
    test(`is refused ${name} for a step`, async () => {
      const world = journalWorld(resumable(run));
      expect(await world.run()).toMatchObject({ status: "failed", error: { code: "runtime_failed" } });
      expect(String(world.turnErrors[0]?.error)).toMatch(said);
    });

  test("that asks for another call under an id of its earlier run fails", async () => {
    let tool = "files.read";
    const runtime = resumable(async (_turn, host) => {
      const first = await host.invokeTool(calling("call-1", tool));
      const second = await host.invokeTool(calling("call-2"));
      return completed([saidOf(first), saidOf(second)]);
    });
    const { journal } = await interrupted(runtime, 5);
    tool = "files.put";
    expect(await journalWorld(runtime, { journal }).resume()).toMatchObject({
      status: "failed",
      error: { code: "runtime_failed" },
    });
  });

  test("whose limits refused calls is told the same again, and has as many left", async () => {
    const runtime = resumable(async (_turn, host) => {
      const said: string[] = [];
      for (const call of [
        calling("call-1"),
        calling("call-1"),
        calling("x", "files.none"),
        calling("call-2"),
        calling("call-3"),
      ])
        said.push(saidOf(await host.invokeTool(call)));
      return completed(said);
    });
    const options = { executor: { defaults: { maxToolCalls: 2 } } };
    for (let nth = 1, isWhole = false; !isWhole; nth += 1) {
      const { journal, isPaused } = await interrupted(runtime, nth, options);
      isWhole = !isPaused;
      const result = isWhole
        ? (await journal.find(key))?.result
        : await journalWorld(runtime, { ...options, journal }).resume();
      expect(result).toMatchObject({
        output: ["succeeded", "duplicate_call_id", "tool_unavailable", "succeeded", "tool_call_limit_exceeded"],
      });
      expect(dataOf(result as TurnResult, "tool.requested")).toHaveLength(5);
      expect(await journal.find(key)).toMatchObject({ toolCalls: 2 });
      await expectSound(journal);
    }
  });
});

test("a turn that is denied leaves its id free, also for one that is admitted", async () => {
  const { runtime } = drivenBy();
  const journal = memoryTurnJournal();
  expect(await journalWorld(runtime, { journal, grants: [] }).run()).toMatchObject({ status: "denied" });
  expect(await journalWorld(runtime, { journal }).run(requestOf())).toMatchObject({ status: "succeeded" });
});
