import { describe, expect, test } from "vitest";
import {
  callsTools,
  fallbackKey,
  modelKey,
  modelWorldOf,
  providers,
  says,
  settingsOf,
  type ModelReply,
} from "../../../../test/model-server.ts";
import { mark, thought, thoughtfulReplies } from "../../../../test/model-thoughts.ts";
import { agent } from "../../../../../turnpike/test/deployment.ts";
import { dataOf, endingAt, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";
import { TurnPause, type TurnJournal } from "../../../../../turnpike/src/runtime/index.ts";
import { memoryTurnJournal } from "../../../../../turnpike/src/testing/index.ts";

const status = (code: number): ModelReply => ({ type: "status", status: code });
const nameOf = (provider: (typeof providers)[number]): string => `${settingsOf(provider, "").provider}/model-1`;

describe.each(providers)("when a model of %s fails in the middle of a turn", (first) => {
  test.each(providers)("one of %s goes on with a conversation that it understands", async (second) => {
    // Anthropic would refuse an id such as other providers make.
    const id = first === "anthropic" ? "toolu_1" : "functions.read:0";
    const call = callsTools({ id, name: "files_read", arguments: { note: "today" } });
    const again = callsTools({ id: "toolu_2", name: "files_read", arguments: { note: "today" } });
    const script = [{ ...call, text: ["Let me look."] }, status(503)];
    const fallbacks = [{ backend: second, script: [again, says("Done.")], config: { model: "model-2" } }];
    const { read } = toolsOf();
    const world = await modelWorldOf(first, script, { fallbacks, world: { tools: [read] } });
    const result = await world.run();

    const other = `${settingsOf(second, "").provider}/model-2`;
    expect(result).toMatchObject({
      status: "succeeded",
      output: "Done.",
      metadata: {
        model: {
          provider: settingsOf(first, "").provider,
          id: "model-1",
          requests: 3,
          answeredBy: [nameOf(first), other, other],
          finishReasons: ["tool-calls", "tool-calls", "stop"],
        },
      },
    });
    expect(read.calls.map((made) => made.id)).toStrictEqual(["call-1-1", "call-2-1"]);
    const args = { note: "today" };
    expect(world.others[0]?.requests[0]?.messages).toStrictEqual([
      { role: "user", text: "hello" },
      { role: "assistant", text: "Let me look.", calls: [{ id: "call_1_1", name: "files_read", arguments: args }] },
      { role: "results", text: "", results: [{ id: "call_1_1", content: "call-1-1" }] },
    ]);
    const events = dataOf(result, "runtime.event") as { type: string; data: { model?: string } }[];
    expect(events.filter(({ type }) => type === "model.fallback")).toStrictEqual([
      {
        type: "model.fallback",
        data: { step: 1, provider: settingsOf(second, "").provider, model: "model-2", code: "model_unavailable" },
      },
    ]);
    expect(events.filter(({ type }) => type === "model.finished").map(({ data }) => data.model)).toStrictEqual([
      "model-1",
      "model-2",
      "model-2",
    ]);
    // Each server got its own key and nothing of the other.
    expect([...world.server.problems, ...(world.others[0]?.problems ?? [])]).toStrictEqual([]);
    expect(JSON.stringify(world.others[0]?.requests)).not.toContain(modelKey);
    expect(JSON.stringify(world.server.requests)).not.toContain(fallbackKey);
  });
});

describe("the thoughts of one provider are not shown to another:", () => {
  for (const first of ["anthropic", "openai", "google", "openai-compatible"] as const) {
    for (const second of providers.filter((provider) => provider !== first)) {
      test(`of ${first} to ${second}`, async () => {
        const fallbacks = [{ backend: second, script: [says("Done.")], config: { model: "model-2" } }];
        const world = await modelWorldOf(first, [thoughtfulReplies[first], status(503)], { fallbacks });
        expect(saidOf(await world.run())).toBe("succeeded");
        const sent = JSON.stringify(world.others[0]?.requests[0]?.body);
        for (const secret of [thought, mark, "rs_1", "fc_1"]) expect(sent).not.toContain(secret);
        expect(world.others[0]?.problems).toStrictEqual([]);
      });
    }
  }
});

describe("the thoughts of a model are not shown to one of the same name that is configured beside it:", () => {
  for (const { first, second } of [
    { first: "openai", second: "openai-chat" },
    { first: "openai", second: "openai" },
    { first: "anthropic", second: "anthropic" },
    { first: "openai-compatible", second: "openai-compatible" },
  ] as const) {
    test(`of ${first} to another ${second}`, async () => {
      const fallbacks = [{ backend: second, script: [says("Done.")] }];
      const world = await modelWorldOf(first, [thoughtfulReplies[first], status(503)], { fallbacks });
      expect(saidOf(await world.run())).toBe("succeeded");
      const sent = JSON.stringify(world.others[0]?.requests[0]?.body);
      for (const secret of [thought, mark, "rs_1", "fc_1"]) expect(sent).not.toContain(secret);
      expect(world.others[0]?.problems).toStrictEqual([]);
    });
  }
});

describe("a model that is not available", () => {
  const quota = JSON.stringify({ error: { message: "No.", type: "insufficient_quota", code: "insufficient_quota" } });
  for (const { name, reply } of [
    { name: "because nobody knows it", reply: status(404) },
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
      { backend: "anthropic", script: [status(529)] },
      { backend: "google", script: [status(400)] },
      { backend: "openai-chat", script: [says("Hello.")] },
    ] as const;
    const world = await modelWorldOf("openai", [status(503)], { fallbacks });
    expect(await world.run()).toMatchObject({
      status: "failed",
      error: { code: "model_rejected_request", retryable: false, details: { status: 400 } },
    });
    expect(world.others.map(({ requests }) => requests.length)).toStrictEqual([1, 1, 0]);
  });

  test("is not asked again in the turn, but in the next one", async () => {
    const fallbacks = [{ backend: "anthropic", script: [callsTools({ name: "files_read" }), says("Done.")] }] as const;
    const world = await modelWorldOf("openai", [status(503), says("I am back.")], { fallbacks });
    expect(await world.run()).toMatchObject({ output: "Done." });
    expect(await world.run({ executionId: "turn-2" })).toMatchObject({ output: "I am back." });
    expect(world.server.requests).toHaveLength(2);
  });
});

test("a turn that went to another model stays there when it goes on in another process", async () => {
  const key = { namespaceId: "demo", actor: agent, executionId: "turn-1" };
  const call = callsTools({ name: "files_read" });
  for (let nth = 2, isOver = false; !isOver; nth += 1) {
    const journal = memoryTurnJournal();
    const open = (through: TurnJournal, first: ModelReply[], second: ModelReply[]) =>
      modelWorldOf("openai", first, {
        fallbacks: [{ backend: "anthropic", script: second }],
        world: { executor: { journal: through, createId: () => crypto.randomUUID() } },
      });
    const one = await open(endingAt(journal, nth), [call, status(503)], [call, says("Done.")]);
    const ran = await one.run({}, { isAsync: true }).catch((error: unknown) => error);
    isOver = !(ran instanceof TurnPause);
    const pen = isOver ? undefined : journal.take(key);
    const decided = pen?.kept.filter(({ kind }) => kind === "step").length ?? 3;
    const next = await open(
      journal,
      [call, status(503)].slice(decided),
      [call, says("Done.")].slice(Math.max(0, decided - 1)),
    );
    if (pen !== undefined) await next.run({}, { isAsync: true, pen });
    const { result } = (await journal.find(key)) ?? {};
    expect(result).toMatchObject({
      status: "succeeded",
      output: "Done.",
      metadata: { model: { answeredBy: ["openai/model-1", "anthropic/model-1", "anthropic/model-1"] } },
    });
    expect([...next.server.problems, ...(next.others[0]?.problems ?? [])]).toStrictEqual([]);
  }
});
