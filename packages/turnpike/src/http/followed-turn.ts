import type { TurnJournal, TurnKey } from "../runtime/index.ts";
import { eventText, resultText, silenceBytes, silenceMs } from "./turn-stream.ts";

const encoder = new TextEncoder();

/** The turn that is followed, and after which event. */
export interface FollowedTurn {
  journal: TurnJournal;
  key: TurnKey;
  after: number;
}

/**
 * Streams a turn of the journal as server-sent events: the events after the cursor, later ones as they come, and the result.
 * Closing the stream only stops the reading. Nothing is read ahead, so that a slow reader costs no memory.
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
          // A reader that disconnects is no failure.
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
  // A journal that is closed ends its events before the turn has ended. The client then reconnects and continues.
  const result = (await journal.find(key))?.result;
  if (result !== undefined) yield resultText(result);
}

/** The next event, or `silence` when none comes in time, so that a comment has to be sent. */
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
