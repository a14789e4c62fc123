import type { LiveReader, ToldEvent } from "./live-reader.ts";

const encoder = new TextEncoder();

/** What a reader receives, as server-sent events. Nothing is read for it before the client reads the stream. */
export function openEventStream(reader: LiveReader, signal: AbortSignal): ReadableStream<Uint8Array> {
  const leave = (): void => reader.close();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  return new ReadableStream(
    {
      async pull(stream) {
        const told = await reader.next();
        // A comment says that the tenant was read and nothing is new.
        if (told?.length === 0) return stream.enqueue(encoder.encode(":\n\n"));
        if (told !== undefined) return stream.enqueue(encoder.encode(told.map(eventText).join("")));
        signal.removeEventListener("abort", leave);
        stream.close();
      },
      cancel() {
        signal.removeEventListener("abort", leave);
        leave();
      },
    },
    { highWaterMark: 0 },
  );
}

function eventText({ data, cursor }: ToldEvent): string {
  return cursor === undefined ? `data: ${data}\n\n` : `id: ${cursor}\ndata: ${data}\n\n`;
}
