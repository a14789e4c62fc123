import { type Reply, ServiceHttpError } from "turnpike/http";
import { fixedLimits } from "../shared/index.ts";
import type { RequestRecord } from "../access/index.ts";

/** The slots for streams of a host. */
export interface StreamSlots {
  /** Takes a slot, which the returned function gives back. Throws `429` when the owner, or the host, has no other one. */
  take(owner: string, most: number): () => void;
  /** Takes a slot for something else that stays open for long; undefined when the host has no other one. */
  takeAny(): (() => void) | undefined;
}

/** The streams that one protocol may open, and how many of them one credential. */
export interface StreamLimit {
  slots: StreamSlots;
  perCredential: number;
}

/** All streams together have half of the sockets, so that calls find some. */
export function createStreamSlots(sockets: number): StreamSlots {
  const most = Math.max(1, Math.floor(sockets * fixedLimits.streamShare.value));
  const owned = new Map<string, number>();
  let open = 0;
  const takeAny = (): (() => void) | undefined => {
    if (open >= most) return undefined;
    open += 1;
    let isGiven = false;
    return () => {
      if (!isGiven) open -= 1;
      isGiven = true;
    };
  };
  return {
    takeAny,
    take(owner, mostOfOwner) {
      const own = owned.get(owner) ?? 0;
      if (own >= mostOfOwner) throw refusal("Too many streams of this credential are open: close one first.");
      const giveBack = takeAny();
      if (giveBack === undefined)
        throw refusal("This host has as many streams open as it may. Ask again, or ask without a stream.");
      owned.set(owner, own + 1);
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        giveBack();
        const left = (owned.get(owner) ?? 1) - 1;
        if (left === 0) owned.delete(owner);
        else owned.set(owner, left);
      };
    },
  };
}

/** An answer that may be a stream. It has a slot from before its operation begins until its last byte, or its reader, is gone. */
export async function answerInSlot(
  { slots, perCredential }: StreamLimit,
  { request, record }: { request: { signal: AbortSignal }; record: RequestRecord },
  answer: () => Promise<Reply | Response>,
): Promise<Reply | Response> {
  const { tenant, credentialId } = record.facts;
  const release = slots.take(JSON.stringify([tenant, credentialId]), perCredential);
  try {
    const given = await answer();
    if (!(given.body instanceof ReadableStream)) {
      release();
      return given;
    }
    request.signal.addEventListener("abort", release, { once: true });
    if (request.signal.aborted) release();
    const body = until(given.body, () => {
      request.signal.removeEventListener("abort", release);
      release();
    });
    return given instanceof Response ? new Response(body, given) : { ...given, body };
  } catch (error) {
    release();
    throw error;
  }
}

/** The same stream, and something that is done when it has ended, however that is. */
function until(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(stream) {
        try {
          const { done, value } = await reader.read();
          if (!done) return stream.enqueue(value);
          onEnd();
          stream.close();
        } catch (error) {
          onEnd();
          throw error;
        }
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function refusal(message: string): ServiceHttpError {
  return new ServiceHttpError(429, "rate_limited", message, { headers: { "retry-after": "10" } });
}
