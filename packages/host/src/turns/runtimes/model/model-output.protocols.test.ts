import { describe, expect, test } from "vitest";
import { metadata, output, schema, text } from "../../../../test/model-output.ts";
import { callsTools, modelWorldOf, says, triedProviders } from "../../../../test/model-server.ts";
import { agent, alice, envelopeOf } from "../../../../../turnpike/test/deployment.ts";

describe.each(triedProviders)("an output by schema of a model of %s", (provider) => {
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
