import { expect, test } from "vitest";
import { metadata, output, schema, text } from "../../../../test/model-output.ts";
import { callsTools, modelWorldOf, says } from "../../../../test/model-server.ts";
import { grantOf, runAgent } from "../../../../../turnpike/test/deployment.ts";
import { saidOf } from "../../../../../turnpike/test/turns.ts";

const withoutTools = { grants: [grantOf("run", { capabilities: [runAgent] })], tools: [] };

test("google is told a schema when there are no tools", async () => {
  const world = await modelWorldOf("google", [says(text)], { world: withoutTools });
  expect(await world.run({ metadata })).toMatchObject({ status: "succeeded", output });
  expect(world.server.requests[0]?.body["generationConfig"]).toMatchObject({
    responseMimeType: "application/json",
    responseSchema: { type: "object", required: ["city", "isLarge"] },
  });
});

test("a schema that openai would refuse to enforce is sent as one to try", async () => {
  const loose = { output: { schema: { ...schema, required: ["city"] } } };
  const world = await modelWorldOf("openai", [says('{"city":"Paris"}')]);
  expect(await world.run({ metadata: loose })).toMatchObject({ status: "succeeded", output: { city: "Paris" } });
  expect(world.server.requests[0]?.body).toMatchObject({ text: { format: { strict: false } } });
});

test("a model of anthropic that answers through the tool of the SDK is understood", async () => {
  const script = [callsTools({ name: "files_read" }), callsTools({ name: "json", arguments: output })];
  const world = await modelWorldOf("anthropic", script, { config: { model: "claude-3-haiku-20240307" } });
  expect(await world.run({ metadata })).toMatchObject({ status: "succeeded", output });
  expect(world.server.problems).toStrictEqual([]);
});

test("a fallback is asked for the same output", async () => {
  const fallbacks = [{ backend: "openai-compatible", script: [says(text)] }] as const;
  const world = await modelWorldOf("openai", [{ type: "status", status: 503 }], { fallbacks });
  expect(await world.run({ metadata })).toMatchObject({ status: "succeeded", output });
  expect(world.others[0]?.requests[0]?.messages[0]?.text).toContain("JSON Schema");
});

test("metadata of the caller's own asks for nothing", async () => {
  const world = await modelWorldOf("openai", [says("Hello.")]);
  const result = await world.run({ metadata: { output: "short", request: 7 } });
  expect(saidOf(result)).toBe("succeeded");
  expect(world.server.requests[0]?.body).not.toHaveProperty("text");
});
