import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, says, triedProviders } from "../../../../test/model-server.ts";
import { dataOf, saidOf } from "../../../../../turnpike/test/turns.ts";
import type { TurnResult } from "../../../../../turnpike/src/contracts/index.ts";

const prices = { currency: "USD", input: 2, cachedInput: 0.5, output: 10 };
const call = callsTools({ name: "files_read" });

/** What the events say of each finished request. */
function finished(result: TurnResult): unknown[] {
  const events = dataOf(result, "runtime.event") as { type: string; data: unknown }[];
  return events.filter(({ type }) => type === "model.finished").map(({ data }) => data);
}

describe.each(triedProviders)("what a turn with a model of %s used", (provider) => {
  test("is told with cached and reasoning tokens, and what it cost, for each request and in total", async () => {
    const details = provider === "anthropic" ? { cached: 4 } : { cached: 4, reasoning: 3 };
    const world = await modelWorldOf(provider, [{ ...call, usage: details }, says("Done.")], { config: { prices } });
    const result = await world.run();
    const reasoning = provider === "anthropic" ? {} : { reasoningTokens: 3 };
    expect(result.metadata?.["model"]).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30, cachedInputTokens: 4, ...reasoning },
      cost: { USD: 0.000134 },
    });
    expect(finished(result)).toMatchObject([
      { usage: { inputTokens: 10, cachedInputTokens: 4, ...reasoning }, cost: { USD: 0.000064 } },
      { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, cost: { USD: 0.00007 } },
    ]);
    expect(JSON.stringify(result.metadata)).not.toContain("requestsWithoutCost");
  });

  // A reply of Anthropic without usage is no reply.
  if (provider !== "anthropic") {
    test("stays unsaid when the provider does not say it, and is never nothing", async () => {
      const script = [{ ...call, usage: null }, says("Done.")];
      const world = await modelWorldOf(provider, script, { config: { prices } });
      const result = await world.run();
      expect(saidOf(result)).toBe("succeeded");
      expect(result.metadata?.["model"]).toMatchObject({
        usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
        cost: { USD: 0.00007 },
        requestsWithoutCost: 1,
      });
      expect(finished(result)[0]).toStrictEqual({ ...(finished(result)[0] as object), usage: {} });
      expect(finished(result)[0]).not.toHaveProperty("cost");
    });
  }

  test("has no cost without prices", async () => {
    const world = await modelWorldOf(provider, [says("Done.")]);
    expect((await world.run()).metadata?.["model"]).not.toHaveProperty("cost");
  });
});

describe.each(triedProviders)("a budget of tokens for a turn with a model of %s", (provider) => {
  // Every reply of the server reports 15 tokens.
  const config = { tokenBudget: 1_000, maxOutputTokens: 990 };
  const limit = (body: Record<string, unknown> | undefined): unknown => {
    const google = body?.["generationConfig"] as { maxOutputTokens?: unknown } | undefined;
    return google?.maxOutputTokens ?? body?.["max_output_tokens"] ?? body?.["max_tokens"];
  };

  test("limits what a reply may have to what is left", async () => {
    const world = await modelWorldOf(provider, [call, call, says("Done.")], { config });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests.map(({ body }) => limit(body))).toStrictEqual([990, 985, 970]);
  });

  test("limits a model without a limit of its own once little is left", async () => {
    const large = await modelWorldOf(provider, [says("Done.")], { config: { tokenBudget: 100_000 } });
    await large.run();
    const small = await modelWorldOf(provider, [says("Done.")], { config: { tokenBudget: 1_000 } });
    await small.run();
    // Anthropic always needs a limit. The SDK gives it one.
    const own = provider === "anthropic" ? 4_096 : undefined;
    expect([limit(large.server.requests[0]?.body), limit(small.server.requests[0]?.body)]).toStrictEqual([own, 1_000]);
  });

  test("ends the turn before the next request once it is used up", async () => {
    const world = await modelWorldOf(provider, { ...call, usage: { output: 237 } }, { config });
    const result = await world.run({ options: { maxSteps: 100, maxToolCalls: 1_000 } });
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "token_limit_exceeded", retryable: false },
      metadata: { model: { requests: 4, usage: { totalTokens: 988 } } },
    });
    expect(world.server.requests).toHaveLength(4);
  });

  test("ends a turn whose reply is cut off because of it", async () => {
    const script = [call, { ...says("It is a long"), finish: "length" as const }];
    const world = await modelWorldOf(provider, script, { config });
    expect(saidOf(await world.run())).toBe("token_limit_exceeded");
    const own = await modelWorldOf(provider, script, { config: { ...config, maxOutputTokens: 50 } });
    expect(saidOf(await own.run())).toBe("model_output_truncated");
  });
});
