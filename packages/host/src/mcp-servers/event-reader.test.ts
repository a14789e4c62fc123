import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEventReader } from "./event-reader.ts";

const tooLarge = (): Error => new RangeError("too large");

function messagesIn(chunks: readonly string[], maxBytes = 10_000): string[] {
  const read = createEventReader(maxBytes, tooLarge);
  return chunks.flatMap((chunk) => read(Buffer.from(chunk)).map(String));
}

describe("the messages of an event stream", () => {
  for (const row of [
    { name: "are the data of its events", stream: "data: one\n\ndata: two\n\n", messages: ["one", "two"] },
    { name: "lose one space, and no more", stream: "data:one\n\ndata:  two\n\n", messages: ["one", " two"] },
    { name: "have the lines of an event", stream: "data: {\ndata\ndata: }\n\n", messages: ["{\n\n}"] },
    { name: "end with a carriage return, too", stream: "data: one\r\rdata: two\r\n\r\n", messages: ["one", "two"] },
    {
      name: "end with lines that end differently, too",
      stream: "data: one\r\n\ndata: two\n\r\n",
      messages: ["one", "two"],
    },
    { name: "are not comments, ids and pauses", stream: ": hi\nid: 7\nretry: 1\ndata: one\n\n", messages: ["one"] },
    { name: "are not ids alone", stream: "id: 7\n\n: hi\n\n", messages: [] },
    {
      name: "have the type message",
      stream: "event: message\ndata: one\n\nevent:\ndata: two\n\n",
      messages: ["one", "two"],
    },
    { name: "are not of another type", stream: "event: ping\ndata: one\n\ndata: two\n\n", messages: ["two"] },
    { name: "have an end", stream: "data: one\n\ndata: two\n", messages: ["one"] },
  ]) {
    test(row.name, () => {
      expect(messagesIn([row.stream])).toEqual(row.messages);
      expect(messagesIn(Array.from(row.stream))).toEqual(row.messages);
    });
  }

  test("are the same wherever the stream is cut", () => {
    const parts = fc.constantFrom("data: [1]", "data:", "event: x", "\r", "\n", "\r\n", "\n\n", ": c", "é");
    fc.assert(
      fc.property(fc.array(parts), fc.array(fc.nat(40)), (stream, cuts) => {
        const bytes = Buffer.from(stream.join(""));
        const read = createEventReader(10_000, tooLarge);
        const ends = [...cuts, bytes.length].toSorted((one, other) => one - other);
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        expect(pieces.flatMap(read).map(String)).toEqual(messagesIn([stream.join("")]));
      }),
    );
  });
});

describe("an event is too large", () => {
  for (const row of [
    { name: "with more data", chunks: [`data: ${"x".repeat(1000)}\n\n`] },
    { name: "that never ends", chunks: ["data: ", ...Array<string>(10).fill("x".repeat(100))] },
    { name: "with a long comment", chunks: [`: ${"x".repeat(1000)}\ndata: one\n\n`] },
    { name: "with many lines", chunks: ["data\n".repeat(20)] },
    { name: "in many pieces", chunks: Array<string>(20).fill("x") },
  ]) {
    test(row.name, () => expect(() => messagesIn(row.chunks, 1000)).toThrow("too large"));
  }

  test("each by itself", () => {
    expect(messagesIn([`data: ${"x".repeat(900)}\n\n`.repeat(10)], 1000)).toHaveLength(10);
  });
});
