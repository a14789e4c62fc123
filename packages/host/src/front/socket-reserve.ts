import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { fixedLimits } from "../shared/index.ts";
import { wireRefusal, type Refusal } from "./wire-errors.ts";

/** What is answered over every connection: a monitor has to learn that the host is alive. */
const alwaysAnswered = new Set(["/health", "/ready"]);

const overloaded = wireRefusal(503, "This host has as many connections as it may. Ask again later.", {
  "retry-after": "1",
});

/** A few connections beyond the limit, over which only the health of the host can be asked for. */
export interface SocketReserve {
  /** How many connections the server accepts. */
  readonly maxConnections: number;
  /** Counts a connection. One beyond the limit becomes one of the reserve, and makes room there if it has to. */
  add(socket: Socket): void;
  remove(socket: Socket): void;
  /** Whether a connection is one of the reserve. */
  has(socket: Socket): boolean;
  /** Why a request over a connection is refused; undefined when it is not. */
  refusalOf(incoming: IncomingMessage): Refusal | undefined;
}

/**
 * INVARIANT: however many connections there are, the next one is accepted: of the reserve, the one goes that has been open for
 * longest.
 */
export function createSocketReserve(limit: number): SocketReserve {
  const size = fixedLimits.reservedSockets.value;
  const names = new Map<Socket, string>();
  const reserved = new Map<string, Socket>();
  const isFull = (): boolean => names.size - reserved.size >= limit;
  const remove = (socket: Socket): void => {
    const name = names.get(socket);
    names.delete(socket);
    if (name !== undefined && reserved.get(name) === socket) reserved.delete(name);
  };
  return {
    // Connections that were just closed still count briefly.
    maxConnections: limit + 2 * size,
    add(socket) {
      const name = nameOf(socket);
      if (isFull()) reserved.set(name, socket);
      names.set(socket, name);
      if (reserved.size <= size) return;
      const [oldest] = reserved.values();
      if (oldest === undefined) return;
      remove(oldest);
      oldest.destroy();
    },
    remove,
    has: (socket) => reserved.has(nameOf(socket)),
    refusalOf({ socket, url = "" }) {
      // There may be room by now.
      if (!isFull()) reserved.delete(nameOf(socket));
      const [path = ""] = url.split("?");
      return reserved.has(nameOf(socket)) && !alwaysAnswered.has(path) ? overloaded : undefined;
    },
  };
}

/** With TLS, the connection that was accepted and the one that requests come over are two objects with one other end. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
