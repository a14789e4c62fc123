import type { TurnEvent, TurnResult } from "../contracts/index.ts";

/** Runs a turn for a stream: as executeTurn does, with the stream's own signal and observer. */
export type StreamedTurn = (options: {
  signal: AbortSignal;
  onEvent: (event: TurnEvent) => void;
}) => Promise<TurnResult>;

/** How long a stream is silent before a comment is sent. */
export const silenceMs = 15_000;
const encoder = new TextEncoder();

/** The comment, as bytes. */
export function silenceBytes(): Uint8Array {
  return encoder.encode(":\n\n");
}

/** An event in the format of server-sent events. */
export function eventText(event: TurnEvent): string {
  return `event: turn.event\nid: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The last of the server-sent events of a turn. */
export function resultText(result: TurnResult): string {
  return `event: turn.result\ndata: ${JSON.stringify(result)}\n\n`;
}

/**
 * Runs a turn as server-sent events. Resolves when the first event happens, and rejects when the turn fails before that, so that
 * the failure is answered like any other. Closing the stream cancels the turn.
 */
export async function streamTurn(
  run: StreamedTurn,
  caller: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const turn = new AbortController();
  const onCallerAbort = (): void => turn.abort(caller.reason);
  caller.addEventListener("abort", onCallerAbort, { once: true });
  if (caller.aborted) onCallerAbort();

  const chunks = createQueue();
  let hasStarted = false;
  const running = new Promise<void>((resolve, reject) => {
    const onEvent = (event: TurnEvent): void => {
      chunks.push(eventText(event));
      hasStarted = true;
      resolve();
    };
    (async () => run({ signal: turn.signal, onEvent }))()
      .then((result) => chunks.end(resultText(result)))
      .then(resolve, (error: unknown) => {
        // A turn whose reader left is cancelled, which is no failure.
        if (hasStarted && !turn.signal.aborted) onFailure(error);
        chunks.fail(error);
        reject(error);
      })
      .finally(() => caller.removeEventListener("abort", onCallerAbort));
  });
  await running;

  return new ReadableStream(
    {
      async pull(stream) {
        const chunk = await chunks.next(silenceMs);
        if (chunk.kind === "text") stream.enqueue(encoder.encode(chunk.text));
        else if (chunk.kind === "silence") stream.enqueue(silenceBytes());
        else if (chunk.kind === "end") stream.close();
        else stream.error(chunk.error);
      },
      cancel(reason) {
        turn.abort(reason ?? new Error("The reader of the stream went away."));
        chunks.end();
      },
    },
    { highWaterMark: 0 },
  );
}

type Chunk =
  | { kind: "text"; text: string }
  | { kind: "silence" }
  | { kind: "end" }
  | { kind: "failure"; error: unknown };

interface ChunkQueue {
  push(text: string): void;
  end(text?: string): void;
  fail(error: unknown): void;
  /** The next chunk, or `silence` when none comes in time. */
  next(timeoutMs: number): Promise<Chunk>;
}

/** The chunks that were written and not read yet. A slow reader costs no more memory than the events of the result. */
function createQueue(): ChunkQueue {
  const waiting: Chunk[] = [];
  let last: Chunk | undefined;
  let wake = (): void => {};
  const put = (chunk: Chunk): void => {
    if (last !== undefined) return;
    waiting.push(chunk);
    wake();
  };
  const finish = (chunk: Chunk): void => {
    last ??= chunk;
    wake();
  };
  return {
    push: (text) => put({ kind: "text", text }),
    end(text) {
      if (text !== undefined) put({ kind: "text", text });
      finish({ kind: "end" });
    },
    fail: (error) => finish({ kind: "failure", error }),
    async next(timeoutMs) {
      const ready = (): Chunk | undefined => waiting.shift() ?? last;
      return ready() ?? (await waitFor(timeoutMs, (onWake) => (wake = onWake)), ready()) ?? { kind: "silence" };
    },
  };
}

/** Resolves when woken, or when the time is over. */
function waitFor(timeoutMs: number, register: (onWake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    register(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
