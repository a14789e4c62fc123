import type { Front } from "../src/front/front.ts";
import type { WireRequest } from "../src/front/wire-request.ts";

/** A front that tests call with what Fetch has, without a socket between. When it has answered, the log was told. */
export function asFetch(front: Front): (request: Request) => Promise<Response> {
  return async (request) => {
    const answer = await front(wireRequestFrom(request));
    await new Promise((resolve) => process.nextTick(resolve));
    if (answer instanceof Response) return answer;
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
}

/** A request of Fetch as if it had come from a socket. */
export function wireRequestFrom(request: Request): WireRequest {
  const { method, headers, signal, url } = request;
  const { pathname, search } = new URL(url);
  let read: Promise<ArrayBuffer> | undefined;
  const body = { bytes: async () => new Uint8Array(await (read ??= request.arrayBuffer())) };
  return {
    method,
    target: pathname + search,
    headers,
    signal,
    address: "127.0.0.1",
    body,
    admit() {},
    toFetch: () => request,
  };
}
