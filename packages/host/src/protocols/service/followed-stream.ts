import type { Reply } from "turnpike/http";
import type { RequestRecord } from "../../access/index.ts";

/**
 * The same answer, whose stream ends when the reader's credential is no longer admitted: it was revoked, expired or has another
 * token. A turn may run for days, and no reader may follow it for longer than their token lasts. Something is sent every 15
 * seconds, so a silent stream ends too.
 */
export function whileAdmitted(reply: Reply, { caller }: RequestRecord): Reply {
  const { body } = reply;
  if (!(body instanceof ReadableStream) || caller === undefined) return reply;
  const reader = body.getReader();
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(stream) {
        const { done, value } = await reader.read();
        if (!done && (await caller.isStillAdmitted(new Date()))) return stream.enqueue(value);
        if (!done) await reader.cancel();
        // A new request of the reader is refused with the reason.
        stream.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { ...reply, body: watched };
}
