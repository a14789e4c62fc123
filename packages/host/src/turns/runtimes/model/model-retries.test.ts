import { describe, expect, test } from "vitest";
import {
  callsTools,
  failsWith,
  modelWorldOf,
  says,
  stoppedClock,
  type ScriptedReply,
} from "../../../../test/model-server.ts";
import { never, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";
import type { RetryClock } from "./ask-models.ts";

describe("the wait before a model is asked again", () => {
  for (const { name, headers, ms } of [
    { name: "is as long as the provider says", headers: { "retry-after": "7" }, ms: 7_000 },
    { name: "may be said in milliseconds", headers: { "retry-after-ms": "20" }, ms: 20 },
    { name: "may be none", headers: { "retry-after": "0" }, ms: 0 },
  ]) {
    test(name, async () => {
      const { clock, waits } = stoppedClock();
      const world = await modelWorldOf("openai", [failsWith(429, headers), says("Hello.")], {
        config: { retries: 1 },
        clock,
      });
      expect(saidOf(await world.run())).toBe("succeeded");
      expect(waits).toStrictEqual([ms]);
    });
  }

  test("that would go beyond the turn's deadline is not begun: the turn fails at once, and may be tried again", async () => {
    const { clock, waits } = stoppedClock();
    const script = [failsWith(429, { "retry-after": "30" }), says("Too late.")];
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
    const world = await modelWorldOf("openai", [failsWith(503), says("Hello.")], { config: { retries: 2 }, clock });
    expect(saidOf(await world.run({}, { signal: caller.signal }))).toBe("turn_cancelled");
    expect(world.server.requests).toHaveLength(1);
  });

  test("ends with the turn's deadline, on the clock of the machine", async () => {
    const script = [
      failsWith(503, { "retry-after": "0.4" }),
      { type: "break", with: "silence" },
    ] satisfies ScriptedReply[];
    const world = await modelWorldOf("openai", script, { config: { retries: 2 } });
    expect(saidOf(await world.run({ options: { timeoutMs: 1_500 } }))).toBe("turn_cancelled");
    expect(world.server.requests).toHaveLength(2);
  });
});

test("what was done before is not done again when a later request is repeated", async () => {
  const { clock } = stoppedClock();
  const { write } = toolsOf();
  const script = [callsTools({ name: "files_write" }), failsWith(503), says("Done.")];
  const world = await modelWorldOf("openai", script, { config: { retries: 1 }, clock, world: { tools: [write] } });
  expect(saidOf(await world.run())).toBe("succeeded");
  expect(write.calls).toHaveLength(1);
  expect(world.server.requests[2]?.messages).toStrictEqual(world.server.requests[1]?.messages);
});
