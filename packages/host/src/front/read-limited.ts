import type { IncomingMessage } from "node:http";
import { ServiceHttpError } from "turnpike/http";

/**
 * The body of a request, up to a limit, whatever length it declares. Throws `413 payload_too_large`, and the reason of
 * `broken` once that is aborted.
 */
export function readLimited(
  incoming: IncomingMessage,
  limit: number,
  broken: AbortSignal = new AbortController().signal,
): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    const onBroken = (): void => reject(broken.reason as Error);
    if (broken.aborted) return onBroken();
    broken.addEventListener("abort", onBroken);
    if (incoming.destroyed && !incoming.readableEnded) return reject(new Error("The request broke off."));
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        incoming.pause();
        reject(tooLarge(limit));
      }
    });
    incoming.on("end", () => {
      const whole = Buffer.concat(chunks);
      resolve(whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength) as ArrayBuffer);
    });
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("The request broke off.")));
  });
}

/** The rest of a body that is too large is not read, so the connection is closed. */
export function tooLarge(limit: number): ServiceHttpError {
  const headers = { connection: "close" };
  return new ServiceHttpError(413, "payload_too_large", `A body has at most ${limit} bytes.`, { headers });
}
