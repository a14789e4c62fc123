// HTTP/1.1 over a socket, no more than a measurement needs: it has to cost much less than what it measures.
import { connect, type Socket } from "node:net";

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A connection that stays open; one request at a time. */
export interface RawConnection {
  /** Sends a whole request, head and body, and hands over its answer. */
  send(request: string, onAnswer: (answer: Answer) => void): void;
  close(): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const chunksEnd = Buffer.from("0\r\n\r\n");

/** Opens a connection. A connection that breaks while a caller waits for an answer is reported to `onError`. */
export async function openConnection(port: number, onError: (error: Error) => void): Promise<RawConnection> {
  const socket = await connected(port);
  let received: Buffer = Buffer.alloc(0);
  let waiting: ((answer: Answer) => void) | undefined;
  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const answer = parseAnswer(received);
    if (answer === undefined) return;
    const tell = waiting;
    received = Buffer.alloc(0);
    waiting = undefined;
    tell?.(answer);
  });
  socket.on("error", onError);
  socket.on("close", () => {
    if (waiting !== undefined) onError(new Error("the server closed the connection instead of answering"));
  });
  return {
    send(request, onAnswer) {
      waiting = onAnswer;
      socket.write(request, "utf8");
    },
    close() {
      waiting = undefined;
      socket.destroy();
    },
  };
}

/** The answer in these bytes; undefined while some of it is still to come. */
export function parseAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(headEnd);
  if (end === -1) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = Number(head.slice(9, 12));
  const start = end + headEnd.length;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length !== undefined) {
    const isWhole = bytes.length >= start + Number(length);
    return isWhole ? { status, body: bytes.toString("utf8", start, start + Number(length)) } : undefined;
  }
  // What is sent in chunks is not taken apart: the text of the answer is in there, and its end can be told.
  const isWhole = bytes.length >= start + chunksEnd.length && bytes.subarray(-chunksEnd.length).equals(chunksEnd);
  return isWhole ? { status, body: bytes.toString("utf8", start) } : undefined;
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject);
      resolve(socket);
    });
  });
}
