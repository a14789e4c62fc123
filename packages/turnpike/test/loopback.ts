import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";

type Handler = (request: Request) => Promise<Response>;

/** A server on a port of its own. */
export interface Loopback {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** Serves a handler over real sockets: a socket that closes early aborts its request. */
async function serve(handler: Handler): Promise<Loopback> {
  const server = createServer((incoming, outgoing) => void answer(handler, incoming, outgoing));
  // A client that is slow to notice would send its next request on a connection that was closed for being idle.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => closeServer(server) };
}

async function answer(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const caller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) caller.abort(new Error("The caller went away."));
  });
  const response = await handler(requestOf(incoming, caller.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) {
    outgoing.end();
    return;
  }
  // A body that breaks breaks the socket; a socket that breaks cancels the body.
  await pipeline(Readable.fromWeb(response.body as NodeReadableStream), outgoing).catch(() => {});
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers, url = "/" } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  const init = {
    method,
    headers: headers as Record<string, string>,
    signal,
    ...(hasBody && { body: Readable.toWeb(incoming), duplex: "half" }),
  };
  return new Request(`http://${headers.host}${url}`, init as RequestInit);
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}

/** A way to reach a handler. */
export interface Transport {
  readonly name: string;
  open(handler: Handler): Promise<Loopback & { fetch?: typeof fetch }>;
}

/** Without a socket, and with one. */
export const transports: readonly Transport[] = [
  {
    name: "in process",
    open: (handler) =>
      Promise.resolve({
        baseUrl: "http://service.test",
        fetch: (input, init) => handler(new Request(input, init)),
        close: () => Promise.resolve(),
      }),
  },
  { name: "over loopback", open: serve },
];
