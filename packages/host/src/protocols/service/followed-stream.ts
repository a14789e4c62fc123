import type { Reply } from "turnpike/http";
import type { RequestRecord } from "../../access/index.ts";

/**
 * The same answer, whose stream ends when what its reader sent admits them no more: the credential was revoked, expired or has
 * another token. A turn may go on for days, and nobody is let in for longer than their token lasts. Something is said every 15
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
        // Whoever asks again is told why.
        stream.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { ...reply, body: watched };
}
