import type { TurnJournal, TurnKey } from "../runtime/index.ts";
import { eventText, resultText, silenceBytes, silenceMs } from "./turn-stream.ts";

const encoder = new TextEncoder();

/** What is followed, and from where. */
export interface FollowedTurn {
  journal: TurnJournal;
  key: TurnKey;
  after: number;
}

/**
 * A turn of the journal as server-sent events: from the cursor on, then as they come, and its result. Closing the stream
 * stops the reading and nothing else. Nothing is read ahead of the reader, so a slow one costs no memory.
 */
export function followTurn(
  turn: FollowedTurn,
  caller: AbortSignal,
  onFailure: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reading = new AbortController();
  const texts = textsOf(turn, reading.signal);
  let next: Promise<IteratorResult<string, void>> | undefined;
  const stop = (reason: unknown): void => {
    caller.removeEventListener("abort", onCallerAbort);
    reading.abort(reason);
    texts.return().catch(() => {});
  };
  const onCallerAbort = (): void => stop(caller.reason);
  caller.addEventListener("abort", onCallerAbort);
  if (caller.aborted) onCallerAbort();

  return new ReadableStream(
    {
      async pull(stream) {
        try {
          next ??= texts.next();
          const text = await withinSilence(next);
          if (text === "silence") return stream.enqueue(silenceBytes());
          next = undefined;
          if (text.done !== true) return stream.enqueue(encoder.encode(text.value));
          caller.removeEventListener("abort", onCallerAbort);
          stream.close();
        } catch (error) {
          caller.removeEventListener("abort", onCallerAbort);
          // Somebody who left is no failure.
          if (!reading.signal.aborted) onFailure(error);
          throw error;
        }
      },
      cancel: (reason) => stop(reason ?? new Error("The reader of the stream went away.")),
    },
    { highWaterMark: 0 },
  );
}

async function* textsOf({ journal, key, after }: FollowedTurn, signal: AbortSignal): AsyncGenerator<string, void> {
  for await (const event of journal.follow(key, after, signal)) yield eventText(event);
  // A journal that is closed ends its events before the turn has ended: whoever follows asks again, and goes on.
  const result = (await journal.find(key))?.result;
  if (result !== undefined) yield resultText(result);
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
