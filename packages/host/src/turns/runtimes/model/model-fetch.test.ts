import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createModelFetch } from "./model-fetch.ts";

const key = "sk-test-0123456789";

/** What a client gets of an answer that arrives in these chunks, and how it ends. */
async function readOf(chunks: readonly string[], apiKey?: string): Promise<{ text: string; error?: unknown }> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body)));
  onTestFinished(() => void vi.unstubAllGlobals());
  const response = await createModelFetch(apiKey)("https://models.example/v1");
  let text = "";
  try {
    for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk as Uint8Array);
  } catch (error) {
    return { text, error };
  }
  return { text };
}

describe("an answer that repeats the key is broken off before the end of the key is read,", () => {
  const repeats = expect.objectContaining({ message: "The answer repeats the key." }) as Error;
  const around = (...parts: string[]): string[] => [`${"word ".repeat(20)}${parts[0]}`, ...parts.slice(1), " and more"];

  for (const { name, chunks } of [
    { name: "when it is whole", chunks: around(key) },
    { name: "when it is whole in a chunk of its own", chunks: around("", key) },
    { name: "when it comes character by character", chunks: around("", ...key) },
    { name: "when it comes behind its own beginning", chunks: around("sk-test-", key.slice(0, 9), key.slice(9)) },
  ])
    test(name, async () => {
      const { text, error } = await readOf(chunks, key);
      expect(error).toEqual(repeats);
      expect(text).not.toContain(key);
    });

  test("wherever it is split", async () => {
    for (let place = 1; place < key.length; place += 1) {
      const { text, error } = await readOf(around(key.slice(0, place), key.slice(place)), key);
      expect(error).toEqual(repeats);
      expect(text).not.toContain(key);
    }
  });
});

test("an answer with nothing but parts of the key in it is passed on as it is", async () => {
  const chunks = [key.slice(0, -1), " ", key.slice(1), key.slice(0, 9), "-", key.slice(9)];
  expect(await readOf(chunks, key)).toEqual({ text: chunks.join("") });
});

test("without a key nothing is searched", async () => {
  expect(await readOf(["one ", "two"])).toEqual({ text: "one two" });
});
