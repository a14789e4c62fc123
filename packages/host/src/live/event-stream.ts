import type { LiveReader, ToldEvent } from "./live-reader.ts";

/** How long a stream is silent before a comment is sent. */
const silenceMs = 15_000;
const encoder = new TextEncoder();

/** What a reader hears, as server-sent events. Nothing is asked of the reader before somebody reads the stream. */
export function openEventStream(reader: LiveReader, signal: AbortSignal): ReadableStream<Uint8Array> {
  const leave = (): void => reader.close();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  let next: Promise<ToldEvent[] | undefined> | undefined;
  return new ReadableStream(
    {
      async pull(stream) {
        next ??= reader.next();
        const told = await withinSilence(next);
        if (told === "silence") return stream.enqueue(encoder.encode(":\n\n"));
        next = undefined;
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

/** What comes next, unless nothing comes for so long that something has to be said. */
async function withinSilence<T>(next: Promise<T>): Promise<T | "silence"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silence">((resolve) => {
    timer = setTimeout(() => resolve("silence"), silenceMs);
  });
  try {
    return await Promise.race([next, silence]);
  } finally {
    clearTimeout(timer);
  }
}
