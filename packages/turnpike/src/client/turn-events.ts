import type { TurnEvent } from "../contracts/index.ts";
import { ServiceClientError } from "./service-client-error.ts";
import { readTurn } from "./turn-stream.ts";

/** From where on a turn is followed, and until when. */
export interface TurnEventsOptions {
  /** The sequence of the last event that was seen; from the first event on when absent. */
  after?: number | undefined;
  signal?: AbortSignal | undefined;
}

const firstPauseMs = 250;
const longestPauseMs = 15_000;
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
      if (!mayComeBack(error)) throw error;
      await pause(Math.max(growing(failures), (error.retryAfter ?? 0) * 1000), signal);
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

/** Whether the service may answer later: it was not reached, it broke off, it is asked too often, or the fault is its own. */
function mayComeBack(error: unknown): error is ServiceClientError {
  if (!(error instanceof ServiceClientError)) return false;
  return error.code === "request_failed" || error.status === 429 || error.status >= 500;
}

/** Half of it is left to chance, so that many who lost one host do not come back at once. */
function growing(failures: number): number {
  return Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * (0.5 + Math.random() / 2);
}

/** Rejects with the reason of the signal. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
