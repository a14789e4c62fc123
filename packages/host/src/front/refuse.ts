import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorReply, requestIdOf, ServiceHttpError } from "turnpike/http";
import type { Refusal } from "./check-head.ts";

/** What the log has of a request that was refused before the application saw it. */
export interface RefusalFacts {
  requestId: string;
  method?: string | undefined;
  status: number;
  code: string;
}

/** Told of every such request; the application tells of all others. */
export type OnRefused = (facts: RefusalFacts) => void;

/** A request, and the answer to it. */
export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  connection: Connection;
  /** Aborted, with the error for the caller, when the rest of the body cannot be read. */
  broken: AbortController;
}

/** What is known of a socket. */
export interface Connection {
  /** The exchanges whose answers may not be out yet, in their order. */
  unanswered: Set<Exchange>;
  /** The newest exchange, answered or not. */
  last: Exchange | undefined;
  /** The socket ends with an answer that is due already, so nothing that follows is looked at. */
  isEnding: boolean;
}

/** Answers a request that is not handed on. The connection goes with it. */
export function refuse(exchange: Exchange, refusal: Refusal, tell: OnRefused): void {
  const { incoming, outgoing, connection } = exchange;
  const requestId = requestIdOf(singleValue(incoming.headers["x-request-id"]));
  connection.isEnding = true;
  drain(incoming.socket);
  const { headers, body } = errorReply(refusal, requestId);
  outgoing.writeHead(refusal.status, { ...headers, ...refusalHeaders, "x-request-id": requestId });
  outgoing.end(body);
  tell({ requestId, method: incoming.method, status: refusal.status, code: refusal.code });
}

const refusalHeaders = { "content-type": "application/json", "cache-control": "no-store", connection: "close" };
const lastWordsMs = 1000;
const maxDrainedBytes = 4_194_304;

/**
 * Takes the socket away from HTTP's parser: what still arrives is dropped unread, and too much of it ends the socket.
 * Answers still go out.
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
 * Ends a socket after what was written to it. A socket that is closed with bytes unread resets the connection, and the
 * caller loses the answer: so the caller has a moment to read it and to stop sending.
 */
export function closeGracefully(socket: Socket): void {
  if (!socket.writable) return;
  socket.end();
  drain(socket);
  const end = setTimeout(() => socket.destroy(), lastWordsMs);
  socket.once("close", () => clearTimeout(end));
}

/** For what never became a request, or not a whole one: bytes that are not HTTP, headers or a body too large or too slow. */
export function refuseBroken(
  error: { code?: string },
  socket: Socket,
  { unanswered, last }: Connection,
  tell: OnRefused,
): void {
  // A socket that was taken out of HTTP's hands has no listener left, and its reset would end the process.
  socket.on("error", () => socket.destroy());
  if (socket.destroyed) return;
  const [status, reason, code] = statusOf(error);
  const message = `${reason}.`;
  if (last !== undefined && unanswered.has(last)) {
    // Every answer that is due goes out whole, in its order; nothing that would be read as another follows them.
    last.connection.isEnding = true;
    last.outgoing.shouldKeepAlive = false;
    last.outgoing.once("close", () => closeGracefully(socket));
    drain(socket);
    // Whoever serves half a request answers it and tells of it, so that it has one id and one line in the log.
    if (!last.incoming.complete) last.broken.abort(new ServiceHttpError(status, code, message));
    return;
  }
  if (!socket.writable || (last !== undefined && isFinalAnswer(last))) return closeGracefully(socket);
  const requestId = crypto.randomUUID();
  const body = String(errorReply({ status, code, message }, requestId).body);
  const headers = { ...refusalHeaders, "x-request-id": requestId, "content-length": Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n${body}`);
  tell({ requestId, status, code });
  closeGracefully(socket);
}

/** Whether no other answer may follow the one that is out: it closed the connection, or was for half a request. */
function isFinalAnswer({ incoming, outgoing }: Exchange): boolean {
  return !(incoming.complete && outgoing.shouldKeepAlive);
}

function statusOf({ code }: { code?: string }): [status: number, reason: string, code: string] {
  if (code === "HPE_HEADER_OVERFLOW") return [431, "Request Header Fields Too Large", "invalid_request"];
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout", "request_timeout"];
  return [400, "Bad Request", "invalid_request"];
}

function singleValue(value: string | string[] | undefined): string | null {
  return typeof value === "string" ? value : null;
}
