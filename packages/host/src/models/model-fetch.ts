const maxResponseBytes = 16_777_216;

/** Sends a request to where it is addressed and nowhere else: a redirect would take the key with it. Answers are bounded. */
export async function modelFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const { status, headers, body } = response;
  return body === null ? response : new Response(body.pipeThrough(bounded(maxResponseBytes)), { status, headers });
}

function bounded(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) controller.error(new RangeError("The answer is too large."));
      else controller.enqueue(chunk);
    },
  });
}
