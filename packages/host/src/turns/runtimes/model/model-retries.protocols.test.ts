import { describe, expect, test } from "vitest";
import {
  failsWith,
  stoppedClock,
  modelWorldOf,
  says,
  triedProviders,
  settingsOf,
  type ModelReply,
} from "../../../../test/model-server.ts";
import { dataOf, saidOf } from "../../../../../turnpike/test/turns.ts";
import type { TurnResult } from "../../../../../turnpike/src/contracts/index.ts";

/** The events of a kind that the runtime reported. */
function reported(result: TurnResult, kind: string): unknown[] {
  const events = dataOf(result, "runtime.event") as { type: string; data: unknown }[];
  return events.filter(({ type }) => type === kind).map(({ data }) => data);
}

describe.each(triedProviders)("a model of %s that does not answer at once", (provider) => {
  const passing: { name: string; reply: ModelReply }[] = [
    ...[408, 409, 429, 500, 502, 503, 504, 529].map((code) => ({
      name: `a status of ${code}`,
      reply: failsWith(code),
    })),
    { name: "a reset connection", reply: { type: "break", with: "reset" } },
    { name: "an overload at the beginning of a stream", reply: { type: "break", with: { error: "overloaded_error" } } },
    {
      name: "a rate limit at the beginning of a stream",
      reply: { type: "break", with: { error: "rate_limit_error" } },
    },
  ];
  for (const { name, reply } of passing) {
    test(`because of ${name} is asked again, within the same step, and nothing is shown twice`, async () => {
      const { clock, waits } = stoppedClock();
      const world = await modelWorldOf(provider, [reply, reply, says("Hello.")], { config: { retries: 2 }, clock });
      const result = await world.run({ options: { maxSteps: 1 } });
      expect(result).toMatchObject({ status: "succeeded", output: "Hello.", metadata: { model: { requests: 1 } } });
      expect(reported(result, "model.text")).toStrictEqual([{ step: 0, text: "Hello." }]);
      expect(reported(result, "model.retry")).toMatchObject([
        { step: 0, provider: settingsOf(provider, "").provider, model: "model-1", attempt: 1, waitMs: 500 },
        { attempt: 2, waitMs: 1_000 },
      ]);
      expect(waits).toStrictEqual([500, 1_000]);
      expect(world.server.requests).toHaveLength(3);
      expect(world.server.problems).toStrictEqual([]);
    });
  }

  test("is asked no more often than is configured", async () => {
    const { clock } = stoppedClock();
    const world = await modelWorldOf(provider, failsWith(503), { config: { retries: 3 }, clock });
    expect(await world.run()).toMatchObject({ error: { code: "model_unavailable", retryable: true } });
    expect(world.server.requests).toHaveLength(4);
  });

  for (const reply of [
    { type: "break", text: "I was just", with: "reset" },
    { type: "break", text: "I was just", with: "end" },
    { type: "break", text: "I was just", with: { error: "overloaded_error" } },
  ] satisfies ModelReply[]) {
    test(`is not asked again, nor is another, once it has begun to speak (${JSON.stringify(reply.with)})`, async () => {
      const { clock, waits } = stoppedClock();
      const fallbacks = [{ backend: "anthropic", script: [says("Hello.")] }] as const;
      const world = await modelWorldOf(provider, [reply, says("Hello.")], { config: { retries: 2 }, fallbacks, clock });
      expect(await world.run()).toMatchObject({ error: { code: "model_unavailable", retryable: true } });
      expect(world.server.requests).toHaveLength(1);
      expect(world.others[0]?.requests).toStrictEqual([]);
      expect(waits).toStrictEqual([]);
    });
  }

  for (const code of [400, 401, 403, 413, 422]) {
    test(`because it refuses with ${code} is not asked again, nor is another`, async () => {
      const fallbacks = [{ backend: "openai", script: [says("Hello.")] }] as const;
      const world = await modelWorldOf(provider, [failsWith(code)], { config: { retries: 2 }, fallbacks });
      expect(saidOf(await world.run())).toBe("model_rejected_request");
      expect(world.server.requests).toHaveLength(1);
      expect(world.others[0]?.requests).toStrictEqual([]);
    });
  }
});
