import { describe, expect, test } from "vitest";
import { deferred, scopeOf } from "../../test/deployment.ts";
import { drivenBy, expectSound, journalWorld, key, outputs, resumable } from "../../test/journal-turns.ts";
import { calling, completed, toolOf, withWriter } from "../../test/turns.ts";
import { memoryTurnJournal } from "../testing/index.ts";
import { TurnPause, type JournalEntry, type TurnJournal, type RunWriter } from "./journal.ts";

// Turns whose journal takes a write while another is on its way, and stores them in their order.

interface SlowJournal {
  through: TurnJournal;
  /** What the writer was asked to write or to open a scope for, and what became durable, in that order. */
  log: string[];
  journal: ReturnType<typeof memoryTurnJournal>;
}

const nameOf = (entries: readonly JournalEntry[]): string =>
  entries.map((entry) => (entry.kind === "event" ? entry.event.type : entry.kind)).join("+");

/** Nothing is durable before `durable` says so for it; behind what fails, everything does. */
function slowly(
  durable: (entries: readonly JournalEntry[]) => Promise<void>,
  more: (writer: RunWriter, log: string[]) => Partial<RunWriter> = () => ({}),
): SlowJournal {
  const log: string[] = [];
  const journal = memoryTurnJournal();
  let last: Promise<void> = Promise.resolve();
  const through = withWriter(journal, (writer) => ({
    isOrdered: true,
    write(entries, progress) {
      log.push(`write ${nameOf(entries)}`);
      const isDurable = durable(entries);
      isDurable.catch(() => {});
      const before = last;
      const store = async (): Promise<void> => {
        await before;
        await isDurable;
        await writer.write(entries, progress);
        log.push(`stored ${nameOf(entries)}`);
      };
      last = store();
      return last;
    },
    ...more(writer, log),
  }));
  return { through, journal, log };
}

const isStep = (entries: readonly JournalEntry[]): boolean => entries.some(({ kind }) => kind === "step");
const full = new Error("full");
const soon = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const oneCall = () =>
  drivenBy(
    () => ({ type: "tools", calls: [calling("call-1")] }),
    (results) => ({ type: "complete", output: outputs(results) }),
  );

describe("a decision of the driver", () => {
  test("is handed over before the scopes of its calls are opened, and is not waited for", async () => {
    const slow = slowly(
      () => soon(),
      (_writer, log) => ({
        openScope(entry) {
          if (entry?.kind === "call") log.push(`open ${entry.call.id}`);
          return scopeOf();
        },
      }),
    );
    const two = drivenBy(() => ({ type: "tools", calls: [calling("call-1"), calling("call-2")] }));
    expect(await journalWorld(two.runtime, slow).run()).toMatchObject({ status: "succeeded" });
    const [first, second] = [slow.log.indexOf("open call-1"), slow.log.indexOf("open call-2")];
    const written = slow.log.indexOf("write step+tool.requested");
    expect(written).not.toBe(-1);
    expect([first > written, second > first]).toEqual([true, true]);
    expect(slow.log.indexOf("stored step+tool.requested")).toBeGreaterThan(second);
    await expectSound(slow.journal);
  });

  test("is durable before its call is made, where the writer has no scopes", async () => {
    const slow = slowly(() => soon());
    const read = toolOf("files.read", { work: () => Promise.resolve(slow.log.push("call")) });
    await journalWorld(oneCall().runtime, { ...slow, tools: [read] }).run();
    const place = slow.log.indexOf("call");
    expect(slow.log.slice(place - 2, place)).toEqual(["stored step+tool.requested", "stored call"]);
  });

  test("is stored with the end that it comes to, both or none, which is told once they are durable", async () => {
    const slow = slowly(() => soon());
    const ran = await journalWorld(drivenBy().runtime, slow).run();
    expect(ran).toMatchObject({ status: "succeeded" });
    expect(slow.log.slice(-2)).toEqual(["write step+turn.completed+ended", "stored step+turn.completed+ended"]);
  });

  test("is durable before a person is asked because of it", async () => {
    const asked: boolean[] = [];
    const slow = slowly(() => soon());
    const escalations = {
      add() {
        asked.push(slow.log.includes("stored step"));
        return Promise.resolve({ id: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" });
      },
    };
    const { runtime } = drivenBy(() => ({ type: "escalate", reason: "May it?" }));
    expect(await journalWorld(runtime, { ...slow, escalations }).run()).toMatchObject({ status: "escalated" });
    expect(asked).toEqual([true]);
  });

  test("that could not be stored lets no person be asked, and the turn fails", async () => {
    let asked = 0;
    const slow = slowly((entries) => (isStep(entries) ? Promise.reject(full) : soon()));
    const add = () => Promise.resolve({ id: `escalation-${(asked += 1)}`, expiresAt: "2026-01-02T00:00:00Z" });
    const { runtime } = drivenBy(() => ({ type: "escalate", reason: "May it?" }));
    expect(await journalWorld(runtime, { ...slow, escalations: { add } }).run()).toMatchObject({
      status: "failed",
      error: { code: "audit_unavailable" },
    });
    expect(asked).toBe(0);
  });

  test("is durable before its run pauses, so that no run decides again", async () => {
    const pausing = new AbortController();
    const slow = slowly(
      () => soon(),
      () => ({ pauses: pausing.signal }),
    );
    const { runtime, asked } = drivenBy(
      () => {
        pausing.abort(new TurnPause("The host stops."));
        return { type: "tools", calls: [calling("call-1")] };
      },
      (results) => ({ type: "complete", output: outputs(results) }),
    );
    const first = journalWorld(runtime, slow);
    await expect(first.run({}, { isAsync: true })).rejects.toThrow("The host stops.");
    expect(slow.log.at(-1)).toBe("stored step");
    expect(await journalWorld(runtime, { journal: slow.journal }).resume()).toMatchObject({ output: ["succeeded"] });
    expect(asked).toEqual([0, 1]);
  });
});

describe("a runtime", () => {
  const logged = (slow: SlowJournal) => ({
    tools: [toolOf("files.read", { work: () => Promise.resolve(slow.log.push("call")) })],
    runtime: drivenBy(
      () => (slow.log.push("decides"), { type: "tools", calls: [calling("call-1")] }),
      (results) => (slow.log.push("decides"), { type: "complete", output: outputs(results) }),
    ).runtime,
  });

  test("that asks a person is given nothing that is not durable", async () => {
    const slow = slowly(() => soon());
    const { tools, runtime } = logged(slow);
    await journalWorld(runtime, { ...slow, tools }).run();
    const { log } = slow;
    expect(log.filter((_line, place) => log[place + 1] === "decides")).toEqual([
      "stored admitted+turn.started",
      "stored result+tool.completed",
    ]);
  });

  test("that is pure waits before its calls, and before its end is told", async () => {
    const slow = slowly(() => soon());
    const { tools, runtime } = logged(slow);
    const thinking = { ...runtime, isPure: true };
    const ran = await journalWorld(thinking, { ...slow, tools }).run();
    expect(ran).toMatchObject({ status: "succeeded", output: ["succeeded"] });
    expect(slow.log).toEqual([
      "decides",
      "write admitted+turn.started+step+tool.requested",
      "write call",
      "stored admitted+turn.started+step+tool.requested",
      "stored call",
      "call",
      "decides",
      "write result+tool.completed+step+turn.completed+ended",
      "stored result+tool.completed+step+turn.completed+ended",
    ]);
    await expectSound(slow.journal);
  });

  test("that is pure is given nothing that is not durable by a journal that writes one thing after the other", async () => {
    const slow = slowly(
      () => soon(),
      () => ({ isOrdered: false }),
    );
    const { tools, runtime } = logged(slow);
    await journalWorld({ ...runtime, isPure: true }, { ...slow, tools }).run();
    expect(slow.log.filter((_line, place) => slow.log[place + 1] === "decides")).toEqual([
      "stored admitted+turn.started",
      "stored result+tool.completed",
    ]);
  });

  for (const { lost, made } of [
    { lost: "admitted", made: 0 },
    { lost: "result", made: 1 },
  ])
    test(`that is pure makes no call behind a lost ${lost}, and its turn fails`, async () => {
      const slow = slowly(async (entries) => {
        await soon();
        if (entries.some(({ kind }) => kind === lost)) throw full;
      });
      const read = toolOf("files.read", { work: () => Promise.resolve(1) });
      const { runtime } = drivenBy(
        () => ({ type: "tools", calls: [calling("call-1")] }),
        () => ({ type: "tools", calls: [calling("call-2")] }),
      );
      const ran = await journalWorld({ ...runtime, isPure: true }, { ...slow, tools: [read] }).run();
      expect(ran).toMatchObject({ status: "failed", error: { code: "audit_unavailable", retryable: false } });
      expect(read.calls).toHaveLength(made);
    });
});

describe("what could not be stored while the turn came to its end", () => {
  for (const { name, isAsync, said } of [
    {
      name: "which its caller is not told of",
      isAsync: false,
      said: {
        status: "failed",
        error: { code: "audit_unavailable", retryable: false },
        events: [{ type: "turn.started" }, { type: "runtime.event" }, { type: "turn.failed" }],
      },
    },
    { name: "and the turn resumes later", isAsync: true, said: { name: "TurnPause", cause: full } },
  ])
    test(`takes the end of its turn with it, ${name}`, async () => {
      const slow = slowly(async (entries) => {
        await soon(60);
        if (nameOf(entries) === "runtime.event") throw full;
      });
      const runtime = resumable(async (_turn, host) => {
        host.emit({ type: "thought", data: null });
        await expect.poll(() => slow.log).toContain("write runtime.event");
        return completed();
      });
      const world = journalWorld(runtime, slow);
      expect(await world.run({}, { isAsync }).catch((error: unknown) => error)).toMatchObject(said);
      expect(await slow.journal.find(key)).toMatchObject({ status: "running" });
      expect(slow.log).toContain("write turn.completed+ended");
    });
});

describe("a step of a runtime", () => {
  test("is durable when it is given, unless nothing follows from it outside", async () => {
    const slow = slowly(() => soon());
    const runtime = resumable(async (_turn, host) => {
      await host.step("inside", () => 1, { isInside: true });
      slow.log.push("inside is given");
      const other = host.step("other", () => slow.log.push("other is made"));
      await host.step("next", () => slow.log.push("next is made"));
      await other;
      slow.log.push("next is given");
      return completed();
    });
    await journalWorld(runtime, slow).run();
    const start = slow.log.indexOf("inside is given");
    expect(slow.log.slice(start, start + 5)).toEqual([
      "inside is given",
      "write step",
      "stored step",
      "other is made",
      "next is made",
    ]);
    const given = slow.log.indexOf("next is given");
    expect(slow.log.slice(0, given).filter((line) => line.startsWith("stored step"))).toHaveLength(
      slow.log.slice(0, given).filter((line) => line.startsWith("write step")).length,
    );
  });

  test("is durable before another is made, also when that one has waited for a third", async () => {
    const slow = slowly(() => soon(20));
    const inside = { isInside: true };
    const [first, second] = [deferred<null>(), deferred<null>()];
    const runtime = resumable(async (_turn, host) => {
      const late = host.step("late", () => first.promise, inside);
      await host.step("early", () => null, inside);
      const waits = host.step("waits", () => second.promise);
      await soon();
      first.resolve(null);
      await late;
      await expect.poll(() => slow.log).toContain("stored step");
      await host.step("next", () => slow.log.push("next is made"));
      second.resolve(null);
      await waits;
      return completed();
    });
    expect(await journalWorld(runtime, slow).run()).toMatchObject({ status: "succeeded" });
    const before = slow.log.slice(0, slow.log.indexOf("next is made"));
    expect(before.filter((line) => line === "stored step")).toHaveLength(2);
  });

  test("is durable before a call is made again that an earlier run began", async () => {
    const log: string[] = [];
    const journal = memoryTurnJournal();
    let isAgain = false;
    const read = toolOf("files.read", {
      work: () => (isAgain ? Promise.resolve(log.push("call")) : new Promise<never>(() => {})),
    });
    const runtime = resumable(async (_turn, host) => {
      if (isAgain) await host.step("inside", () => 1, { isInside: true });
      await host.invokeTool(calling("call-1"));
      return completed();
    });
    const world = journalWorld(runtime, { journal, tools: [read] });
    void world.run({}, { isAsync: true }).catch(() => {});
    await expect.poll(() => read.calls.length).toBe(1);
    isAgain = true;
    const taken = journal.take(key);
    const write: RunWriter["write"] = async (entries, progress) => {
      await soon();
      await taken.write(entries, progress);
      log.push(nameOf(entries));
    };
    const writer = { ...taken, isOrdered: true, write };
    expect(await world.run({}, { isAsync: true, writer })).toMatchObject({ status: "succeeded" });
    expect(log.indexOf("call")).toBeGreaterThan(log.indexOf("step"));
    expect(log).toContain("step");
  });

  test("is not made any more when the run is to pause while it waits for another", async () => {
    const pausing = new AbortController();
    const made: string[] = [];
    const slow = slowly(
      () => soon(),
      () => ({ pauses: pausing.signal }),
    );
    const runtime = resumable(async (_turn, host) => {
      await host.step("inside", () => 1, { isInside: true });
      const next = host.step("next", () => made.push("next"));
      pausing.abort(new TurnPause("The host stops."));
      await next;
      return completed();
    });
    await expect(journalWorld(runtime, slow).run({}, { isAsync: true })).rejects.toThrow("The host stops.");
    expect(made).toEqual([]);
    expect(slow.log.at(-1)).toBe("stored step");
  });

  test("is handed over soon, also when its runtime asks for nothing more", async () => {
    const slow = slowly(() => soon(0));
    const runtime = resumable(async (_turn, host) => {
      await host.step("inside", () => 1, { isInside: true });
      await expect.poll(() => slow.log).toContain("stored step");
      return completed();
    });
    expect(await journalWorld(runtime, slow).run()).toMatchObject({ status: "succeeded" });
  });

  test("is durable when it is given to a runtime whose journal writes one thing after the other", async () => {
    const slow = slowly(
      () => soon(),
      () => ({ isOrdered: false }),
    );
    const runtime = resumable(async (_turn, host) => {
      await host.step("inside", () => 1, { isInside: true });
      slow.log.push("inside is given");
      return completed();
    });
    await journalWorld(runtime, slow).run();
    expect(slow.log.slice(2, 5)).toEqual(["write step", "stored step", "inside is given"]);
  });

  test("that could not be stored lets no other be made", async () => {
    const slow = slowly(async (entries) => {
      await soon();
      if (isStep(entries)) throw full;
    });
    const made: string[] = [];
    const runtime = resumable(async (_turn, host) => {
      await host.step("inside", () => 1, { isInside: true });
      await host.step("next", () => made.push("next"));
      return completed();
    });
    expect(await journalWorld(runtime, slow).run()).toMatchObject({ error: { code: "audit_unavailable" } });
    expect(made).toEqual([]);
  });
});
