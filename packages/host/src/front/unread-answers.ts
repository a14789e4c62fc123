import type { Socket } from "node:net";

/** What is known of the sockets of a server. */
export interface Readers {
  readonly sockets: ReadonlySet<Socket>;
  /** Whether an answer on this socket has not ended. */
  isAnswering(socket: Socket): boolean;
  /** How long a socket may be silent while nothing waits to be read. */
  readonly silentMs: number;
  /** How long a client may leave its answer unread. */
  readonly unreadMs: number;
}

/**
 * Cuts off clients that read nothing: what they were sent stays in memory until then. A slow client is not cut off. Returns what ends
 * the watch.
 */
export function cutOffIdleReaders({ sockets, isAnswering, silentMs, unreadMs }: Readers): () => void {
  const behind = new WeakSet<Socket>();
  // A socket's own time limit starts anew with every part that the other side takes, but it also counts while there is nothing
  // to read. So it is short only where something was unread at the last check.
  const checkSockets = (): void => {
    for (const socket of sockets) {
      if (socket.writableLength > 0) {
        if (!behind.has(socket)) socket.setTimeout(unreadMs);
        behind.add(socket);
      } else if (behind.delete(socket) && isAnswering(socket)) socket.setTimeout(silentMs);
    }
  };
  const timer = setInterval(checkSockets, Math.ceil(unreadMs / 4)).unref();
  return () => clearInterval(timer);
}
