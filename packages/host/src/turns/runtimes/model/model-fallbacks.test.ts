import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, failsWith, says, type ModelReply } from "../../../../test/model-server.ts";
import { agent } from "../../../../../turnpike/test/deployment.ts";
import { endingAt } from "../../../../../turnpike/test/turns.ts";
import { TurnPause, type TurnJournal } from "../../../../../turnpike/src/runtime/index.ts";
import { memoryTurnJournal } from "../../../../../turnpike/src/testing/index.ts";

describe("a model that is not available", () => {
  const quota = JSON.stringify({ error: { message: "No.", type: "insufficient_quota", code: "insufficient_quota" } });
  for (const { name, reply } of [
    { name: "because the provider does not know it", reply: failsWith(404) },
    { name: "because its quota is spent", reply: { type: "status", status: 429, body: quota } },
    { name: "because it is overloaded", reply: { type: "break", with: { error: "server_error" } } },
  ] satisfies { name: string; reply: ModelReply }[]) {
    test(`${name} is asked once, and the next one answers`, async () => {
      const fallbacks = [{ backend: "anthropic", script: [says("Hello.")] }] as const;
      const world = await modelWorldOf("openai", [reply], { fallbacks });
      expect(await world.run()).toMatchObject({ status: "succeeded", output: "Hello." });
      expect(world.server.requests).toHaveLength(1);
    });
  }

  test("is followed by each of the others in their order, and the failure of the last one counts", async () => {
    const fallbacks = [
      { backend: "anthropic", script: [failsWith(529)] },
      { backend: "google", script: [failsWith(400)] },
      { backend: "openai-chat", script: [says("Hello.")] },
    ] as const;
    const world = await modelWorldOf("openai", [failsWith(503)], { fallbacks });
    expect(await world.run()).toMatchObject({
      status: "failed",
      error: { code: "model_rejected_request", retryable: false, details: { status: 400 } },
    });
    expect(world.others.map(({ requests }) => requests.length)).toStrictEqual([1, 1, 0]);
  });

  test("is not asked again in the turn, but in the next one", async () => {
    const fallbacks = [{ backend: "anthropic", script: [callsTools({ name: "files_read" }), says("Done.")] }] as const;
    const world = await modelWorldOf("openai", [failsWith(503), says("I am back.")], { fallbacks });
    expect(await world.run()).toMatchObject({ output: "Done." });
    expect(await world.run({ executionId: "turn-2" })).toMatchObject({ output: "I am back." });
    expect(world.server.requests).toHaveLength(2);
  });
});

test("a turn that went to another model stays there when it resumes in another process", async () => {
  const key = { namespaceId: "demo", actor: agent, executionId: "turn-1" };
  const call = callsTools({ name: "files_read" });
  for (let nth = 2, isOver = false; !isOver; nth += 1) {
    const journal = memoryTurnJournal();
    const open = (through: TurnJournal, first: ModelReply[], second: ModelReply[]) =>
      modelWorldOf("openai", first, {
        fallbacks: [{ backend: "anthropic", script: second }],
        world: { executor: { journal: through, createId: () => crypto.randomUUID() } },
      });
    const one = await open(endingAt(journal, nth), [call, failsWith(503)], [call, says("Done.")]);
    const ran = await one.run({}, { isAsync: true }).catch((error: unknown) => error);
    isOver = !(ran instanceof TurnPause);
    const writer = isOver ? undefined : journal.take(key);
    const decided = writer?.stored.filter(({ kind }) => kind === "step").length ?? 3;
    const next = await open(
      journal,
      [call, failsWith(503)].slice(decided),
      [call, says("Done.")].slice(Math.max(0, decided - 1)),
    );
    if (writer !== undefined) await next.run({}, { isAsync: true, writer });
    const { result } = (await journal.find(key)) ?? {};
    expect(result).toMatchObject({
      status: "succeeded",
      output: "Done.",
      metadata: { model: { answeredBy: ["openai/model-1", "anthropic/model-1", "anthropic/model-1"] } },
    });
    expect([...next.server.problems, ...(next.others[0]?.problems ?? [])]).toStrictEqual([]);
  }
});
