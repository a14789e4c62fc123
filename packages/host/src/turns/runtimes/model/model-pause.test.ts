import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, says, type ScriptedReply } from "../../../../test/model-server.ts";
import { agent } from "../../../../../turnpike/test/deployment.ts";
import { endingAt, saidOf } from "../../../../../turnpike/test/turns.ts";
import { TurnPause, type TurnJournal } from "../../../../../turnpike/src/runtime/index.ts";
import { memoryTurnJournal } from "../../../../../turnpike/src/testing/index.ts";

const paused = (...text: string[]): ScriptedReply => ({ ...says(...text), finish: "paused" });

describe("a reply of anthropic that was paused", () => {
  test("continues where it stopped, and both parts of it are the output", async () => {
    const world = await modelWorldOf("anthropic", [paused("First."), paused(" Then."), says(" Done.")]);
    const result = await world.run();
    expect(result).toMatchObject({
      status: "succeeded",
      output: "First. Then. Done.",
      metadata: {
        model: { requests: 3, usage: { totalTokens: 45 } },
        state: { conversation: [{ text: "hello" }, { role: "assistant", text: "First. Then. Done." }] },
      },
    });
    const spoken = world.server.requests.map(({ body }) =>
      (body["messages"] as { role: string; content: unknown }[]).at(-1),
    );
    expect(spoken).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ type: "text", text: "First." }] },
      { role: "assistant", content: [{ text: "First." }, { text: "Then." }] },
    ]);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("that had said nothing is simply asked for again", async () => {
    const world = await modelWorldOf("anthropic", [paused(), says("Done.")]);
    expect(await world.run()).toMatchObject({ output: "Done." });
    expect(world.server.problems).toStrictEqual([]);
  });

  test("counts as a step, so that it cannot continue for ever", async () => {
    const world = await modelWorldOf("anthropic", paused("And"));
    expect(saidOf(await world.run({ options: { maxSteps: 4 } }))).toBe("step_limit_exceeded");
    expect(world.server.requests).toHaveLength(4);
  });

  test("may continue with calls, whose results come after all of it", async () => {
    const call = callsTools({ id: "a", name: "files_read" });
    const world = await modelWorldOf("anthropic", [paused("Let me"), { ...call, text: [" look."] }, says("Done.")]);
    expect(await world.run()).toMatchObject({ status: "succeeded", output: "Done." });
    expect(world.server.requests[2]?.body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ text: "Let me" }, { text: " look." }, { type: "tool_use", id: "a" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
    ]);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("is asked for once, wherever its turn is interrupted", async () => {
    const key = { namespaceId: "demo", actor: agent, executionId: "turn-1" };
    const script = [
      paused("Let me"),
      { ...callsTools({ id: "a", name: "files_read" }), text: [" look."] },
      says("Done."),
    ];
    const sent = (requests: readonly { body: Record<string, unknown> }[]) =>
      requests.map(({ body }) => body["messages"]);
    const whole = await modelWorldOf("anthropic", script);
    await whole.run();
    for (let nth = 2, isOver = false; !isOver; nth += 1) {
      const journal = memoryTurnJournal();
      const open = (through: TurnJournal, from = 0) =>
        modelWorldOf("anthropic", script.slice(from), {
          world: { executor: { journal: through, createId: () => crypto.randomUUID() } },
        });
      const ran = await (
        await open(endingAt(journal, nth))
      )
        .run({}, { isAsync: true })
        .catch((error: unknown) => error);
      isOver = !(ran instanceof TurnPause);
      const writer = isOver ? undefined : journal.take(key);
      const decided = writer?.stored.filter(({ kind }) => kind === "step").length ?? 2;
      // The first decision takes two requests.
      const asked = decided === 0 ? 0 : decided + 1;
      const next = await open(journal, asked);
      if (writer !== undefined) await next.run({}, { isAsync: true, writer });
      expect((await journal.find(key))?.result).toMatchObject({ status: "succeeded", output: "Done." });
      expect(sent(next.server.requests)).toStrictEqual(sent(whole.server.requests).slice(asked));
    }
  });
});
