import type { ToolDescriptor } from "../contracts/index.ts";

/** What every response of one request shares. */
export interface Reply {
  requestId: string;
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

/** A JSON response. */
export function replyJson(body: unknown, reply: Reply): Response {
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined) throw new TypeError("A result has to be JSON.");
  return respond(text, "application/json", reply);
}

/** Tool descriptors that cannot change are written once; a catalog is made of their texts. */
const written = new WeakMap<ToolDescriptor, string>();

/** A JSON response with a tool catalog. */
export function replyCatalog(tools: readonly ToolDescriptor[], reply: Reply): Response {
  return respond(`[${tools.map(write).join(",")}]`, "application/json", reply);
}

function write(tool: ToolDescriptor): string {
  const known = written.get(tool);
  if (known !== undefined) return known;
  const text = JSON.stringify(tool);
  // The kernel's descriptors are frozen to the last leaf.
  if (Object.isFrozen(tool)) written.set(tool, text);
  return text;
}

/** The headers of `replyJson` without its body, for `HEAD`. */
export function replyEmpty(reply: Reply): Response {
  return respond(null, "application/json", reply);
}

/** A stream of server-sent events. */
export function replyStream(body: ReadableStream<Uint8Array>, reply: Reply): Response {
  return respond(body, "text/event-stream", reply);
}

function respond(body: BodyInit | null, contentType: string, { requestId, status = 200, headers }: Reply): Response {
  return new Response(body, {
    status,
    headers: { ...headers, "content-type": contentType, "cache-control": "no-store", "x-request-id": requestId },
  });
}
