import { describe, expect, test } from "vitest";
import {
  callsTools,
  fallbackKey,
  modelKey,
  modelWorldOf,
  providers,
  triedProviders,
  says,
  settingsOf,
  failsWith,
} from "../../../../test/model-server.ts";
import { mark, thought, thoughtfulReplies } from "../../../../test/model-thoughts.ts";
import { dataOf, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";

const nameOf = (provider: (typeof providers)[number]): string => `${settingsOf(provider, "").provider}/model-1`;

describe.each(triedProviders)("when a model of %s fails in the middle of a turn", (first) => {
  test.each(providers)("one of %s continues a conversation that it understands", async (second) => {
    // Anthropic would refuse an id such as other providers make.
    const id = first === "anthropic" ? "toolu_1" : "functions.read:0";
    const call = callsTools({ id, name: "files_read", arguments: { note: "today" } });
    const again = callsTools({ id: "toolu_2", name: "files_read", arguments: { note: "today" } });
    const script = [{ ...call, text: ["Let me look."] }, failsWith(503)];
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

const thoughtful = (["anthropic", "openai", "google", "openai-compatible"] as const).filter((first) =>
  triedProviders.includes(first),
);

describe("the thoughts of one provider are not shown to another:", () => {
  for (const first of thoughtful) {
    for (const second of providers.filter((provider) => provider !== first)) {
      test(`of ${first} to ${second}`, async () => {
        const fallbacks = [{ backend: second, script: [says("Done.")], config: { model: "model-2" } }];
        const world = await modelWorldOf(first, [thoughtfulReplies[first], failsWith(503)], { fallbacks });
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
    if (!triedProviders.includes(first)) continue;
    test(`of ${first} to another ${second}`, async () => {
      const fallbacks = [{ backend: second, script: [says("Done.")] }];
      const world = await modelWorldOf(first, [thoughtfulReplies[first], failsWith(503)], { fallbacks });
      expect(saidOf(await world.run())).toBe("succeeded");
      const sent = JSON.stringify(world.others[0]?.requests[0]?.body);
      for (const secret of [thought, mark, "rs_1", "fc_1"]) expect(sent).not.toContain(secret);
      expect(world.others[0]?.problems).toStrictEqual([]);
    });
  }
});
