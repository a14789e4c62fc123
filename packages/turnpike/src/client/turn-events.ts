import type { TurnEvent } from "../contracts/index.ts";
import { mayComeBack, pause, pauseAfter } from "./come-back.ts";
import { ServiceClientError } from "./service-client-error.ts";
import { readTurn } from "./turn-stream.ts";

/** From where on a turn is followed, and until when. */
export interface TurnEventsOptions {
  /** The sequence of the last event that was seen; from the first event on when absent. */
  after?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The service says something every 15 seconds: a connection that is silent for so long is dead. */
const silenceMs = 45_000;

/**
 * Follows a turn to its end, each event once and in order. A connection that breaks is opened again behind the last event,
 * after a pause that grows while nothing comes. Leaving the loop leaves the turn alone.
 */
export async function* followTurn(
  open: (after: number) => Promise<Response>,
  { after = -1, signal }: TurnEventsOptions,
): AsyncGenerator<TurnEvent, void> {
  let last = after;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of readTurn(async () => untilSilent(await open(last)), signal)) {
        if (event.sequence <= last) continue;
        last = event.sequence;
        failures = 0;
        yield event;
      }
      return;
    } catch (error) {
      if (!(error instanceof ServiceClientError) || !mayComeBack(error)) throw error;
      await pause(Math.max(pauseAfter(failures), (error.retryAfter ?? 0) * 1000), signal);
      failures += 1;
    }
  }
}

/** The response, whose body breaks when nothing comes for too long. */
function untilSilent({ body, status, headers }: Response): Response {
  const reader = body?.getReader();
  if (reader === undefined) return new Response(null, { status, headers });
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(stream) {
        const timer = setTimeout(() => {
          stream.error(new Error("The connection was silent for too long."));
          reader.cancel().catch(() => {});
        }, silenceMs);
        const { done, value } = await reader.read().finally(() => clearTimeout(timer));
        if (value !== undefined) stream.enqueue(value);
        if (done) stream.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(watched, { status, headers });
}
