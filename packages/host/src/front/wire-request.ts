import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeRequest } from "srvx/node";
import type { RequestHeaders } from "../access/index.ts";
import { readLimited } from "./read-limited.ts";
import type { Exchange } from "./refuse.ts";

/** A request as it came from a socket. */
export interface WireRequest {
  readonly method: string;
  /** The path, and the query behind it, as they were sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
  /** The body, up to the limit of the host, whatever length it declares. */
  readonly body: { bytes(): Promise<Uint8Array> };
  /** The same as Fetch has it, for a protocol whose library expects that. It costs more than a whole decision. */
  toFetch(): Request;
}

/** The request of an exchange. */
export function wireRequestOf({ incoming, outgoing, connection, body }: Exchange, bodyBytes: number): WireRequest {
  const { method = "", url = "", headers } = incoming;
  return {
    method,
    target: url,
    headers: {
      get(name) {
        const value = headers[name];
        return typeof value === "string" ? value : null;
      },
    },
    signal: connection.closed.signal,
    body: { bytes: () => readLimited(incoming, bodyBytes, body) },
    toFetch: () => fetchRequestOf(incoming, outgoing),
  };
}

function fetchRequestOf(req: IncomingMessage, res: ServerResponse): Request {
  return new NodeRequest({ req, res });
}
