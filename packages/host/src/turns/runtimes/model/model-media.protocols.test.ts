import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, providers, says, triedProviders } from "../../../../test/model-server.ts";
import { agent, alice, envelopeOf } from "../../../../../turnpike/test/deployment.ts";
import { saidOf, toolOf } from "../../../../../turnpike/test/turns.ts";
import type { JsonObject, JsonValue } from "../../../../../turnpike/src/contracts/index.ts";

const data = Buffer.from("a picture").toString("base64");
const message = (payload: JsonValue) => envelopeOf({ sender: alice, receiver: agent, payload });
const url = `data:image/png;base64,${data}`;

/** A picture as each provider wants it in a message. */
const pictures = {
  openai: { type: "input_image", image_url: url },
  "openai-chat": { type: "image_url", image_url: { url } },
  anthropic: { type: "image", source: { type: "base64", media_type: "image/png", data } },
  google: { inlineData: { mimeType: "image/png", data } },
  "openai-compatible": { type: "image_url", image_url: { url } },
};

describe.each(triedProviders)("a message with files to a model of %s", (provider) => {
  const payload = { text: "What is this?", files: [{ mediaType: "image/png", data, name: "cat.png" }] };

  test("shows them in every request of the turn, and leaves a note in the conversation", async () => {
    const world = await modelWorldOf(provider, [callsTools({ name: "files_read" }), says("A cat."), says("Yes.")]);
    const result = await world.run({ message: message(payload) });
    const note = 'What is this?\n[A file was here: "cat.png", image/png. It is not stored.]';
    expect(result).toMatchObject({
      status: "succeeded",
      output: "A cat.",
      metadata: {
        state: {
          conversation: [
            { role: "user", text: note },
            { role: "assistant", text: "A cat." },
          ],
        },
      },
    });
    for (const { body, messages } of world.server.requests) {
      expect(messages[0]).toMatchObject({ role: "user", text: "What is this?" });
      const [first] = [body["input"], body["contents"], body["messages"]].find(Array.isArray)?.filter(isUsers) ?? [];
      expect(first.content ?? first.parts).toContainEqual(expect.objectContaining(pictures[provider]));
    }
    expect(JSON.stringify(result)).not.toContain(data);

    const state = result.metadata?.["state"] as JsonObject;
    await world.run({ executionId: "turn-2", message: message("Are you sure?"), state });
    expect(world.server.requests[2]?.messages[0]).toStrictEqual({ role: "user", text: note });
    expect(JSON.stringify(world.server.requests[2]?.body)).not.toContain(data);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("takes a document as well, where the provider does", async () => {
    const pdf = { mediaType: "application/pdf", data: Buffer.from("%PDF-1.7").toString("base64"), name: "a.pdf" };
    const world = await modelWorldOf(provider, [says("Empty.")]);
    expect(saidOf(await world.run({ message: message({ files: [pdf] }) }))).toBe("succeeded");
    expect(JSON.stringify(world.server.requests[0]?.body)).toContain(pdf.data);
  });

  test("that cannot be used asks no model", async () => {
    const world = await modelWorldOf(provider, []);
    const files = [{ mediaType: "image/png", url: "http://169.254.169.254/latest/meta-data" }];
    expect(await world.run({ message: message({ files }) })).toMatchObject({
      status: "failed",
      error: { code: "invalid_request", retryable: false },
    });
    expect(world.server.requests).toStrictEqual([]);
  });
});

function isUsers({ role }: { role?: string }): boolean {
  return role === "user";
}

const seers = [
  ...providers.map((provider) => ({ provider, model: "model-1" })),
  // It takes images within the result of a call. Older ones get them beside it.
  { provider: "google" as const, model: "gemini-3-flash" },
].filter(({ provider }) => triedProviders.includes(provider));

describe.each(seers)("a result with images for a model of $provider, $model,", ({ provider, model }) => {
  const isSeeing = !["openai-chat", "openai-compatible"].includes(provider);
  const content = [
    { type: "text", text: "Here it is." },
    { type: "image", data, mimeType: "image/png" },
    { type: "audio", data, mimeType: "audio/wav" },
  ];
  const run = async (output: JsonValue, metadata?: JsonObject) => {
    const tool = toolOf("files.read", {
      result: ({ id: callId, tool: name }) => ({
        status: "succeeded",
        callId,
        tool: name,
        completedAt: "2026-01-01T00:00:00Z",
        output,
        ...(metadata && { metadata }),
      }),
    });
    const world = await modelWorldOf(provider, [callsTools({ name: "files_read" }), says("A cat.")], {
      config: { model },
      world: { tools: [tool] },
    });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.problems).toStrictEqual([]);
    return JSON.stringify(world.server.requests[1]?.body);
  };

  test("shows the images where they can be shown, and says of the rest what it is", async () => {
    const sent = await run({ content });
    expect(sent).toContain("Here it is.");
    expect(sent.includes(data)).toBe(isSeeing);
    expect(sent.split(data)).toHaveLength(isSeeing ? 2 : 1);
    expect(sent).toContain("audio/wav");
    expect(sent.includes('image/png\\\\\\" of 9 bytes') || sent.includes('image/png\\" of 9 bytes')).toBe(!isSeeing);
  });

  test("shows images that nothing was said about", async () => {
    const sent = await run({ content: content.slice(1, 2) });
    expect(sent.includes(data)).toBe(isSeeing);
  });

  test("shows the images beside a structured output", async () => {
    const sent = await run({ width: 640 }, { mcp: { content } });
    expect(sent).toContain("640");
    expect(sent.includes(data)).toBe(isSeeing);
  });

  test("is text when nothing in it is an image that a provider takes", async () => {
    const drawing = { type: "image", data, mimeType: "image/svg+xml" };
    const broken = { type: "image", data: "http://169.254.169.254/", mimeType: "image/png" };
    const blob = { type: "resource", resource: { uri: "file:///a", blob: data } };
    const sent = await run({ content: [drawing, broken, blob, { type: "resource_link", uri: "file:///b" }] });
    expect(sent).not.toContain(data);
    expect(sent).not.toContain("169.254");
    expect(sent).toContain("file:///b");
  });

  test("without media stays what it is", async () => {
    expect(await run({ content: [{ type: "text", text: "words" }] })).toContain("words");
    expect(await run({ content: ["a", 1] })).toContain("content");
  });
});
