import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ClientCertificate } from "../access/index.ts";
import { errorReply, requestIdOf, ServiceHttpError } from "turnpike/http";
import type { BodyState } from "./read-limited.ts";
import { wireErrors, type Refusal, type WireStatus } from "./wire-errors.ts";

/** The log line of a request that was refused before the front saw it. */
export interface RefusalFacts {
  requestId: string;
  method?: string | undefined;
  status: number;
  code: string;
}

/** Called for every such request. The front logs all others. */
export type OnRefused = (facts: RefusalFacts) => void;

/** A request, and the answer to it. */
export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  connection: Connection;
  body: BodyState;
}

/** What is known of a socket. */
export interface Connection {
  /** Aborted when the socket closes. One for all its requests: those that were answered by then have nothing to stop. */
  closed: AbortSignal;
  /** The exchanges whose answers may not be out yet, in their order. */
  unanswered: Set<Exchange>;
  /** The newest exchange, answered or not. */
  last: Exchange | undefined;
  /** The socket ends with an answer that is already due, so whatever follows is ignored. */
  isEnding: boolean;
  /** What the other side has shown of itself; undefined without a certificate that is trusted. */
  certificate: ClientCertificate | undefined;
}

/** Refuses a request, and closes its connection after the answer. */
export function refuse(exchange: Exchange, refusal: Refusal, onRefused: OnRefused): void {
  const { incoming, outgoing, connection } = exchange;
  const requestId = requestIdOf(singleValue(incoming.headers["x-request-id"]));
  connection.isEnding = true;
  drain(incoming.socket);
  const { headers, body } = errorReply(refusal, requestId);
  outgoing.writeHead(refusal.status, { ...headers, ...refusalHeaders, "x-request-id": requestId });
  outgoing.end(body);
  onRefused({ requestId, method: incoming.method, status: refusal.status, code: refusal.code });
}

const refusalHeaders = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  connection: "close",
};
const closeGraceMs = 1000;
const maxDrainedBytes = 4_194_304;

/**
 * Detaches the socket from the HTTP parser. What still arrives is dropped, and too much of it ends the socket. Answers still
 * go out.
 */
function drain(socket: Socket): void {
  let left = maxDrainedBytes;
  socket.removeAllListeners("data");
  socket.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  socket.resume();
}

/**
 * Ends a socket after everything that was written to it. Closing it with unread bytes would reset the connection and lose
 * the answer, so the caller gets an instant to read it and to stop sending.
 */
export function closeGracefully(socket: Socket): void {
  if (!socket.writable) return;
  socket.end();
  drain(socket);
  const end = setTimeout(() => socket.destroy(), closeGraceMs);
  socket.once("close", () => clearTimeout(end));
}

/** Ends a socket after the answers that are due on it. Whatever still arrives is ignored. */
export function endAfterAnswers(socket: Socket, connection: Connection): void {
  const { unanswered, last } = connection;
  connection.isEnding = true;
  if (last === undefined || !unanswered.has(last)) return closeGracefully(socket);
  last.outgoing.shouldKeepAlive = false;
  last.outgoing.once("close", () => closeGracefully(socket));
}

/** Refuses what is not a whole request: bytes that are not HTTP, or headers or a body that are too large or too slow. */
export function refuseBroken(
  error: { code?: string },
  socket: Socket,
  { unanswered, last }: Connection,
  onRefused: OnRefused,
): void {
  // A detached socket has no error listener, and a reset would end the process.
  socket.on("error", () => socket.destroy());
  if (socket.destroyed) return;
  const [status, reason] = statusOf(error);
  const code = wireErrors[status];
  const message = `${reason}.`;
  if (last !== undefined && unanswered.has(last)) {
    // Every answer that is due is sent whole and in order. Nothing that could be read as another answer follows.
    last.connection.isEnding = true;
    last.outgoing.shouldKeepAlive = false;
    last.outgoing.once("close", () => closeGracefully(socket));
    drain(socket);
    // An incomplete request that is being served is answered and logged there, so that it has one id and one log line.
    if (!last.incoming.complete) last.body.break(new ServiceHttpError(status, code, message));
    return;
  }
  if (!socket.writable || (last !== undefined && isFinalAnswer(last))) return closeGracefully(socket);
  const requestId = crypto.randomUUID();
  const body = String(errorReply({ status, code, message }, requestId).body);
  const headers = { ...refusalHeaders, "x-request-id": requestId, "content-length": Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n${body}`);
  onRefused({ requestId, status, code });
  closeGracefully(socket);
}

/** Whether no further answer may follow: the last one closed the connection, or answered an incomplete request. */
function isFinalAnswer({ incoming, outgoing }: Exchange): boolean {
  return !(incoming.complete && outgoing.shouldKeepAlive);
}

function statusOf({ code }: { code?: string }): [status: WireStatus, reason: string] {
  if (code === "HPE_HEADER_OVERFLOW") return [431, "Request Header Fields Too Large"];
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout"];
  return [400, "Bad Request"];
}

function singleValue(value: string | string[] | undefined): string | null {
  return typeof value === "string" ? value : null;
}
