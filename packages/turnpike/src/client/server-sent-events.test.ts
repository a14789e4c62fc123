import fc from "fast-check";
import { expect, test } from "vitest";
import { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";

const text = 'event: one\nid: 0\ndata: {"text":"für 🚪"}\n\n:\n\ndata: a\ndata:\ndata:  b\n\nevent: three\ndata: é\n\n';
const events = [
  { event: "one", data: '{"text":"für 🚪"}', id: "0" },
  { event: "message", data: "a\n\n b" },
  { event: "three", data: "é" },
];

async function read(pieces: readonly Uint8Array[]): Promise<ServerSentEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      for (const piece of pieces) stream.enqueue(piece);
      stream.close();
    },
  });
  const found: ServerSentEvent[] = [];
  for await (const event of readServerSentEvents(body)) found.push(event);
  return found;
}

for (const row of [
  { name: "LF", lineEnd: "\n" },
  { name: "CRLF", lineEnd: "\r\n" },
  { name: "CR", lineEnd: "\r" },
]) {
  const bytes = new TextEncoder().encode(text.replaceAll("\n", row.lineEnd));

  test(`events that end in ${row.name} are read from two pieces, wherever they are cut`, async () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect([cut, await read([bytes.subarray(0, cut), bytes.subarray(cut)])]).toStrictEqual([cut, events]);
    }
  });

  test(`events that end in ${row.name} are read byte by byte`, async () => {
    expect(await read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toStrictEqual(events);
  });

  test(`events that end in ${row.name} are read from any pieces`, async () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const ends = [...places.toSorted((one, other) => one - other), bytes.length];
        const pieces = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
        expect(await read(pieces)).toStrictEqual(events);
      }),
    );
  });
}

test("an event is handed on before the next one has come", async () => {
  const encoder = new TextEncoder();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const reading = readServerSentEvents(readable);
  for (const data of ["one", "two"]) {
    const next = reading.next();
    await writer.write(encoder.encode(`data: ${data}\n\n`));
    expect(await next).toStrictEqual({ done: false, value: { event: "message", data } });
  }
  const next = reading.next();
  await writer.close();
  expect(await next).toStrictEqual({ done: true, value: undefined });
});

for (const row of [
  { name: "left early", isLeft: true },
  { name: "read to its end", isLeft: false },
]) {
  test(`a stream that is ${row.name} is ${row.isLeft ? "cancelled" : "not cancelled"}`, async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        stream.enqueue(new TextEncoder().encode(text));
        if (!row.isLeft) stream.close();
      },
      cancel() {
        isCancelled = true;
        throw new Error("whatever this says");
      },
    });
    const seen: string[] = [];
    for await (const { event } of readServerSentEvents(body)) {
      seen.push(event);
      if (row.isLeft) break;
    }
    expect([isCancelled, seen.length]).toStrictEqual([row.isLeft, row.isLeft ? 1 : 3]);
  });
}
