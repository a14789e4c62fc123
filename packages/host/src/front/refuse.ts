import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorReply, requestIdOf } from "turnpike/http";
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
  /** Refused by `refuse`: its answer is the last one of the connection. */
  isRefused: boolean;
}

/** Answers a request that is not handed on. The connection goes with it. */
export function refuse(exchange: Exchange, refusal: Refusal, tell: OnRefused): void {
  const { incoming, outgoing } = exchange;
  const requestId = requestIdOf(singleValue(incoming.headers["x-request-id"]));
  exchange.isRefused = true;
  outgoing.writeHead(refusal.status, { ...refusalHeaders, "x-request-id": requestId });
  outgoing.end(errorReply(refusal, requestId).body);
  tell({ requestId, method: incoming.method, status: refusal.status, code: refusal.code });
}

const refusalHeaders = { "content-type": "application/json", "cache-control": "no-store", connection: "close" };
const lastWordsMs = 1000;

/**
 * For what never became a request, or not a whole one: bytes that are not HTTP, headers too large or too slow.
 * `exchanges` are those of the socket whose answers may not be out yet, in their order.
 */
export function refuseBroken(
  error: { code?: string },
  socket: Socket,
  exchanges: readonly Exchange[],
  tell: OnRefused,
): void {
  // A socket that was taken out of HTTP's hands has no listener left, and its reset would end the process.
  socket.on("error", () => socket.destroy());
  // An answer to a request that arrived whole goes out whole; nothing that would be read as another follows it.
  const whole = exchanges.findLast(({ incoming, outgoing }) => incoming.complete && !outgoing.writableFinished);
  if (whole !== undefined) return void whole.outgoing.once("close", () => socket.destroy());
  const last = exchanges.at(-1);
  if ((last !== undefined && isFinalAnswer(last)) || !socket.writable) return socket.destroySoon();
  const [status, reason, code] = statusOf(error);
  const requestId = crypto.randomUUID();
  const body = String(errorReply({ status, code, message: `${reason}.` }, requestId).body);
  const headers = { ...refusalHeaders, "x-request-id": requestId, "content-length": Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}\r\n${body}`);
  tell({ requestId, status, code });
  // Read or not, the answer is the last thing on this socket.
  const end = setTimeout(() => socket.destroy(), lastWordsMs);
  socket.once("close", () => clearTimeout(end));
}

/** Whether a request has an answer that no other may follow: it closes the connection, or is for half a request. */
function isFinalAnswer({ incoming, outgoing, isRefused }: Exchange): boolean {
  const { headersSent, shouldKeepAlive, writableFinished } = outgoing;
  return isRefused || (headersSent && !(incoming.complete && shouldKeepAlive && writableFinished));
}

function statusOf({ code }: { code?: string }): [status: number, reason: string, code: string] {
  if (code === "HPE_HEADER_OVERFLOW") return [431, "Request Header Fields Too Large", "invalid_request"];
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout", "request_timeout"];
  return [400, "Bad Request", "invalid_request"];
}

function singleValue(value: string | string[] | undefined): string | null {
  return typeof value === "string" ? value : null;
}
