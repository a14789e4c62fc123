import { describe, expect, test } from "vitest";
import { alice, capability, descriptorOf, fails, now, providerOf, scopeOf, untyped } from "../../test/deployment.ts";
import { drivenBy, journalWorld, key, outputs, resumable } from "../../test/journal-turns.ts";
import { calling, completed, endingAt, never, saidOf, toolOf, withWriter } from "../../test/turns.ts";
import type { ToolCall } from "../contracts/index.ts";
import type { TurnScope } from "../kernel/index.ts";
import { memoryTurnJournal } from "../testing/index.ts";
import type { JournalEntry, RunWriter } from "./journal.ts";
import { openRunBuffer } from "./run-buffer.ts";
import { openTurnEvents } from "./turn-events.ts";
import { createTurnHost } from "./turn-host.ts";
import { readReplay } from "./turn-replay.ts";

const start = { isAsync: true } as const;
const escalations = { add: () => Promise.resolve({ id: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" }) };
const wanted = { reason: "May I?", requestedAuthority: { capabilities: [capability("files", ["notes"], "*")] } };
const ask: ToolCall = { ...calling("ask", "service.escalate"), arguments: untyped(wanted) };

describe("a turn that is over for its host, although its signal has not fired yet", () => {
  /** A host whose turn does not end, and what got through it. */
  const hostOf = (ends: {
    write?: RunWriter["write"];
    onCall?: TurnScope["mustEnd"];
    onStep?: TurnScope["mustEnd"];
  }) => {
    const done: string[] = [];
    let breaks = 0;
    let mustEnd: TurnScope["mustEnd"];
    const scope = {
      tools: [descriptorOf({ name: "files.read" })],
      offers: () => true,
      get mustEnd() {
        return mustEnd;
      },
      invokeTool({ id, tool }: ToolCall) {
        done.push(id);
        mustEnd = ends.onCall;
        return Promise.resolve({ status: "succeeded", callId: id, tool, completedAt: now, output: null });
      },
      checkAccess() {
        done.push("access");
        mustEnd = ends.onStep;
        return Promise.resolve();
      },
    } as unknown as TurnScope;
    const writer = {
      progress: { at: now, steps: 0, toolCalls: 0, ranMs: 0 },
      // With a scope a call does not wait for the buffer.
      openScope: scopeOf,
      write: ends.write ?? (() => Promise.resolve()),
    } as unknown as RunWriter;
    const request = untyped<Parameters<typeof openTurnEvents>[0]>({ version: 1, executionId: "turn-1" });
    const tools = { clock: () => now, createId: () => "event" };
    const { host } = createTurnHost({
      isPure: false,
      scope,
      limits: { maxSteps: 9, maxToolCalls: 9, timeoutMs: 1_000 },
      events: openTurnEvents(request, "trace-1", tools, () => {}),
      signal: new AbortController().signal,
      clock: () => now,
      journal: { buffer: openRunBuffer(writer, { ...tools, show() {}, onFailure() {} }), replay: readReplay([]) },
      waits: false,
      owner: alice,
      onBreak: () => (breaks += 1),
      onAsked() {},
    });
    const errorsOfEverything = () =>
      Promise.all(
        [() => host.invokeTool(calling("late")), () => host.step("late", () => done.push("late")), host.beginStep].map(
          (operate) => operate().catch((error: Error) => error.message),
        ),
      );
    return { host, done, errorsOfEverything, breaks: () => breaks };
  };

  test("does nothing more once something could not be stored", async () => {
    const { host, done, errorsOfEverything } = hostOf({ write: () => Promise.reject(new Error("full")) });
    await expect(host.step("first", () => 1)).rejects.toThrow("full");
    expect(await errorsOfEverything()).toEqual(["full", "full", "full"]);
    expect(done).toEqual([]);
  });

  test("does nothing more, and is ended, once a call or a step said that it must end", async () => {
    const over = "The turn has ended.";
    const called = hostOf({ onCall: "audit_unavailable" });
    expect(await called.host.invokeTool(calling("call-1"))).toMatchObject({ status: "succeeded" });
    expect(called.breaks()).toBe(1);
    expect(await called.errorsOfEverything()).toEqual([over, over, over]);
    expect(called.done).toEqual(["call-1"]);

    const stepped = hostOf({ onStep: "credential_revoked" });
    await expect(stepped.host.beginStep()).rejects.toThrow(over);
    expect(stepped.breaks()).toBe(1);
    expect(await stepped.errorsOfEverything()).toEqual([over, over, over]);
    expect(stepped.done).toEqual(["access"]);
  });
});

describe("what is stored of a call", () => {
  const kindsOf = (entries: readonly JournalEntry[]) =>
    entries.map(({ kind }) => kind).filter((kind) => kind !== "event");

  test("that asks is that it is made, by itself and before a person is asked, and then what it waits for", async () => {
    const journal = memoryTurnJournal();
    const opened: unknown[] = [];
    const through = withWriter(journal, () => ({ openScope: (entry) => (opened.push(entry), scopeOf()) }));
    const { runtime } = drivenBy(() => ({ type: "tools", calls: [ask] }));
    await journalWorld(runtime, { journal, through, escalations }).run({}, start);
    const { stored } = journal.take(key);
    expect(kindsOf(stored)).toEqual(["admitted", "step", "call", "waiting"]);
    expect(stored.find(({ kind }) => kind === "call")).toMatchObject({ call: { id: "ask" }, repeatable: true });
    expect(opened).toEqual([{ kind: "admitting" }]);
  });

  test("that is made again, because that is safe, is not stored a second time, and has no scope", async () => {
    let work = never;
    const read = toolOf("files.read", { work: () => work() });
    const { runtime } = drivenBy(
      () => ({ type: "tools", calls: [calling("call-1")] }),
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const journal = memoryTurnJournal();
    const world = journalWorld(runtime, { journal, tools: [read] });
    void world.run({}, start).catch(() => {});
    await expect.poll(() => read.calls.length).toBe(1);
    work = untyped(() => Promise.resolve("again"));
    const writer = journal.take(key);
    const written: JournalEntry[] = [];
    const opened: unknown[] = [];
    const watched: RunWriter = {
      ...writer,
      openScope: (entry) => (opened.push(entry), undefined),
      write: (entries, progress) => (written.push(...entries), writer.write(entries, progress)),
    };
    expect(await world.run({}, { ...start, writer: watched })).toMatchObject({ output: ["succeeded"] });
    expect(kindsOf(written)).toEqual(["admitted", "result", "step", "ended"]);
    // The admission and the end have no entry of their own.
    expect(opened).toEqual([undefined, undefined]);
  });

  test("of a tool whose provider failed is that it may not be made again", async () => {
    const runtime = resumable(async (_turn, host) =>
      completed(saidOf(await host.invokeTool(calling("call-1", "mail.find")))),
    );
    const journal = memoryTurnJournal();
    const written: JournalEntry[] = [];
    const through = withWriter(journal, (writer) => ({
      write: (entries, ...more) => (written.push(...entries), writer.write(entries, ...more)),
    }));
    const world = journalWorld(runtime, { journal, through, toolProviders: [providerOf("post", ["mail"], fails)] });
    expect(await world.run({ context: { enabledToolNamespaces: ["mail"] } })).toMatchObject({
      output: "tool_catalog_unavailable",
    });
    expect(written.find(({ kind }) => kind === "call")).toMatchObject({ repeatable: false });
  });
});

describe("an escalation", () => {
  test("is a call of `service.escalate` alone: another tool may have such arguments", async () => {
    const read = toolOf("files.read");
    const runtime = resumable(async (_turn, host) =>
      completed(saidOf(await host.invokeTool({ ...ask, tool: "files.read" }))),
    );
    const world = journalWorld(runtime, { escalations, tools: [read] });
    expect(await world.run({}, start)).toMatchObject({ status: "succeeded", output: "succeeded" });
    expect(read.calls).toHaveLength(1);
  });

  test("is asked by no call of a turn with a caller, which fails", async () => {
    const runtime = resumable(async (_turn, host) => completed(saidOf(await host.invokeTool(ask))));
    const unasked = { add: () => Promise.reject(new Error("It was asked.")) };
    const world = journalWorld(runtime, { escalations: unasked });
    expect(await world.run()).toMatchObject({ status: "succeeded", output: "tool_execution_failed" });
  });

  test("and nothing that is no call: it rejects where answers are waited for, too", async () => {
    const runtime = resumable(async (_turn, host) => {
      await expect(host.invokeTool(untyped<ToolCall>(undefined))).rejects.toThrow("This is no tool call");
      return completed();
    });
    expect(await journalWorld(runtime).run({}, start)).toMatchObject({ status: "succeeded" });
  });
});

test("a turn is refused 1,000 calls over all its runs", async () => {
  const runtime = resumable(async (_turn, host) => {
    for (let place = 0; place < 1_000; place += 1) await host.invokeTool(calling(`call-${place}`, "files.none"));
    await host.invokeTool(calling("one-too-many", "files.none"));
    return completed();
  });
  const journal = memoryTurnJournal();
  await journalWorld(runtime, { journal, through: endingAt(journal, 600) })
    .run({}, start)
    .catch(() => {});
  expect(journal.take(key).stored.filter(({ kind }) => kind === "result").length).toBeGreaterThan(100);
  const next = journalWorld(runtime, { journal });
  expect(await next.resume()).toMatchObject({ status: "failed", error: { code: "runtime_failed" } });
  expect(next.turnErrors).toMatchObject([{ error: new RangeError("This turn was refused too often.") }]);
});
