const maxResponseBytes = 4_194_304;

/**
 * A fetch that follows no redirects, because a redirect would send the key elsewhere. An answer is limited in size, and an
 * answer that contains the key is cut off before it is read.
 */
export function createModelFetch(apiKey: string | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    const { status, headers, body } = response;
    return body === null ? response : new Response(body.pipeThrough(guarded(apiKey)), { status, headers });
  };
}

function guarded(apiKey: string | undefined): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let seen = Buffer.alloc(0);
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > maxResponseBytes) return controller.error(new RangeError("The answer is too large."));
      if (apiKey !== undefined) {
        const both = Buffer.concat([seen, chunk]);
        if (both.includes(apiKey)) return controller.error(new Error("The answer repeats the key."));
        // The key may be split between two chunks.
        seen = both.subarray(-apiKey.length);
      }
      controller.enqueue(chunk);
    },
  });
}
