import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as nextRound } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { sendNodeResponse } from "srvx/node";
import { errorCodes } from "turnpike/contracts";
import { ownSignal, type Reply } from "turnpike/http";
import { type ClientCertificate, describeCertificate } from "../access/index.ts";
import { fixedLimits } from "../shared/index.ts";
import type { FrontSettings, WireLimits } from "./front-settings.ts";
import { checkHead } from "./check-head.ts";
import type { Front } from "./front.ts";
import { BodyState, tooLargeText } from "./read-limited.ts";
import { batchByTick } from "./batch-by-tick.ts";
import { createSocketReserve } from "./socket-reserve.ts";
import {
  closeGracefully,
  endAfterAnswers,
  refuse,
  refuseBroken,
  type Connection,
  type Exchange,
  type OnRefused,
} from "./refuse.ts";
import { followTls, openTls, type TlsReport } from "./tls-files.ts";
import { createUnadmittedBodies, type UnadmittedBodies } from "./unadmitted-bodies.ts";
import { cutOffIdleReaders } from "./unread-answers.ts";
import { wireRefusal, type Refusal } from "./wire-errors.ts";
import { ExchangeRequest } from "./wire-request.ts";

const longestTurnMs = 600_000;
/** How many requests of one socket may wait for their answers. Clients that pipeline send a handful. */
const maxUnanswered = fixedLimits.unansweredRequests.value;

/** A server that listens. */
export interface RunningServer {
  url: string;
  /** Stops accepting, lets running requests finish until the limit, then closes the remaining sockets. */
  close(): Promise<void>;
}

/** Callbacks for what happens before there is a request that the front could see. */
export interface ServerReport {
  onRefused: OnRefused;
  tls: TlsReport;
}

/** Serves the front over sockets, within the limits. */
export async function startServer(
  config: FrontSettings,
  front: Front,
  { onRefused, tls: tlsReport }: ServerReport,
  unadmitted: UnadmittedBodies = createUnadmittedBodies(),
): Promise<RunningServer> {
  const { listen, tls, limits } = config;
  // Node checks for slow requests at this interval. A missing Host is refused by us, not with Node's own answer.
  const options = {
    maxHeaderSize: fixedLimits.headerBytes.value,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
    requireHostHeader: false,
    handshakeTimeout: limits.headersMs,
  };
  const server = tls === undefined ? createHttpServer(options) : createHttpsServer({ ...options, ...openTls(tls) });
  server.headersTimeout = limits.headersMs;
  server.requestTimeout = limits.headersMs + limits.bodyMs;
  server.keepAliveTimeout = limits.idleMs;
  const reserve = createSocketReserve(limits.sockets);
  server.maxConnections = reserve.maxConnections;
  // By default Node silently drops headers beyond a count. Here all are read, and too many are refused.
  server.maxHeadersCount = 0;
  // No request takes longer than the longest turn, so a socket that is silent for longer is closed.
  server.timeout = longestTurnMs + limits.headersMs;
  const sockets = new Set<Socket>();
  const connections = new WeakMap<Socket, Connection>();
  const connectionOf = (socket: Socket): Connection => {
    let connection = connections.get(socket);
    if (connection === undefined) {
      const { signal: closed, abort } = ownSignal();
      socket.once("close", () => abort());
      const certificate = certificateOf(socket);
      connection = { closed, unanswered: new Set(), last: undefined, isEnding: false, certificate };
      connections.set(socket, connection);
    }
    return connection;
  };
  server.on("connection", (socket) => {
    sockets.add(socket);
    reserve.add(socket);
    socket.once("close", () => (sockets.delete(socket), reserve.remove(socket)));
  });
  /** Those over which requests can arrive. */
  const ready = new Set<Socket>();
  /** Over these no request has arrived whole. To Node they are not idle: it waits for their first request. */
  const unused = new Set<Socket>();
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    ready.add(socket);
    unused.add(socket);
    socket.once("close", () => (ready.delete(socket), unused.delete(socket)));
    // Node calls destroySoon to end a socket after its last answer.
    socket.destroySoon = () => closeGracefully(socket);
  });
  const stopWatching = cutOffIdleReaders({
    sockets: ready,
    isAnswering: (socket) => connectionOf(socket).unanswered.size > 0,
    silentMs: server.timeout,
    unreadMs: limits.bodyMs,
  });
  const requestOf: RequestMaker = (exchange) => new ExchangeRequest(exchange, limits.bodyBytes, unadmitted);
  const running = new Set<Promise<void>>();
  const endOfTick = batchByTick();
  /** Whatever follows a refused request on its socket cannot be trusted, so it is ignored. */
  const begin = (incoming: IncomingMessage, outgoing: ServerResponse): Exchange | undefined => {
    const connection = connectionOf(incoming.socket);
    unused.delete(incoming.socket);
    if (connection.isEnding) return undefined;
    const exchange = { incoming, outgoing, connection, body: new BodyState() };
    connection.last = exchange;
    connection.unanswered.add(exchange);
    outgoing.once("close", () => connection.unanswered.delete(exchange));
    if (incoming.headers.upgrade !== undefined) {
      // A server may ignore an upgrade, but Node's parser loses the bytes that follow it. So nothing may follow.
      outgoing.shouldKeepAlive = false;
      connection.isEnding = true;
    }
    if (connection.unanswered.size <= maxUnanswered) return exchange;
    // One chunk can hold thousands of requests, which all arrive in one turn of the event loop.
    return void refuse(exchange, tooMany, onRefused);
  };
  const take = (incoming: IncomingMessage, outgoing: ServerResponse, onAccepted?: () => void): void => {
    const exchange = begin(incoming, outgoing);
    if (exchange === undefined) return;
    const refusal = refusalOf(incoming, limits) ?? reserve.refusalOf(incoming);
    if (refusal !== undefined) return refuse(exchange, refusal, onRefused);
    // The next health check comes over another connection.
    if (reserve.has(incoming.socket)) outgoing.shouldKeepAlive = false;
    onAccepted?.();
    const served = endOfTick()
      .then(() => serve(exchange, front, requestOf, onRefused))
      .finally(() => running.delete(served));
    running.add(served);
  };
  server.on("request", (incoming, outgoing) => take(incoming, outgoing));
  // Such a client sends its body only when it is told to.
  server.on("checkContinue", (incoming, outgoing) => take(incoming, outgoing, () => outgoing.writeContinue()));
  server.on("checkExpectation", (incoming, outgoing) => {
    const exchange = begin(incoming, outgoing);
    if (exchange !== undefined) refuse(exchange, refusalOf(incoming, limits) ?? unexpected, onRefused);
  });
  const onBroken = (error: { code?: string }, socket: Socket): void =>
    refuseBroken(error, socket, connectionOf(socket), onRefused);
  server.on("clientError", (error: { code?: string }, socket) => onBroken(error, socket as Socket));
  server.on("connect", (_request, socket) => onBroken({}, socket as Socket));
  const address = listen.host.replaceAll(/^\[|\]$/g, "");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, address, resolve);
  });
  /** Ends connections with a client certificate, so that their clients connect again and are verified with the new authorities. */
  const endVouchedFor = (): void => {
    for (const socket of ready) {
      const connection = connectionOf(socket);
      if (connection.certificate !== undefined) endAfterAnswers(socket, connection);
    }
  };
  const stopFollowing =
    tls &&
    followTls(server as HttpsServer, tls, tlsReport, () => {
      endVouchedFor();
      // Connections that were being opened at this instant are there by then.
      setTimeout(endVouchedFor, limits.headersMs).unref();
    });
  const { port } = server.address() as AddressInfo;
  const host = address.includes(":") ? `[${address}]` : address;
  return {
    url: `${tls === undefined ? "http" : "https"}://${host}:${port}`,
    close() {
      stopFollowing?.();
      const closed = closeServer(server, sockets, running, limits.shutdownMs);
      void closeUnused(unused, limits.headersMs);
      return closed.finally(stopWatching);
    },
  };
}

type RequestMaker = (exchange: Exchange) => ExchangeRequest;

/** INVARIANT: every request is answered and logged once, either by the front or by a refusal. */
async function serve(exchange: Exchange, front: Front, make: RequestMaker, onRefused: OnRefused): Promise<void> {
  const { outgoing } = exchange;
  try {
    await send(outgoing, await front(make(exchange)));
  } catch {
    if (!outgoing.headersSent && !outgoing.destroyed) return refuse(exchange, failed, onRefused);
    // The caller left, or a stream broke off: there is no one to answer.
    outgoing.destroy();
  }
}

/** A text goes out with its head in one write. */
async function send(outgoing: ServerResponse, answer: Reply | Response): Promise<void> {
  if (answer instanceof Response) return sendNodeResponse(outgoing, answer);
  const { status, headers, body } = answer;
  if (body !== null && typeof body !== "string") {
    const sent = sendNodeResponse(outgoing, new Response(body, { status, headers }));
    // The client of an event stream gets the headers at once, and not with the first event.
    if (!outgoing.destroyed) outgoing.flushHeaders();
    return sent;
  }
  // One list, because setting headers one by one costs as much again as sending them.
  const list: (string | number)[] = [];
  for (const name in headers) list.push(name, headers[name] ?? "");
  if (body !== null) list.push("content-length", Buffer.byteLength(body));
  outgoing.writeHead(status, list);
  outgoing.end(body);
}

const tooMany = wireRefusal(
  429,
  `At most ${maxUnanswered} requests may wait for their answers on one connection: read the answers first.`,
);
const failed = wireRefusal(500, errorCodes.internal_error.meaning);
const unexpected = wireRefusal(417, "Only 100-continue can be expected here.");

/** Why a request is refused by its head; undefined when it is not. */
function refusalOf(incoming: IncomingMessage, limits: WireLimits): Refusal | undefined {
  const length = Number(incoming.headers["content-length"] ?? 0);
  return (
    checkHead(incoming, limits) ??
    (length > limits.bodyBytes ? wireRefusal(413, tooLargeText(limits.bodyBytes)) : undefined)
  );
}

/** What the other side of a socket has proved to hold, if an authority that is trusted has issued it. */
function certificateOf(socket: Socket): ClientCertificate | undefined {
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  return certificate && describeCertificate(certificate);
}

/**
 * Closes connections over which nothing was asked. What has arrived by now is read first, and a request that has begun to
 * arrive has as long as its head may take: Node stops watching that when a server closes.
 */
async function closeUnused(unused: ReadonlySet<Socket>, headersMs: number): Promise<void> {
  // A whole round of the event loop reads every socket.
  await nextRound();
  await nextRound();
  for (const socket of unused) if (socket.bytesRead === 0) socket.destroy();
  setTimeout(() => {
    for (const socket of unused) socket.destroy();
  }, headersMs).unref();
}

async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  running: ReadonlySet<Promise<void>>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Persistent connections become idle as their requests finish.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const forceClose = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(forceClose);
  // Interrupted requests are cancelled, and get an instant to record how they ended. A tool may ignore its signal.
  await Promise.race([Promise.allSettled(running), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
}
