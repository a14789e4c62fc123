import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, providers, says } from "../../../../test/model-server.ts";
import { agent, alice, envelopeOf, grantOf, runAgent } from "../../../../../turnpike/test/deployment.ts";
import { saidOf } from "../../../../../turnpike/test/turns.ts";

const schema = {
  type: "object",
  properties: { city: { type: "string", description: "Where it is." }, isLarge: { type: "boolean" } },
  required: ["city", "isLarge"],
  additionalProperties: false,
};
const metadata = { output: { schema } };
const output = { city: "Paris", isLarge: true };
const text = JSON.stringify(output);
const withoutTools = { grants: [grantOf("run", { capabilities: [runAgent] })], tools: [] };

describe.each(providers)("an output by schema of a model of %s", (provider) => {
  // Claude of an unknown name answers through a tool, which the SDK makes up for that.
  const config = { model: provider === "anthropic" ? "claude-sonnet-4-5" : "model-1" };

  test("is the value of its last reply, also after calls of tools", async () => {
    const script = [{ ...callsTools({ name: "files_read" }), text: ["Let me look."] }, says(text)];
    const world = await modelWorldOf(provider, script, { config });
    const result = await world.run({ metadata });
    expect(result).toMatchObject({ status: "succeeded", output });
    expect(result.metadata?.["state"]).toMatchObject({ conversation: [{ text: "hello" }, { text }] });
    expect(world.server.problems).toStrictEqual([]);
    expect(world.server.requests).toHaveLength(2);
  });

  test("is asked of the provider where it can be told, else in words, and never among the instructions", async () => {
    const native = {
      openai: { text: { format: { type: "json_schema", strict: true, schema } } },
      "openai-chat": { response_format: { type: "json_schema", json_schema: { strict: true, schema } } },
      anthropic: { output_config: { format: { type: "json_schema" } } },
      google: {},
      "openai-compatible": {},
    }[provider];
    const world = await modelWorldOf(provider, [says(text)], { config });
    await world.run({ metadata });
    const [request] = world.server.requests;
    expect(request?.body).toMatchObject(native);
    const isAsked = ["google", "openai-compatible"].includes(provider);
    expect(request?.messages[0]?.text.includes("JSON Schema")).toBe(isAsked);
    expect(request?.instructions).not.toContain("Where it is.");
  });

  for (const reply of ["It is Paris.", '{"city":"Paris"}', '{"city":"Paris","isLarge":"yes"}', "", "{"]) {
    test(`that is ${JSON.stringify(reply)} is none`, async () => {
      const world = await modelWorldOf(provider, [says(reply)], { config });
      const result = await world.run({ metadata });
      expect(result).toMatchObject({ status: "failed", error: { code: "model_response_invalid", retryable: false } });
      expect(result.metadata).not.toHaveProperty("state");
    });
  }

  test("goes with a message of files", async () => {
    const files = [{ mediaType: "image/png", data: "AAAA" }];
    const message = envelopeOf({ sender: alice, receiver: agent, payload: { text: "Where?", files } });
    const world = await modelWorldOf(provider, [says(text)], { config });
    expect(await world.run({ metadata, message })).toMatchObject({ status: "succeeded", output });
  });

  test("that cannot be asked for asks no model", async () => {
    const world = await modelWorldOf(provider, []);
    const refused = { output: { schema: { type: "string", pattern: "^(a+)+$" } } };
    expect(await world.run({ metadata: refused })).toMatchObject({
      status: "failed",
      error: { code: "invalid_request", message: "metadata.output.schema: pattern is not supported, leave it out." },
    });
    expect(world.server.requests).toStrictEqual([]);
  });
});

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
