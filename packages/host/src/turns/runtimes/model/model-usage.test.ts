import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, says } from "../../../../test/model-server.ts";
import { saidOf } from "../../../../../turnpike/test/turns.ts";
import { openModelUsage } from "./model-usage.ts";
import type { OpenModel } from "./providers.ts";

const prices = { currency: "USD", input: 2, cachedInput: 0.5, output: 10 };
const call = callsTools({ name: "files_read" });

test("a fallback has prices of its own, in a currency of its own", async () => {
  const fallbacks = [
    { backend: "anthropic", script: [says("Done.")], config: { prices: { currency: "EUR", input: 1, output: 1 } } },
  ] as const;
  const script = [call, { type: "status", status: 503 } as const];
  const world = await modelWorldOf("openai", script, { config: { prices }, fallbacks });
  expect((await world.run()).metadata?.["model"]).toMatchObject({ cost: { USD: 0.00007, EUR: 0.000015 } });
});

test.each(["word", "data"])("a provider that does not count is counted by the characters of %s", async (name) => {
  const word = "x".repeat(2_000);
  const script = { ...callsTools({ name: "files_read", arguments: { [name]: word } }), usage: null };
  const world = await modelWorldOf("openai-compatible", script, { config: { tokenBudget: 5_000 } });
  const result = await world.run({ options: { maxSteps: 100, maxToolCalls: 1_000 } });
  expect(saidOf(result)).toBe("token_limit_exceeded");
  const { usage, estimatedTokens } = (result.metadata as { model: { usage: object; estimatedTokens: number } }).model;
  expect(usage).toStrictEqual({});
  expect(estimatedTokens).toBeGreaterThan(4_984);
  expect(estimatedTokens).toBeLessThan(20_000);
  expect(world.server.requests.length).toBeLessThan(5);
});

describe("a request counts by its characters against the budget when its provider reports", () => {
  const details = {
    inputTokenDetails: { noCacheTokens: undefined, cacheReadTokens: undefined, cacheWriteTokens: undefined },
    outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
  };
  for (const { name, reported } of [
    { name: "no input", reported: { inputTokens: undefined, outputTokens: 5, totalTokens: 5 } },
    { name: "no output", reported: { inputTokens: 5, outputTokens: undefined, totalTokens: 5 } },
    { name: "less than no input", reported: { inputTokens: -990, outputTokens: 995, totalTokens: 5 } },
    { name: "parts of tokens", reported: { inputTokens: 0.5, outputTokens: 4.5, totalTokens: 5 } },
    { name: "more than can be counted", reported: { inputTokens: 1e300, outputTokens: 5, totalTokens: 1e300 } },
  ]) {
    test(name, () => {
      const model = { name: "a/b", id: "a/b", settings: {}, model: {} } as unknown as OpenModel;
      const usage = openModelUsage();
      usage.add({ reason: "stop", usage: { ...reported, ...details } }, model, () => 1_000);
      expect(usage.spent()).toBe(1_000);
      expect(usage.total()).toMatchObject({ estimatedTokens: 1_000 });
    });
  }
});
