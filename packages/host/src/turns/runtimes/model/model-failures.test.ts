import { expect, test } from "vitest";
import { callsTools, configOf, runtimeOf, says, type ModelReply, modelWorldOf } from "../../../../test/model-server.ts";
import { saidOf, toolOf, toolsOf, turnWorldOf } from "../../../../../turnpike/test/turns.ts";

test("an event of google with a key of the prototype is no reply, and reaches no tool", async () => {
  const { read } = toolsOf();
  const call = { name: "files_read", arguments: '{"note":"a","__proto__":{"isAdmin":true}}' };
  const world = await modelWorldOf("google", [callsTools(call)], { world: { tools: [read] } });
  expect(saidOf(await world.run())).toBe("model_response_invalid");
  expect(read.calls).toStrictEqual([]);
});

test("a quota that is spent does not come back by waiting", async () => {
  const error = { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" };
  const reply: ModelReply = { type: "status", status: 429, body: JSON.stringify({ error }) };
  const world = await modelWorldOf("openai", [reply]);
  expect(await world.run()).toMatchObject({ error: { code: "model_rate_limited", retryable: false } });
});

test("a provider that is not there is one that may come back", async () => {
  const baseUrl = "http://127.0.0.1:1/v1";
  const config = configOf({ provider: "openai", model: "m", baseUrl, apiKeyEnv: "MODEL_KEY" });
  const result = await turnWorldOf(await runtimeOf(config)).run();
  expect(result).toMatchObject({ status: "failed", error: { code: "model_unavailable", retryable: true } });
  expect(JSON.stringify(result)).not.toContain("127.0.0.1");
});

test("counts that are none are not counted", async () => {
  const chunk = (part: object): string => `data: ${JSON.stringify({ id: "1", model: "m", created: 1, ...part })}\n\n`;
  const body = [
    chunk({ choices: [{ index: 0, delta: { content: "Hi." }, finish_reason: "stop" }] }),
    `data: {"id":"1","choices":[],"usage":{"prompt_tokens":1.5,"completion_tokens":-5,"total_tokens":null}}\n\n`,
  ].join("");
  const world = await modelWorldOf("openai-compatible", [{ type: "send", body }]);
  const result = await world.run();
  expect(result).toMatchObject({ status: "succeeded", output: "Hi." });
  expect(result.metadata?.["model"]).toMatchObject({ usage: {} });
});

test("a tool that fails is told to the model as it is told to every caller", async () => {
  const broken = toolOf("files.read", { work: () => Promise.reject(new Error("s3cret of the tool")) });
  const world = await modelWorldOf("openai", [callsTools({ name: "files_read" }), says("It failed.")], {
    world: { tools: [broken] },
  });
  expect(saidOf(await world.run())).toBe("succeeded");
  expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
    { content: { status: "failed", error: { code: "tool_execution_failed" } } },
  ]);
  expect(JSON.stringify(world.server.requests)).not.toContain("s3cret");
});
