import { describe, expect, test } from "vitest";
import type { JsonValue } from "turnpike/contracts";
import { outputOf } from "./tool-output.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };
const shown = { type: "image-data", data: "AAAA", mediaType: "image/png" };

describe("a model is told of a result", () => {
  for (const { name, output, told } of [
    { name: "that is a text as it is", output: "words", told: { type: "text", value: "words" } },
    { name: "that is something else as JSON", output: { a: 1 }, told: { type: "json", value: { a: 1 } } },
    {
      name: "with images in one text, with the words in it as they are and everything else as JSON",
      output: {
        content: [{ type: "text", text: "Here:" }, image, { type: "note", text: "a" }, { type: "text", text: 5 }],
      },
      told: {
        type: "content",
        value: [{ type: "text", text: 'Here:\n{"type":"note","text":"a"}\n{"type":"text","text":5}' }, shown],
      },
    },
    {
      name: "that is an image alone in words of our own",
      output: { content: [image] },
      told: { type: "content", value: [{ type: "text", text: "The images follow." }, shown] },
    },
  ] satisfies { name: string; output: JsonValue; told: object }[]) {
    test(name, () => {
      const ids = { callId: "call-1", tool: "files.read", completedAt: "2026-01-01T00:00:00Z" };
      expect(outputOf({ status: "succeeded", ...ids, output }, true)).toStrictEqual(told);
    });
  }
});
