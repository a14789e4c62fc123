import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import type { Config } from "../config.ts";
import { checkTarget, type Refusal } from "./check-target.ts";
import { readLimited, tooLarge } from "./read-limited.ts";

const longestTurnMs = 600_000;
const lastWordsMs = 1000;

/** A server that listens. */
export interface RunningServer {
  url: string;
  /** Stops accepting, lets running requests finish until the limit, then cuts what remains. */
  close(): Promise<void>;
}

/** Serves a Fetch handler over sockets, within the limits. */
export async function startServer(
  config: Config,
  handler: (request: Request) => Promise<Response>,
): Promise<RunningServer> {
  const { listen, tls, limits } = config;
  // Node looks for requests that are too slow only so often, and refuses a missing Host in its own words.
  const options = {
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
    requireHostHeader: false,
    handshakeTimeout: limits.headersMs,
  };
  const server = tls === undefined ? createHttpServer(options) : createHttpsServer({ ...options, ...readPair(tls) });
  server.headersTimeout = limits.headersMs;
  server.requestTimeout = limits.headersMs + limits.bodyMs;
  server.keepAliveTimeout = limits.idleMs;
  server.maxConnections = limits.sockets;
  // Nothing takes longer than the longest turn; whoever does not read for that long is gone.
  server.timeout = longestTurnMs + limits.headersMs;
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const running = new Set<Promise<void>>();
  const exchanges = new WeakMap<Socket, Exchange>();
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    exchanges.set(incoming.socket, { incoming, outgoing });
    const served = serve(incoming, outgoing, handler, limits.bodyBytes).finally(() => running.delete(served));
    running.add(served);
  };
  server.on("request", onRequest);
  server.on("checkContinue", (incoming, outgoing) => {
    if (refusalOf(incoming, limits.bodyBytes) === undefined) outgoing.writeContinue();
    onRequest(incoming, outgoing);
  });
  server.on("clientError", (error: { code?: string }, socket) => refuseBroken(error, socket as Socket, exchanges));
  server.on("connect", (_request, socket) => refuseBroken({}, socket as Socket, exchanges));
  server.on("upgrade", (_request, socket) => refuseBroken({}, socket as Socket, exchanges));
  const address = listen.host.replaceAll(/^\[|\]$/g, "");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = address.includes(":") ? `[${address}]` : address;
  return {
    url: `${tls === undefined ? "http" : "https"}://${host}:${port}`,
    close: () => closeServer(server, sockets, running, limits.shutdownMs),
  };
}

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: (request: Request) => Promise<Response>,
  bodyBytes: number,
): Promise<void> {
  const refusal = refusalOf(incoming, bodyBytes);
  if (refusal !== undefined) return refuse(outgoing, refusal.status, refusal.code, refusal.message);
  const request = new NodeRequest({ req: incoming, res: outgoing });
  Object.defineProperty(request, "arrayBuffer", { value: () => readLimited(incoming, bodyBytes) });
  try {
    await sendNodeResponse(outgoing, await handler(request));
  } catch {
    // The caller went away, or a stream broke off: there is nobody to tell.
    outgoing.destroy();
  }
}

/** Why the request is refused by its head alone; undefined when it is not. */
function refusalOf(incoming: IncomingMessage, bodyBytes: number): Refusal | undefined {
  return checkTarget(incoming) ?? (declaredLength(incoming) > bodyBytes ? tooLarge(bodyBytes) : undefined);
}

function readPair({ certFile, keyFile }: NonNullable<Config["tls"]>): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

function declaredLength({ headers }: IncomingMessage): number {
  return Number(headers["content-length"] ?? 0);
}

function refuse(outgoing: ServerResponse, status: number, code: string, message: string): void {
  const requestId = crypto.randomUUID();
  outgoing.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    connection: "close",
    "x-request-id": requestId,
  });
  outgoing.end(JSON.stringify({ error: { code, message, requestId } }));
}

/** The last request of a socket, and its answer. */
interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** For what never became a request: bytes that are not HTTP, headers too large or too slow. */
function refuseBroken(error: { code?: string }, socket: Socket, exchanges: WeakMap<Socket, Exchange>): void {
  // A socket that was taken out of HTTP's hands has no listener left, and its reset would end the process.
  socket.on("error", () => socket.destroy());
  const { incoming, outgoing } = exchanges.get(socket) ?? {};
  // An answer to a request that arrived whole goes out whole; nothing that would be read as another follows it.
  if (incoming?.complete === true && outgoing?.writableFinished === false) {
    return void outgoing.once("close", () => socket.destroy());
  }
  const isLastAnswer = outgoing?.headersSent === true && !(outgoing.shouldKeepAlive && outgoing.writableFinished);
  if (isLastAnswer || !socket.writable) return void socket.destroy();
  const [status, reason, code] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large", "invalid_request"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout", "request_timeout"]
        : [400, "Bad Request", "invalid_request"];
  const body = JSON.stringify({ error: { code, message: `${reason}.`, requestId: crypto.randomUUID() } });
  const head = `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncache-control: no-store`;
  socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
  // Read or not, the answer is the last thing on this socket.
  const end = setTimeout(() => socket.destroy(), lastWordsMs);
  socket.once("close", () => clearTimeout(end));
}

async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  running: ReadonlySet<Promise<void>>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Keep-alive connections become idle as their requests finish.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
  // What was cut off is cancelled, and gets a moment to record how it ended; a tool may ignore its signal.
  await Promise.race([Promise.allSettled(running), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
}
