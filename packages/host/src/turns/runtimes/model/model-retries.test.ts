import { describe, expect, test } from "vitest";
import {
  callsTools,
  modelWorldOf,
  providers,
  says,
  settingsOf,
  type ModelReply,
  type ScriptedReply,
} from "../../../../test/model-server.ts";
import { dataOf, never, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";
import type { TurnResult } from "../../../../../turnpike/src/contracts/index.ts";
import type { RetryClock } from "./ask-models.ts";

/** A clock that does not wait, and keeps how long it would have. */
function clockOf(): { clock: RetryClock; waits: number[] } {
  const waits: number[] = [];
  const wait = (ms: number): Promise<void> => Promise.resolve(void waits.push(ms));
  return { waits, clock: { now: () => 0, random: () => 0, wait } };
}

/** The events of a kind that the runtime reported. */
function reported(result: TurnResult, kind: string): unknown[] {
  const events = dataOf(result, "runtime.event") as { type: string; data: unknown }[];
  return events.filter(({ type }) => type === kind).map(({ data }) => data);
}

const status = (code: number, headers = {}): ModelReply => ({ type: "status", status: code, headers });

describe.each(providers)("a model of %s that does not answer at once", (provider) => {
  const passing: { name: string; reply: ModelReply }[] = [
    ...[408, 409, 429, 500, 502, 503, 504, 529].map((code) => ({ name: `a status of ${code}`, reply: status(code) })),
    { name: "a reset connection", reply: { type: "break", with: "reset" } },
    { name: "an overload at the beginning of a stream", reply: { type: "break", with: { error: "overloaded_error" } } },
    {
      name: "a rate limit at the beginning of a stream",
      reply: { type: "break", with: { error: "rate_limit_error" } },
    },
  ];
  for (const { name, reply } of passing) {
    test(`because of ${name} is asked again, within the same step, and nothing is shown twice`, async () => {
      const { clock, waits } = clockOf();
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
    const { clock } = clockOf();
    const world = await modelWorldOf(provider, status(503), { config: { retries: 3 }, clock });
    expect(await world.run()).toMatchObject({ error: { code: "model_unavailable", retryable: true } });
    expect(world.server.requests).toHaveLength(4);
  });

  for (const reply of [
    { type: "break", text: "I was just", with: "reset" },
    { type: "break", text: "I was just", with: "end" },
    { type: "break", text: "I was just", with: { error: "overloaded_error" } },
  ] satisfies ModelReply[]) {
    test(`is not asked again, nor is another, once it has begun to speak (${JSON.stringify(reply.with)})`, async () => {
      const { clock, waits } = clockOf();
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
      const world = await modelWorldOf(provider, [status(code)], { config: { retries: 2 }, fallbacks });
      expect(saidOf(await world.run())).toBe("model_rejected_request");
      expect(world.server.requests).toHaveLength(1);
      expect(world.others[0]?.requests).toStrictEqual([]);
    });
  }
});

describe("the wait before a model is asked again", () => {
  for (const { name, headers, ms } of [
    { name: "is as long as the provider says", headers: { "retry-after": "7" }, ms: 7_000 },
    { name: "may be said in milliseconds", headers: { "retry-after-ms": "20" }, ms: 20 },
    { name: "may be none", headers: { "retry-after": "0" }, ms: 0 },
  ]) {
    test(name, async () => {
      const { clock, waits } = clockOf();
      const world = await modelWorldOf("openai", [status(429, headers), says("Hello.")], {
        config: { retries: 1 },
        clock,
      });
      expect(saidOf(await world.run())).toBe("succeeded");
      expect(waits).toStrictEqual([ms]);
    });
  }

  test("that would go beyond the turn's deadline is not begun: the turn fails at once, and may be tried again", async () => {
    const { clock, waits } = clockOf();
    const script = [status(429, { "retry-after": "30" }), says("Too late.")];
    const world = await modelWorldOf("openai", script, { config: { retries: 2 }, clock });
    expect(await world.run({ options: { timeoutMs: 30_000 } })).toMatchObject({
      status: "failed",
      error: { code: "model_rate_limited", retryable: true },
    });
    expect(waits).toStrictEqual([]);
    expect(world.server.requests).toHaveLength(1);
  });

  test("ends when the caller goes", async () => {
    const caller = new AbortController();
    const wait: RetryClock["wait"] = () => (caller.abort(), never());
    const clock = { now: () => 0, random: () => 0, wait };
    const world = await modelWorldOf("openai", [status(503), says("Hello.")], { config: { retries: 2 }, clock });
    expect(saidOf(await world.run({}, { signal: caller.signal }))).toBe("turn_cancelled");
    expect(world.server.requests).toHaveLength(1);
  });

  test("ends with the turn's deadline, on the clock of the machine", async () => {
    const script = [
      status(503, { "retry-after": "0.4" }),
      { type: "break", with: "silence" },
    ] satisfies ScriptedReply[];
    const world = await modelWorldOf("openai", script, { config: { retries: 2 } });
    expect(saidOf(await world.run({ options: { timeoutMs: 1_500 } }))).toBe("turn_cancelled");
    expect(world.server.requests).toHaveLength(2);
  });
});

test("what was done before is not done again when a later request is repeated", async () => {
  const { clock } = clockOf();
  const { write } = toolsOf();
  const script = [callsTools({ name: "files_write" }), status(503), says("Done.")];
  const world = await modelWorldOf("openai", script, { config: { retries: 1 }, clock, world: { tools: [write] } });
  expect(saidOf(await world.run())).toBe("succeeded");
  expect(write.calls).toHaveLength(1);
  expect(world.server.requests[2]?.messages).toStrictEqual(world.server.requests[1]?.messages);
});
